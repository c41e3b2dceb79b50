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

enum finish_event finish_event_of(enum spool_event e)
{
    static const enum finish_event in[SPOOL_EVENTS] = {
#define SPOOL_EVENT(id, name, counted, cachegrind, callgrind) [SPOOL_E_##id] = FINISH_##id,
#include "share/events.def"
#undef SPOOL_EVENT
    };

    return in[e];
}

bool finish_event_counted(enum finish_event e, uint64_t flags)
{
    return spool_event_counted(recorded[e], flags) != 0;
}
