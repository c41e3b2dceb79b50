// SPDX-License-Identifier: MIT
//
// The events that a run counts, in the order of its profile, and their totals.
#ifndef QUERN_FINISH_EVENT_H
#define QUERN_FINISH_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "share/spool.h"

// The events in the order of a Cachegrind profile; a run has those of its simulations.
enum finish_event {
#define SPOOL_EVENT(id, name, counted, cachegrind, callgrind) FINISH_##id = (cachegrind),
#include "share/events.def"
#undef SPOOL_EVENT
    FINISH_EVENTS = SPOOL_EVENTS,
};
// Their order in a Callgrind profile.
extern const struct finish_callgrind {
    enum finish_event in;
    enum spool_event inclusive; // in the engine's records
} finish_callgrind[FINISH_EVENTS];
// The same event of the engine's records.
enum finish_event finish_event_of(enum spool_event e);
extern const char *const finish_event_names[FINISH_EVENTS];
// True when a run with these spool flags counts the event.
bool finish_event_counted(enum finish_event e, uint64_t flags);

// No counter of a program gets here. An execution counter grows by at most one each nanosecond or
// so, as its value has to come back from memory: it would take 36 years. The engine's counters are
// in the program's memory; a larger one is the result of a stray write.
#define FINISH_COUNT_MAX (UINT64_C(1) << 60)

struct finish_totals {
    uint64_t counts[FINISH_EVENTS];
    uint64_t bad_records;
    uint64_t unnamed; // Ir of generated code without a name, repetitions of rep not included
};

#endif
