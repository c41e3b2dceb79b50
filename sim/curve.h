// SPDX-License-Identifier: MIT
//
// Stack distances (Mattson): of a line that is used, how many other lines were used since it was
// used last. It hits a fully associative cache that replaces the least recently used line if the
// cache has more lines than that, so one run gives the misses of all sizes.
//
// Of the program's lines only a sample is followed, one in 2^rate, chosen by a hash of the line's
// number: of each aligned group of 2^rate lines one. A distance among them is multiplied by 2^rate.
// A sample of a lower rate is a part of each sample of a higher one.
//
// Pure arithmetic, as cache.h.
#ifndef QUERN_SIM_CURVE_H
#define QUERN_SIM_CURVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_CURVE_STEP   5u  // bits of a line's number that are looked at together
#define SIM_CURVE_LOWEST 40u // of a line's number not all bits are in the table

#define SIM_CURVE_FAR UINT32_MAX // a distance: of a line that is not known

// The lines that are followed, by when they were used last: a time is a use. bits has a bit for
// each time that is some line's. A tree of sums is above its words, each of SIM_CURVE_FAN numbers
// of the level below: a distance takes a look-up and a few numbers of each level, fewer for a line
// that was used lately. When all times are used up, those that are no line's are dropped.
#define SIM_CURVE_FAN    16u
#define SIM_CURVE_LEVELS 3u

struct sim_curve {
    uint32_t max;    // lines that are kept then; a power of two
    uint32_t rate;   // log2
    bool adapts;     // the rate is halved until no more than max remain; else the oldest go
    uint32_t now;    // the next time
    uint32_t live;   // lines
    uint64_t *at;    // by time: the line
    uint64_t *table; // line and time, by a hash of the line; 0: free
    uint64_t *bits;
    uint32_t *sum[SIM_CURVE_LEVELS]; // of words of bits, of these, of these
};

#define SIM_CURVE_MIN_LINES 16u // of max
#define SIM_CURVE_MAX_LINES 65536u

// Bytes of the storage for `max` lines; a multiple of 8.
size_t sim_curve_bytes(uint32_t max);

// Without lines, in zeroed storage, aligned to 8, the caller's.
void sim_curve_init_zeroed(struct sim_curve *c, uint32_t max, uint32_t rate, bool adapts,
                           void *storage);

static inline uint64_t sim_curve_hash(uint64_t line)
{
    return line * UINT64_C(0x9e3779b97f4a7c15);
}

// Whether the sample of this rate has the line.
static inline bool sim_curve_samples(uint64_t line, uint32_t rate)
{
    for (uint32_t i = 0; i < rate; i += SIM_CURVE_STEP) {
        uint32_t bits = rate - i < SIM_CURVE_STEP ? rate - i : SIM_CURVE_STEP;
        uint64_t digit = sim_curve_hash(line >> (i + SIM_CURVE_STEP)) >> (64 - SIM_CURVE_STEP);

        if ((line >> i ^ digit) & ((1u << bits) - 1))
            return false;
    }
    return true;
}

// Uses a line of the sample: how many others of it were used since its last use. SIM_CURVE_FAR: it
// was not used before, or, unless the rate adapts, max others or more were. May lower the rate.
uint32_t sim_curve_use(struct sim_curve *c, uint64_t line);

// -- sizes --
//
// Caches whose misses are told: 2^n and 3 * 2^(n - 1) bytes, from 4 KiB to 1 GiB.

#define SIM_CURVE_SIZES    37u
#define SIM_CURVE_SMALLEST 4096u

static inline uint64_t sim_curve_size(uint32_t i)
{
    return (uint64_t)(i % 2 ? 3 : 2) * (SIM_CURVE_SMALLEST / 2) << i / 2;
}

// The first size whose cache has more than `distance` lines of 2^line_shift bytes (at most 2 KiB:
// of larger ones, 6 KiB are not whole lines); SIM_CURVE_SIZES: none.
uint32_t sim_curve_fits(uint64_t distance, uint32_t line_shift);

#endif
