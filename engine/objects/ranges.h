// SPDX-License-Identifier: MIT
// Which object is at an address, as of a time: ranges of addresses, disjoint at each time. Time is
// a number that grows with each change. What was replaced or cleared is remembered for a while, for
// references that are simulated later than they were made: as long as any can be (ranges_asked), at
// most for RANGES_GONE changes.
//
// A treap of 40 bytes for each live range, but for small ones of one set (granules.h), and a ring
// of those that are gone, found by hash tables for sizes of powers of 16. No locks: the caller has
// one. Links are numbers below the number of nodes, and a look-up takes a bounded number of steps:
// a reader in another process may meet what its owner, killed meanwhile, has left half done.
#ifndef QUERN_ENGINE_RANGES_H
#define QUERN_ENGINE_RANGES_H

#include "engine/base/types.h"
#include "engine/objects/found.h"

// A record buffer has 64 Ki words and a thread four of them; what frees a block and calls for it
// records six words or more.
#define RANGES_GONE 0x20000u

// Bits of `who`: the number of a thread, or nobody made it; it does not begin where its object
// does.
#define RANGES_NOBODY 0xffffu
#define RANGES_PART   0x10000u
// A range has a bit for each of its lines of 64 bytes, by their number modulo RANGES_LINES, which
// its user sets (lifetimes.c); pieces of it keep them. A large one had more lines, and has none.
#define RANGES_LARGE     0x20000u
#define RANGES_LINES     14u
#define RANGES_LINE      FOUND_LINE
#define RANGES_LINES_BIT 18u

struct ranges_range {
    u64 start, end;
    u64 born;
    u32 object, who; // without the bits of lines, and RANGES_LARGE
};

#define RANGES_LEVELS 14u // of what is gone, by size: up to 64 bytes, 256, 4 KiB, 64 KiB, ...

// Zero: empty.
struct ranges {
    u32 root;
    u32 set;                 // a number of its own, from 0 on
    bool forgets;            // asked about the present only
    bool present;            // the same, for now: what is gone is noted
    bool granules;           // small ones are in granules.c: of one set only
    u64 last[RANGES_LEVELS]; // when one of each size was gone last
};

// Addresses [start, end).
struct ranges_span {
    u64 start, end;
};

static inline void ranges_narrow(struct ranges_span *s, u64 start, u64 end)
{
    if (s->start < start)
        s->start = start;
    if (s->end > end)
        s->end = end;
}

// Once, before all others.
void ranges_init(void);
// [start, end) is this object from `now` on, and nothing else; no object from then on. `who` made
// it: a number of a thread, or RANGES_NOBODY; with RANGES_PART if that is so.
void ranges_put(struct ranges *r, u64 start, u64 end, u32 object, u64 now, u32 who);
void ranges_clear(struct ranges *r, u64 start, u64 end, u64 now);
// The range at addr at present. False: there is none.
bool ranges_now(const struct ranges *r, u64 addr, struct ranges_range *out);
// The first range that ends behind addr. False: there is none. Not with granules.
bool ranges_next(const struct ranges *r, u64 addr, struct ranges_range *out);
// Makes the span smaller: addresses around addr that are in the same range at present, or in none.
// With granules it may be less than all of these, if addr is in none. @signal-safe
void ranges_span(const struct ranges *r, u64 addr, struct ranges_span *span);
// The object at addr at a time of the thread `who`. If there was none then: the present one, if
// another thread has made it, because a thread's time says little about others. 0: none. out: may
// be NULL. @signal-safe
u32 ranges_find(const struct ranges *r, u64 addr, u64 at, u32 who, struct found *out);

// The earliest time that ranges_find() may be asked for from now on. NULL: it is not known.
extern u64 (*ranges_asked)(void);

// A range, or a piece of one, is gone; the memory of those that are gone has forgotten it. Only of
// set 0. NULL: nobody wants to know.
struct ranges_watch {
    void (*gone)(u32 object, u64 bytes, bool begins); // begins: with its object's beginning
    void (*cut)(u64 start, u64 end, u64 born);        // of one with its beginning a part stays
    void (*forgotten)(u64 start, u64 end, u64 born, u32 who);
};
extern const struct ranges_watch *ranges_watch;

#endif
