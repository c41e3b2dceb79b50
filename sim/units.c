// SPDX-License-Identifier: MIT
//
// What a core's micro-ops and lines take for a time (units.h).
#include "sim/units.h"

// A long queue, as of a string instruction that clears much, is not searched from its beginning: in
// 128 MiB that were cleared this took four fifths of the time, 5 microseconds for each line.
uint64_t units_path(struct units_path *p, uint32_t every, uint64_t t)
{
    uint64_t slot = t / every, first = slot;

    if (slot >= p->queue && slot < p->queue_end) {
        first = p->queue;
        slot = p->queue_end;
    }
    for (; p->taken[slot % UNITS_LINES] == slot + 1; slot++)
        ;
    if (p->taken[slot % UNITS_LINES] < slot + 1)
        p->taken[slot % UNITS_LINES] = slot + 1;
    if (slot - first >= UNITS_QUEUE) {
        p->queue = first;
        p->queue_end = slot + 1;
    }
    return slot * every > t ? slot * every : t;
}

// How many in this list are later than t; *last: the slot of the last of them, or 0.
static uint32_t buffers_after(const struct units_buffers *b, uint32_t list, uint64_t t,
                              uint32_t *last)
{
    uint32_t n = 0, i = b->slot[0].earlier[list];

    for (; i && b->slot[i].at[list] > t; i = b->slot[i].earlier[list])
        n++;
    *last = b->slot[i].later[list];
    return n;
}

// As many are taken as will end and do not begin later. From end to end, until there are fewer.
uint64_t units_buffer_free(const struct units_buffers *b, uint32_t most, uint64_t t)
{
    uint32_t from, to, taken = buffers_after(b, UNITS_TO, t, &to);

    if (taken < most)
        return t;
    taken -= buffers_after(b, UNITS_FROM, t, &from);
    while (taken >= most) {
        t = b->slot[to].at[UNITS_TO];
        for (; to && b->slot[to].at[UNITS_TO] <= t; to = b->slot[to].later[UNITS_TO])
            taken--;
        for (; from && b->slot[from].at[UNITS_FROM] <= t; from = b->slot[from].later[UNITS_FROM])
            taken++;
    }
    return t;
}

static void buffer_unlink(struct units_buffers *b, uint32_t list, uint32_t i)
{
    uint8_t earlier = b->slot[i].earlier[list], later = b->slot[i].later[list];

    b->slot[earlier].later[list] = later;
    b->slot[later].earlier[list] = earlier;
}

static void buffer_link(struct units_buffers *b, uint32_t list, uint32_t i, uint64_t at)
{
    uint32_t earlier = b->slot[0].earlier[list], later;

    while (earlier && b->slot[earlier].at[list] > at)
        earlier = b->slot[earlier].earlier[list];
    later = b->slot[earlier].later[list];
    b->slot[i].at[list] = at;
    b->slot[i].earlier[list] = (uint8_t)earlier;
    b->slot[i].later[list] = (uint8_t)later;
    b->slot[earlier].later[list] = b->slot[later].earlier[list] = (uint8_t)i;
}

void units_buffer_take(struct units_buffers *b, uint64_t from, uint64_t to)
{
    uint32_t i = b->next + 1;

    b->next = i % UNITS_BUFFERS;
    if (b->slot[i].listed) {
        buffer_unlink(b, UNITS_FROM, i);
        buffer_unlink(b, UNITS_TO, i);
    }
    b->slot[i].listed = from < to;
    if (from >= to)
        return;
    buffer_link(b, UNITS_FROM, i, from);
    buffer_link(b, UNITS_TO, i, to);
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
    uint32_t at = (sets & (sets - 1)) == 0 ? set & (sets - 1) : set % sets, w = 0;
    uint32_t *way = keys + (uint64_t)at * UNITS_WAYS;
    bool known;

    while (w < UNITS_WAYS - 1 && way[w] != key)
        w++;
    known = way[w] == key;
    for (; w > 0; w--)
        way[w] = way[w - 1];
    way[0] = key;
    return known;
}
