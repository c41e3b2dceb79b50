// SPDX-License-Identifier: MIT
// --data=yes: lines that threads share (docs/design/094-sharing.md). A thread references a line
// that it has referenced before and that another thread has written since: an invalidation. They
// are counted by both references, their objects and offsets, in the spool (struct
// spool_data_share).
//
// Without a second thread nothing is done here, but for --serialize-threads, where the beginning of
// threads must not depend on when records are replayed. A line that two threads have referenced is
// watched: count/caches.c leaves each reference to it to C.
#ifndef QUERN_ENGINE_SHARING_H
#define QUERN_ENGINE_SHARING_H

// For each of SHARING_SEEN lines which thread had it last: its number below that of the line. Lines
// side by side have their entries side by side. replay/routineseen.S reads them, too.
#define SHARING_SEEN        0x10000
#define SHARING_GROUP_BITS  3
#define SHARING_THREAD_BITS 23
// Lines that are watched, in sets of SHARING_WAYS.
#define SHARING_SETS 1024
#define SHARING_WAYS 4

#ifndef __ASSEMBLER__
#    include "engine/base/types.h"
#    include "engine/thread/thread.h"

#    define SHARING_LINES (SHARING_SETS * SHARING_WAYS)
#    define SHARING_NONE  (~0ul)

extern u32 sharing_off; // nonzero: there was one thread so far. routineseen.S does, too
extern u64 *sharing_lines;
extern u64 *sharing_seen;

// After objtable_init(), with --data=yes.
void sharing_init(void);
// objects.c: the object at addr as of the time to which t's replay has come, and where it begins
// (FOUND_UNKNOWN: not known). @holds(objtable's lock)
extern u32 (*sharing_find)(const struct thread *t, u64 addr, u64 *start);
// There is a second thread. A forked child has one.
void sharing_begin(void);
void sharing_fork_child(void);
// Its holder is dead.
void sharing_forget_lock(void);
// All counts become 0. The world is stopped.
void sharing_zero(void);

static inline bool sharing_is_on(void)
{
    return !__atomic_load_n(&sharing_off, __ATOMIC_ACQUIRE);
}

// Line i of those that are watched, or SHARING_NONE.
static inline u64 sharing_line(u32 i)
{
    return __atomic_load_n(&sharing_lines[i], __ATOMIC_RELAXED) - 1;
}

static inline u32 sharing_set(u64 line)
{
    return (u32)(line * 0x9e3779b97f4a7c15ul >> 40) % SHARING_SETS * SHARING_WAYS;
}

// Of the line's entry.
static inline u32 sharing_seen_place(u64 line)
{
    u64 h = (line >> SHARING_GROUP_BITS) * 0x9e3779b97f4a7c15ul >> 40;

    return (u32)(h << SHARING_GROUP_BITS | (line & ((1u << SHARING_GROUP_BITS) - 1))) &
           (SHARING_SEEN - 1);
}

// Whether the line, by its number, is watched. @signal-safe
static inline bool sharing_watches(u64 line)
{
    if (!sharing_is_on())
        return false;
    for (u32 i = 0, set = sharing_set(line); i < SHARING_WAYS; i++)
        if (sharing_line(set + i) == line)
            return true;
    return false;
}

// Grows with each line that is watched; never 0.
u32 sharing_changes(void);

// A reference of t, before its miss is counted. @signal-safe
void sharing_ref(struct thread *t, u64 addr, u32 size, bool stores, u32 counter);

#endif
#endif
