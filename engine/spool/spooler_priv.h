// SPDX-License-Identifier: MIT
// What spooler.c and copy.c share: how far each area of the file is mapped, and the file itself.
#ifndef QUERN_ENGINE_SPOOLER_PRIV_H
#define QUERN_ENGINE_SPOOLER_PRIV_H

#include "engine/spool/slotmem.h"
#include "engine/spool/spooler.h"

struct spooler_area {
    u64 start, size; // in the file
    u64 mapped;      // bytes from start
    u64 first;       // bytes mapped at the start
};

enum { AREA_HEAD, AREA_MAPS, AREA_PARTIAL, AREA_BLOCKS, AREA_EDGES, AREA_COUNT };

extern struct spooler_area spooler_areas[AREA_COUNT];
extern u64 spooler_counters_mapped; // bytes, the same for every slot
extern u64 spooler_file_size;
extern bool spooler_lost; // no file: the counts are dropped (copy_fork_child)

static inline void *spooler_at(u64 offset)
{
    return (void *)(SPOOLER_BASE + offset);
}

static inline u64 spooler_stack_offset(u32 slot)
{
    return SPOOL_STACKS_OFF + spool_stack_at(slot);
}

_Static_assert(CALLS_BASE + SPOOL_STACKS_SIZE <= SPOOLER_BASE, "consecutive");

extern u32 spooler_stack_mapped[SPOOL_THREADS_MAX + 1]; // bytes of each slot's open calls

// Maps `bytes` of the file at `offset` to addr; if the spool is lost, private memory. 0 or -errno.
long spooler_map_shared(int fd, u64 addr, u64 bytes, u64 offset, int fixed);

// Makes the file of *size bytes at least `want` large. 0 or -errno.
long spooler_grow_file(int fd, u64 *size, u64 want);

#endif
