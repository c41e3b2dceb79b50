// SPDX-License-Identifier: MIT
//
// The form of spools for the fuzzer (spool.c). Spools are sparse files of up to 300 GB, so an
// input is the start of the header, after its magic number and version, and pieces of the
// areas, each a struct spool_piece and its bytes. spool_seed.c makes such inputs from real spools.
#ifndef QUERN_FUZZ_SPOOL_FORM_H
#define QUERN_FUZZ_SPOOL_FORM_H

#include <stddef.h>
#include <stdint.h>

#include "share/spool.h"

#define FORM_HEAD (offsetof(struct spool_header, state))
#define FORM_SIZE (offsetof(struct spool_header, start_mask) - FORM_HEAD)

enum {
    FORM_TEXT,
    FORM_MAPS,
    FORM_PARTIAL,
    FORM_BLOCKS,
    FORM_EDGES,
    FORM_SLOTS,
    FORM_STACKS = 9,
    FORM_AREAS = 14
};

struct spool_piece {
    uint8_t area; // of a slot's counters from FORM_SLOTS on, of a slot's calls from FORM_STACKS on
    uint8_t unused;
    uint16_t bytes; // that follow
    uint32_t off;   // in its area
};

// The start of an area. The last of the stacks are the ones left by jumps.
static inline uint64_t form_at(unsigned area)
{
    static const uint64_t at[] = { SPOOL_TEXT_OFF, SPOOL_MAPS_OFF, SPOOL_PARTIAL_OFF,
                                   SPOOL_BLOCKS_OFF, SPOOL_EDGES_OFF };

    if (area < FORM_SLOTS)
        return at[area];
    if (area < FORM_STACKS)
        return SPOOL_THREADS_OFF + (area - FORM_SLOTS) * SPOOL_THREAD_SIZE;
    return SPOOL_STACKS_OFF +
           spool_stack_at(area == FORM_AREAS - 1 ? SPOOL_THREADS_MAX : area - FORM_STACKS);
}

#endif
