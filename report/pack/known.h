// SPDX-License-Identifier: MIT
//
// Events with known formulas (L1m LLm Bm CEst): defined in a profile that has their operands.
// Called by cli/ and by report/reader.
#ifndef QUERN_REPORT_PACK_KNOWN_H
#define QUERN_REPORT_PACK_KNOWN_H

#include "quern/profile.h"

// The index of an event of the profile, or of a known one, which is then defined; -1: there is
// none.
int known_event(struct quern_profile *p, const char *name);
// Defines all whose operands exist.
void known_events(struct quern_profile *p);

#endif
