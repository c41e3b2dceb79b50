// SPDX-License-Identifier: MIT
//
// What a core's micro-ops and lines take for a time (core.c). Requests do not come in the order of
// time: what is taken is kept by cycle or by interval, not as the time from which it is free.
//
// Pure arithmetic, as cache.h. An all-zero state is the state at the start.
#ifndef QUERN_SIM_UNITS_H
#define QUERN_SIM_UNITS_H

#include <stdbool.h>
#include <stdint.h>

#include "share/core.h"

#define UNITS_CYCLES  16384u // of the ring of ports: far more than those of a full reorder buffer
#define UNITS_LINES   4096u  // of the ring of a path
#define UNITS_QUEUE   16u    // slots that are worth noting as taken
#define UNITS_BUFFERS 128u

// Ports: each takes one micro-op in a cycle. The cycle, and the set of ports that are taken in it.
struct units_ports {
    uint64_t cycle[UNITS_CYCLES];
    uint32_t latest; // the port that was taken last; 0: none
};
// The first cycle from t on in which a port of the set is free; takes the lowest one. An empty set:
// t.
static inline uint64_t units_port(struct units_ports *p, uint64_t t, uint32_t set)
{
    if (!set)
        return t;
    for (;; t++) {
        uint64_t *e = &p->cycle[t % UNITS_CYCLES];
        uint32_t free;

        if (*e >> CORE_PORTS > t) { // of a later cycle, which is kept
            p->latest = 0;
            return t;
        }
        if (*e >> CORE_PORTS != t)
            *e = t << CORE_PORTS;
        free = set & ~(uint32_t)*e;
        if (free) {
            p->latest = free & -free;
            *e |= p->latest;
            return t;
        }
    }
}

// A port that was taken at t is free again.
static inline void units_port_leave(struct units_ports *p, uint64_t t, uint32_t port)
{
    uint64_t *e = &p->cycle[t % UNITS_CYCLES];

    if (*e >> CORE_PORTS == t)
        *e &= ~(uint64_t)port;
}

// A path on which a line takes `every` cycles.
struct units_path {
    uint64_t taken[UNITS_LINES];
    uint64_t queue, queue_end; // these slots are known to be taken
};
// When a line that is requested at t begins.
uint64_t units_path(struct units_path *p, uint32_t every, uint64_t t);

// Buffers, each taken for an interval. Of the last UNITS_BUFFERS intervals, in lists by when they
// begin and by when they end, the latest first: those that have ended are most of them. Slot 0 is
// the head of both.
enum { UNITS_FROM, UNITS_TO, UNITS_LISTS };
struct units_buffers {
    struct {
        uint64_t at[UNITS_LISTS];
        uint8_t earlier[UNITS_LISTS], later[UNITS_LISTS];
        bool listed; // it is not empty
    } slot[UNITS_BUFFERS + 1];
    uint32_t next;
};
// When fewer than `most` are taken, from t on.
uint64_t units_buffer_free(const struct units_buffers *b, uint32_t most, uint64_t t);
void units_buffer_take(struct units_buffers *b, uint64_t from, uint64_t to);

// Units that are free from a time on, taken in the order of time. When the first one of n can be
// taken, from t on; takes it for `busy` cycles.
uint64_t units_first(uint64_t *free, uint32_t n, uint64_t t, uint64_t busy);

// A table of keys in sets of UNITS_WAYS, the least recently used replaced; 0 is no key.
#define UNITS_WAYS 8u
// Whether the key is there; it is the latest then.
bool units_known(uint32_t *keys, uint32_t sets, uint32_t key, uint32_t set);

#endif
