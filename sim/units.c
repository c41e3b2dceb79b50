// SPDX-License-Identifier: MIT
//
// What a core's micro-ops and lines take for a time (units.h).
#include "sim/units.h"

#include "share/core.h"

uint64_t units_port(struct units_ports *p, uint64_t t, uint32_t set)
{
    if (!set)
        return t;
    for (;; t++) {
        uint64_t *e = &p->cycle[t % UNITS_CYCLES];
        uint32_t free;

        if (*e >> CORE_PORTS > t) // of a later cycle, which is kept
            return t;
        if (*e >> CORE_PORTS != t)
            *e = t << CORE_PORTS;
        free = set & ~(uint32_t)*e;
        if (free) {
            *e |= free & -free;
            return t;
        }
    }
}

uint64_t units_path(struct units_path *p, uint32_t every, uint64_t t)
{
    for (uint64_t slot = t / every;; slot++) {
        uint64_t *e = &p->taken[slot % UNITS_LINES];

        if (*e < slot + 1)
            *e = slot + 1;
        else if (*e == slot + 1)
            continue;
        return slot * every > t ? slot * every : t;
    }
}

uint64_t units_buffer_free(const struct units_buffers *b, uint32_t most, uint64_t t)
{
    for (;;) {
        uint64_t first = UINT64_MAX;
        uint32_t taken = 0;

        for (uint32_t i = 0; i < UNITS_BUFFERS; i++) {
            if (b->from[i] > t || b->to[i] <= t)
                continue;
            taken++;
            if (b->to[i] < first)
                first = b->to[i];
        }
        if (taken < most)
            return t;
        t = first;
    }
}

void units_buffer_take(struct units_buffers *b, uint64_t from, uint64_t to)
{
    b->from[b->next] = from;
    b->to[b->next] = to;
    b->next = (b->next + 1) % UNITS_BUFFERS;
}

uint64_t units_first(uint64_t *free, uint32_t n, uint64_t t, uint64_t busy)
{
    uint32_t first = 0;

    for (uint32_t i = 1; i < n; i++)
        if (free[i] < free[first])
            first = i;
    if (free[first] > t)
        t = free[first];
    free[first] = t + busy;
    return t;
}

bool units_known(uint32_t *keys, uint32_t sets, uint32_t key, uint32_t set)
{
    uint32_t *way = keys + (uint64_t)(set % sets) * UNITS_WAYS, w = 0;
    bool known;

    while (w < UNITS_WAYS - 1 && way[w] != key)
        w++;
    known = way[w] == key;
    for (; w > 0; w--)
        way[w] = way[w - 1];
    way[0] = key;
    return known;
}
