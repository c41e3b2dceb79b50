// SPDX-License-Identifier: MIT
// Blocks of allocators. Their functions are found by name (alloc.def, --data-alloc, --data-free);
// the dispatcher calls this file before the first block of such a function, and where it returns:
// no link leads to these blocks, and no superblock goes on to them.
#ifndef QUERN_ENGINE_ALLOC_H
#define QUERN_ENGINE_ALLOC_H

#include "engine/objects/cells.h"
#include "engine/objects/ranges.h"
#include "engine/thread/thread.h"

// After objtable_init().
void alloc_init(void);
void alloc_thread_init(struct thread *t);

// Whether the block at pc is such a one: a number for alloc_reached(). 0: it is not. @holds(the
// translation lock)
u32 alloc_point(u64 pc);
// t is about to execute it. Takes the translation lock.
void alloc_reached(struct thread *t, u32 point);

// The program says so (client requests). `at`: where.
void alloc_block(struct thread *t, u64 at, u64 start, u64 bytes);
void alloc_resized(struct thread *t, u64 start, u64 bytes);
void alloc_freed(struct thread *t, u64 start);
void alloc_cleared(struct thread *t, u64 start, u64 end); // all that is there

// A miss of t that is in no block: if an allocator is open, it may be in the block that this one
// returns. True: its step and its place in the object are counted when that is known.
// @holds(objtable's lock) @signal-safe
bool alloc_missed(const struct thread *t, const struct cells_miss *miss);
// Whether that may be so. @signal-safe
bool alloc_waits(const struct thread *t);

// The object of the block at addr as of a time; 0: there is none. @holds(objtable's lock)
// @signal-safe
u32 alloc_find(u64 addr, u64 at, u32 who, struct found *out);
// As ranges_span(). @holds(objtable's lock) @signal-safe
void alloc_span(u64 addr, struct ranges_span *span);

#endif
