// SPDX-License-Identifier: MIT
//
// Events by name, and their counts: recorded events, events derived in the file, and the well-known
// derived ones.
#ifndef QUERN_CLI_EVENT_H
#define QUERN_CLI_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "quern/profile.h"
#include "report/pack/known.h"

// Index of an event, recorded or derived in the file, or of a well-known one (L1m LLm Bm CEst),
// which is then defined. -1: there is none.
int event_find(struct quern_profile *p, const char *name);
// "A,B,C" or "A:1,B:2" into indices (and thresholds, -1 where none is given); dies on unknown ones.
size_t event_list(struct quern_profile *p, const char *option, const char *list, size_t **out,
                  double **thresholds);
// The estimated cycles and their causes, if the profile counts these; and what a cause is, by its
// place among them, or (-1) the cycles are.
bool event_cycles(const struct quern_profile *p, struct known_cycles *c);
const char *event_meaning(int cause);
// The events that are shown where none were chosen, the first one to sort by: the cycles of a core,
// their causes and the instructions, else all recorded ones. Returns how many; to be freed.
size_t event_default(const struct quern_profile *p, size_t **out);
// The value of an event, derived or not, from the counts of the recorded ones.
quern_count event_value(const struct quern_profile *p, size_t event, const quern_count *counts);
// Is any count present that the event is computed from?
int event_present(const struct quern_profile *p, size_t event, uint64_t present);
double event_double(const struct quern_profile *p, size_t event, quern_count v);
// "1,234,567.5"; buf of 80 bytes suffices. Returns the length.
int event_commas(char *buf, quern_count v, int64_t scale);

#endif
