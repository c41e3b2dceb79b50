// SPDX-License-Identifier: MIT
// Blocks of allocators. Their functions are found by name (alloc.def, --data-alloc, --data-free);
// the dispatcher calls this file before the first block of such a function, and where it returns:
// no link leads to these blocks, and no superblock goes on to them.
#ifndef QUERN_ENGINE_ALLOC_H
#define QUERN_ENGINE_ALLOC_H

#include "engine/objects/cells.h"
#include "engine/objects/ranges.h"
#include "engine/thread/thread.h"

// A change of the blocks.
enum alloc_kind {
    ALLOC_OPENED = 1, // a call begins. a: size; b: the block that it replaces, or 0; c: the block
                      // that it will return, 0: not known
    ALLOC_RETURNED,   // it has returned. a: its block, 0: none
    ALLOC_LEFT,       // it was left otherwise
    ALLOC_FREED,      // a: where the block begins
    ALLOC_BLOCK,      // a, b: a new block and its size
    ALLOC_RESIZED,    // a: where the block begins, b: its size from now on
    ALLOC_CLEARED,    // [a, b) is in no block
};

#define ALLOC_KIND_MASK  15u
#define ALLOC_WHAT_BIT   4u // of ALLOC_OPENED: enum what
#define ALLOC_OBJECT_BIT 8u // of ALLOC_OPENED and ALLOC_BLOCK

_Static_assert(SPOOL_DATA_OBJECTS_MAX <= 1u << (32 - ALLOC_OBJECT_BIT), "the rest of a word");

struct alloc_event {
    u32 word; // kind, and what else it has
    u64 time; // of the maps, from here on
    u64 a, b, c;
};

// Changes are events among the records (RECORD_OBJECTS), which whoever replays these applies: while
// there is one thread. Not with --no-hints.
extern bool alloc_in_order;
// recordbuf.c: puts n words into t's records, the first with the event's word in its high half and
// no id yet, and returns where they are; replays what t has recorded.
extern u64 *(*alloc_record)(struct thread *t, const u64 *words, u32 n);
extern void (*alloc_drain)(struct thread *t);

// Words of the record of such an event; of word 0, no event, two.
static inline u32 alloc_words(u32 word)
{
    switch (word & ALLOC_KIND_MASK) {
    case 0: return 2;
    case ALLOC_RETURNED:
    case ALLOC_LEFT:
    case ALLOC_FREED: return 3;
    case ALLOC_OPENED: return 5;
    default: return 4;
    }
}

// t's replay has come to it. @holds(objtable's lock)
void alloc_apply(struct thread *t, const struct alloc_event *e);
// t, which was alone, is about to make another thread.
void alloc_second_thread(struct thread *t);

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
