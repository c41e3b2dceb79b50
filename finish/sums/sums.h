// SPDX-License-Identifier: MIT
//
// The third stage: counts by place.
#ifndef QUERN_FINISH_SUMS_H
#define QUERN_FINISH_SUMS_H

#include "finish/places/places.h"

// One place with its counts: of as many events as the run needs (sums_cell_size()).
struct sums_cell {
    struct symbols_place at;
    uint64_t counts[];
};

static inline size_t sums_cell_size(size_t events)
{
    return sizeof(struct sums_cell) + events * sizeof(uint64_t);
}

// They lie one behind the other.
static inline struct sums_cell *sums_cell_at(struct sums_cell *first, size_t size, size_t i)
{
    return (struct sums_cell *)(void *)((char *)first + i * size);
}

#endif
