// SPDX-License-Identifier: MIT
//
// The events that a run counts, in the order of its profile, and their totals.
#ifndef QUERN_FINISH_EVENT_H
#define QUERN_FINISH_EVENT_H

#include <stdbool.h>
#include <stdint.h>

// The events in the order of the profile; a run has those of its simulations. ORDER finish_event
enum finish_event {
    FINISH_IR,
    FINISH_I1MR,
    FINISH_ILMR,
    FINISH_DR,
    FINISH_D1MR,
    FINISH_DLMR,
    FINISH_DW,
    FINISH_D1MW,
    FINISH_DLMW,
    FINISH_BC,
    FINISH_BCM,
    FINISH_BI,
    FINISH_BIM,
    FINISH_GE, // this and the following: Callgrind profiles only
    FINISH_SYSCOUNT,
    FINISH_SYSTIME,
    FINISH_SYSCPU,
    FINISH_EVENTS,
};
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
};

#endif
