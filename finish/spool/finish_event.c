// SPDX-License-Identifier: MIT
//
// Events and their names.
#include "finish/spool/finish_event.h"

const char *const finish_event_names[FINISH_EVENTS] = {
#define SPOOL_EVENT(id, name, counted, cachegrind, callgrind) [cachegrind] = (name),
#include "share/events.def"
#undef SPOOL_EVENT
};

const struct finish_callgrind finish_callgrind[FINISH_EVENTS] = {
#define SPOOL_EVENT(id, name, counted, cachegrind, callgrind) \
    [callgrind] = { FINISH_##id, SPOOL_E_##id },
#include "share/events.def"
#undef SPOOL_EVENT
};

static const enum spool_event recorded[FINISH_EVENTS] = {
#define SPOOL_EVENT(id, name, counted, cachegrind, callgrind) [cachegrind] = SPOOL_E_##id,
#include "share/events.def"
#undef SPOOL_EVENT
};

const enum finish_event finish_event_callgrind[FINISH_EVENTS] = {
    FINISH_IR,   FINISH_DR,   FINISH_DW,       FINISH_I1MR,    FINISH_D1MR,   FINISH_D1MW,
    FINISH_ILMR, FINISH_DLMR, FINISH_DLMW,     FINISH_BC,      FINISH_BCM,    FINISH_BI,
    FINISH_BIM,  FINISH_GE,   FINISH_SYSCOUNT, FINISH_SYSTIME, FINISH_SYSCPU,
};

bool finish_event_counted(enum finish_event e, uint64_t flags)
{
    return spool_event_counted(recorded[e], flags) != 0;
}
