// SPDX-License-Identifier: MIT
// --data=yes: how many bytes of the lines that are fetched into D1 are referenced before they are
// evicted, by object (docs/design/095-use-of-lines.md). One in --data-use lines is followed, of
// each thread's own misses: which ones follows from their number alone. What is counted is in the
// records of the objects.
//
// A line that is followed is hinted to be in another way than it is (count/caches.c), so each
// reference to it comes to C. It is let go when all of its bytes have been referenced, or many
// references in a row were to bytes that had been: so it costs little, however often it is used.
#ifndef QUERN_ENGINE_LINEUSE_H
#define QUERN_ENGINE_LINEUSE_H

#define LINEUSE_SLOTS 8192 // as hints of D1 (sim/stamps.h)
#define LINEUSE_LEFT  LINEUSE_SLOTS

#ifndef __ASSEMBLER__

#    include "engine/base/types.h"
#    include "engine/thread/thread.h"

#    define LINEUSE_SETS  64u
#    define LINEUSE_WAYS  8u
#    define LINEUSE_LINES (LINEUSE_SETS * LINEUSE_WAYS)
#    define LINEUSE_WAITS 65536u // as many as misses of an allocator that wait (alloc.c)
// References in a row without a new byte after which a line is let go.
#    define LINEUSE_QUIET 1024u

// A line that was fetched.
struct lineuse_line {
    u64 line;    // its number, plus one; 0: none
    u64 touched; // a bit for each of its bytes, or of 64 parts of a longer one
    u32 object;
    u32 quiet;   // references since the last new byte
    u32 used;    // when
    u32 wait;    // plus one: of struct lineuse_wait
    u64 *queued; // lineuse_queue()'s, while its object may not be known yet
};

// A line that was fetched while an allocator was called, in no block.
struct lineuse_wait {
    u64 addr, bytes;
    u32 object;
    u32 thread; // its number; 0: it waits no longer
};

// Each thread's; with --serialize-threads that of all. routine.S reads the first two.
struct lineuse {
    u8 slot[LINEUSE_SLOTS]; // by a line's number: how many with this remainder are followed
    u32 left;               // misses up to the next one that is followed, which is 1
    u32 random, now, waits;
    u32 queued; // lines whose objects are not known yet, or more
    struct lineuse_line line[LINEUSE_LINES];
    struct lineuse_wait *wait; // NULL with records of a thread that is not alone
};

// A thread begins, in a slot that is new or was another thread's.
void lineuse_thread_init(struct thread *t);
// objects.c: the object at addr as of the time to which t's replay has come; *waits: an allocator
// is open that may return the block. @holds(objtable's lock)
extern u32 (*lineuse_find)(const struct thread *t, u64 addr, bool *waits);
// caches.c: whether a line, by its number, is in D1.
extern bool (*lineuse_in_d1)(const struct thread *t, u64 line);

// Whether references to the line, by its number, are for C.
static inline bool lineuse_is_for_c(const struct thread *t, u64 line)
{
    return t->lineuse && t->lineuse->slot[line % LINEUSE_SLOTS];
}

// With t->lineuse. The line of addr was not in D1, and is fetched. `refs` references to bytes
// [addr, addr + size), in D1 by now, of at most two lines. @signal-safe
void lineuse_missed(struct thread *t, u64 addr);
void lineuse_touched(struct thread *t, u64 addr, u32 size, u32 refs);

// many.c, where misses wait for their objects; else NULL. A line that is followed, of addr, waits
// in t's queue: the upper half of the word that it returns has the bytes that have been referenced
// so far. When the object is known, that half is LINEUSE_FOUND, and the lower one the object.
#    define LINEUSE_FOUND 0xffffffffu
extern u64 *(*lineuse_queue)(struct thread *t, u64 addr);
// The object of one is known. Another thread may simulate references to the line meanwhile.
// @holds(objtable's lock)
void lineuse_found(u64 *word, u32 object);
// The same of t's line of addr, if an allocator is open that may return the block that it is in: it
// waits until lineuse_settle().
void lineuse_found_open(const struct thread *t, u64 *word, u64 addr, u32 object);
// All words in [from, end) are known, and will be used again. By who simulates t's references.
void lineuse_collect(struct thread *t, u64 from, u64 end);

// alloc.c: also with records the fetches of a call of an allocator may wait.
extern bool lineuse_may_wait;
// The fetches of a call of an allocator are known to be in the block [start, end), or where they
// were found. @holds(objtable's lock)
void lineuse_settle(const struct thread *t, u64 start, u64 end, u32 object);
static inline bool lineuse_waits(const struct thread *t)
{
    return t->lineuse && t->lineuse->waits;
}

// No line is followed. The world is stopped.
void lineuse_zero(void);

#endif
#endif
