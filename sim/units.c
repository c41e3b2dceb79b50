// SPDX-License-Identifier: MIT
//
// What a core's micro-ops and lines take for a time (units.h).
#include "sim/units.h"

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
        uint64_t first = t;
        uint32_t taken = 0;

        for (uint32_t i = b->slot[0].earlier; i && b->slot[i].to > t; i = b->slot[i].earlier) {
            if (b->slot[i].from > t)
                continue;
            taken++;
            first = b->slot[i].to;
        }
        if (taken < most)
            return t;
        t = first;
    }
}

static void buffer_unlink(struct units_buffers *b, uint32_t i)
{
    uint8_t earlier = b->slot[i].earlier, later = b->slot[i].later;

    b->slot[earlier].later = later;
    b->slot[later].earlier = earlier;
}

void units_buffer_take(struct units_buffers *b, uint64_t from, uint64_t to)
{
    uint32_t i = b->next + 1, earlier = b->slot[0].earlier, later;

    b->next = i % UNITS_BUFFERS;
    if (b->slot[i].to) {
        buffer_unlink(b, i);
        earlier = b->slot[0].earlier;
    }
    b->slot[i].from = from;
    b->slot[i].to = to;
    if (!to) // it is never taken
        return;
    while (earlier && b->slot[earlier].to > to)
        earlier = b->slot[earlier].earlier;
    later = b->slot[earlier].later;
    b->slot[i].earlier = (uint8_t)earlier;
    b->slot[i].later = (uint8_t)later;
    b->slot[earlier].later = (uint8_t)i;
    b->slot[later].earlier = (uint8_t)i;
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
