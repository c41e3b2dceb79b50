// SPDX-License-Identifier: MIT
//
// Events with known formulas (L1m LLm Bm CEst): defined in a profile that has their operands. And
// the cycles of a core, where the profile has them, with their causes. Called by cli/ and by
// report/reader.
#ifndef QUERN_REPORT_PACK_KNOWN_H
#define QUERN_REPORT_PACK_KNOWN_H

#include <stdbool.h>

#include "quern/profile.h"

enum { KNOWN_CAUSES = 6 };

// The numbers of Cy, and of the events that it is the sum of.
struct known_cycles {
    size_t all, cause[KNOWN_CAUSES];
};

// The index of an event of the profile, or of a known one, which is then defined; -1: there is
// none.
int known_event(struct quern_profile *p, const char *name);
// Defines all whose operands exist. Where the profile has the cycles of a core there is no CEst,
// which is an estimate of the same, and those have long names.
void known_events(struct quern_profile *p);

// False: the profile does not count the cycles of a core and all of their causes.
bool known_cycles(const struct quern_profile *p, struct known_cycles *c);
// The event to begin with, where none was chosen: the cycles, or the first one.
size_t known_first(const struct quern_profile *p);
// What the cycles are (-1), or the i-th of their causes is: "waiting for data".
const char *known_meaning(int i);

#endif
