// SPDX-License-Identifier: MIT
//
// Counts by place: instructions of the same function, file and line are one cell.
#include "finish/sums/sums.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"

static size_t hash(struct symbols_place at)
{
    uint64_t h = (uint64_t)at.function * UINT64_C(0x9e3779b97f4a7c15);

    h = (h ^ at.file) * UINT64_C(0xff51afd7ed558ccd);
    h = (h ^ at.line) * UINT64_C(0xc4ceb9fe1a85ec53);
    return (size_t)(h ^ (h >> 32));
}

static bool same(struct symbols_place a, struct symbols_place b)
{
    return a.function == b.function && a.file == b.file && a.line == b.line;
}

static void grow(struct sums *sums)
{
    sums->slots = sums->slots ? sums->slots * 2 : 4096;
    free(sums->slot);
    sums->slot = xcalloc(sums->slots, sizeof(*sums->slot));
    for (size_t n = 0; n < sums->cells; n++) {
        size_t i = hash(sums_cell_at(sums, n)->at) & (sums->slots - 1);

        while (sums->slot[i])
            i = (i + 1) & (sums->slots - 1);
        sums->slot[i] = (uint32_t)n + 1;
    }
}

static struct sums_cell *get_cell(struct sums *sums, struct symbols_place at)
{
    size_t i;

    if (sums->last && same(sums->last->at, at))
        return sums->last;
    if (sums->cells * 2 >= sums->slots)
        grow(sums);
    for (i = hash(at) & (sums->slots - 1); sums->slot[i]; i = (i + 1) & (sums->slots - 1))
        if (same(sums_cell_at(sums, sums->slot[i] - 1)->at, at))
            return sums->last = sums_cell_at(sums, sums->slot[i] - 1);
    if (sums->cells == sums->room) {
        sums->room = sums->room ? sums->room * 2 : 4096;
        sums->cell = xrealloc(sums->cell, sums->room * sums->cell_size);
    }
    sums->slot[i] = (uint32_t)++sums->cells;
    sums->last = sums_cell_at(sums, sums->cells - 1);
    memset(sums->last, 0, sums->cell_size);
    sums->last->at = at;
    return sums->last;
}

void sums_move(struct sums *sums, struct places *p, const struct spool_walk_insn *in)
{
    struct symbols_place at = { 0 };

    places_find(p, in->map, in->pc, &at);
    get_cell(sums, at);
}

void sums_open(struct sums *sums, uint64_t flags)
{
    size_t events = 0; // one more than the last counted event

    for (int e = 0; e < FINISH_EVENTS; e++)
        if (finish_event_counted((enum finish_event)e, flags))
            events = (size_t)e + 1;
    *sums = (struct sums){ .cell_size = sizeof(struct sums_cell) + events * sizeof(uint64_t) };
}

void sums_close(struct sums *sums)
{
    free(sums->cell);
    free(sums->slot);
    free(sums->changed);
}
