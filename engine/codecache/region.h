// SPDX-License-Identifier: MIT
// The code cache's memory: one reservation, below everything that has to reach it. From the bottom:
// the stubs, stubs generated at run time, fragments, and a buffer for each thread's escape copy.
#ifndef QUERN_ENGINE_REGION_H
#define QUERN_ENGINE_REGION_H

#include "engine/base/types.h"

#define FRAGMENT_MAX 16384u // bytes; an escape buffer holds one

// Reserves it (kib KiB for fragments, rounded up) to end at or below `limit`. `stubs`: bytes of the
// stubs that are copied. Returns 0 or -errno. Once.
int region_init(u64 limit, u32 kib, u64 stubs);

u64 region_start(void);
u64 region_end(void);
u64 region_fragments(void); // address of the first fragment
u64 region_escapes(void);   // end of the fragments, start of the escape buffers

// Address of the next fragment, and how much space is left there (room may be NULL).
u8 *region_space(u64 *room);
void region_take(u64 bytes);
void region_flush(void); // drops every fragment

// The same for stubs generated at run time; `end`: the end of the stub made at region_made_space().
u8 *region_made_space(u64 *room);
void region_made(u64 end);

// A buffer of FRAGMENT_MAX bytes for a thread's escape copy; 0: there is none left.
u64 region_escape_take(void);
void region_escape_give(u64 buffer);

// Whether a 32-bit displacement reaches `target` from everywhere in the region: from a fragment and
// from its escape copies, whose distance is up to the region's size.
bool region_reaches(u64 target);

#endif
