// SPDX-License-Identifier: MIT
//
// One level of a simulated cache: set-associative, least recently used, write-allocate, the set
// chosen by the middle bits of the address. The engine calls it inside the profiled process, the
// tests call it hosted: both compile the same lines.
//
// Pure arithmetic: no I/O, no globals, no allocation (the caller gives the storage), no floating
// point, no libc. It may not know what a reference is for: instruction, read or write, the next
// level, and locks are up to the caller.
//
// The idea: each set is in order of use, way 0 the most recent. A reference to way 0 changes
// nothing, so that test is inline and everything else is out of line.
#ifndef QUERN_SIM_CACHE_H
#define QUERN_SIM_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Bytes. A geometry is valid when line is a power of two of at least SIM_LINE_MIN, and size is a
// multiple of line * assoc. The number of sets, size / (line * assoc), must be a power of two for a
// first level (sim_geometry_check); a last level may have any (sim_geometry_check_last).
struct sim_geometry {
    uint32_t size;
    uint32_t assoc;
    uint32_t line;
};

// An instruction is at most 15 bytes long: from 16 bytes on it touches two lines at most.
#define SIM_LINE_MIN 16u

enum sim_geometry_fault {
    SIM_GEOMETRY_OK = 0,
    SIM_GEOMETRY_ZERO = -1,     // one of the three numbers is 0
    SIM_GEOMETRY_LINE = -2,     // line is not a power of two
    SIM_GEOMETRY_SHORT = -3,    // line is smaller than SIM_LINE_MIN
    SIM_GEOMETRY_SMALL = -4,    // size is smaller than one set
    SIM_GEOMETRY_MULTIPLE = -5, // size is not a multiple of line * assoc
    SIM_GEOMETRY_SETS = -6      // the number of sets is not a power of two
};

// SIM_GEOMETRY_OK, or the first thing that is wrong with it: for a first level, for a last level.
int sim_geometry_check(const struct sim_geometry *g);
int sim_geometry_check_last(const struct sim_geometry *g);

// A sentence without a full stop for a result of sim_geometry_check; never NULL, static storage.
const char *sim_geometry_reason(int fault);

// The geometry, valid for a first level, that is nearest to what a processor reports; g itself if
// it is valid. The rule, in this order: an invalid line size is replaced by the nearest power of
// two from SIM_LINE_MIN on; the number of sets becomes the nearest power of two by ratio (half-way
// goes down); the associativity becomes what then comes closest to the size (half-way goes up, at
// least 1). So the capacity stays, exactly if the sets divide it, and the associativity changes:
// 480 MB 16-way of 64-byte lines has 491520 sets; 524288 sets 15-way have the same 480 MB.
//
// DIFFERS: Cachegrind finds another one (3.19 makes 512 MB 2-way of 384 MB 1-way, we 512 MB 1-way).
struct sim_geometry sim_geometry_nearest(const struct sim_geometry *g);

// The number of a cache line is its address divided by the size of a line; its tag is the address
// of its last byte, which is never 0.
//
// tags[set * stride + way] is 0 for an empty way, else the tag of the line in it; within a set the
// ways are in order of use, and the empty ones come last. The engine's translated code reads and
// reorders them, too (engine/emit/waysearch.c).
//
// A line is in set (its number) modulo (the number of sets). Only sim_cache_touch_last() and
// sim_cache_ref_last() know caches whose number of sets is no power of two.
struct sim_cache {
    uint64_t *tags;
    uint64_t set_mask; // sets - 1
    uint64_t low;      // line - 1
    uint32_t sets;
    uint32_t assoc;
    uint32_t stride; // words from set to set: assoc, unless the owner of the storage spreads them
    uint32_t line;
    uint32_t line_shift; // line == 1 << line_shift
};

// The size of the storage for a cache of a valid geometry; a multiple of 8.
size_t sim_cache_bytes(const struct sim_geometry *g);

// An empty cache of a valid geometry. storage is aligned to 8, has sim_cache_bytes() and is the
// caller's; it lives as long as the cache. Storage that is known to hold zeroes (fresh from mmap)
// may be given with sim_cache_init_zeroed, which then does not touch a page of it.
void sim_cache_init(struct sim_cache *c, const struct sim_geometry *g, void *storage);
void sim_cache_init_zeroed(struct sim_cache *c, const struct sim_geometry *g, void *storage);

// The out-of-line part of sim_cache_touch: tag is not in way 0 of the set at ways.
bool sim_cache_search(uint64_t *ways, uint32_t assoc, uint64_t tag);

// The line that holds address a, made the most recent of its set; true when it was not there. @hot
static inline bool sim_cache_touch(struct sim_cache *c, uint64_t a)
{
    uint64_t *ways = c->tags + (a >> c->line_shift & c->set_mask) * c->stride;
    uint64_t tag = a | c->low;

    if (ways[0] == tag)
        return false;
    return sim_cache_search(ways, c->assoc, tag);
}

// One reference to [addr, addr + size), size from 1 to the size of a line (see sim_clip). A
// reference that straddles two lines touches both, the lower first, and is one miss at most.
// True on a miss. @hot
static inline bool sim_cache_ref(struct sim_cache *c, uint64_t addr, uint32_t size)
{
    uint64_t end = addr + size - 1;
    bool miss = sim_cache_touch(c, addr);

    if ((addr ^ end) > c->low)
        miss |= sim_cache_touch(c, end);
    return miss;
}

// The same two for any number of sets.
static inline bool sim_cache_touch_last(struct sim_cache *c, uint64_t a)
{
    uint64_t *ways = c->tags + (a >> c->line_shift) % c->sets * c->stride;
    uint64_t tag = a | c->low;

    return ways[0] != tag && sim_cache_search(ways, c->assoc, tag);
}

static inline bool sim_cache_ref_last(struct sim_cache *c, uint64_t addr, uint32_t size)
{
    uint64_t end = addr + size - 1;
    bool miss = sim_cache_touch_last(c, addr);

    if ((addr ^ end) > c->low)
        miss |= sim_cache_touch_last(c, end);
    return miss;
}

// A reference larger than a line counts like one of line size; minline is the smallest line of
// all the levels that are simulated, the instruction cache included.
static inline uint32_t sim_clip(uint32_t size, uint32_t minline)
{
    return size < minline ? size : minline;
}

// The number of the most recent line of a set; SIM_LINE_NONE while the set is empty.
#define SIM_LINE_NONE UINT64_MAX
static inline uint64_t sim_cache_mru(const struct sim_cache *c, uint32_t set)
{
    uint64_t tag = c->tags[(size_t)set * c->stride];

    return tag ? tag >> c->line_shift : SIM_LINE_NONE;
}

// The set in which a line lives.
static inline uint32_t sim_cache_set(const struct sim_cache *c, uint64_t line_number)
{
    return (uint32_t)(line_number & c->set_mask);
}

// -- tags of 32 bits --
//
// The same cache in half the memory: a tag is the line's number divided by the number of sets, plus
// 1. For last-level caches, whose wider tags would not fit the host's own caches.
//
// Any number of sets is odd * 2^k. The low k bits of a line's number are those of its set; the bits
// above, `high`, are divided by `odd`: the remainder is the upper part of the set, the quotient
// plus 1 the tag. The division is a multiplication by magic, 2^magic_shift / odd rounded up, and a
// shift. It is exact for high below 2^31 (SIM_NARROW_HIGH_BITS): with magic * odd = 2^magic_shift +
// e, e < odd, the quotient is too large by high * e / (odd * 2^magic_shift), which must be less
// than 1 / odd; and odd < 2^(magic_shift - 31).
struct sim_narrow {
    uint32_t *tags; // as sim_cache's
    uint64_t low;   // line - 1
    uint32_t low_mask; // 2^k - 1
    uint32_t sets;
    uint32_t assoc;
    uint32_t stride; // from set to set
    uint32_t line_shift;
    uint32_t high_shift; // of the address: line_shift plus k
    uint32_t odd;
    uint32_t magic;
    uint32_t magic_shift;
};

#define SIM_NARROW_HIGH_BITS 31u

// Whether every address below 2^bits has a tag of 32 bits.
bool sim_narrow_fits(const struct sim_geometry *g, uint32_t bits);

// Bytes of its storage. Sets of up to 16 ways are 64 bytes apart and sets of up to 32 ways 128, so
// that a set is one or two lines of the host's caches, and one or two vectors; larger sets are
// packed.
size_t sim_narrow_bytes(const struct sim_geometry *g);

// An empty cache in storage of sim_narrow_bytes() zeroed bytes, aligned to 4.
void sim_narrow_init_zeroed(struct sim_narrow *c, const struct sim_geometry *g, void *storage);

// Whether the reference [addr, addr + size) has tags of 32 bits.
static inline bool sim_narrow_can(const struct sim_narrow *c, uint64_t addr, uint32_t size)
{
    uint64_t high = (addr + size - 1) >> c->high_shift;

    return high >> SIM_NARROW_HIGH_BITS == 0 && addr + size - 1 >= addr;
}

// Where the line that holds address a is: its set and its tag. sim_narrow_can() holds.
struct sim_narrow_place {
    uint32_t set, tag;
};
static inline struct sim_narrow_place sim_narrow_place(const struct sim_narrow *c, uint64_t a)
{
    uint64_t high = a >> c->high_shift, quotient = high * c->magic >> c->magic_shift;
    uint64_t upper = (high - quotient * c->odd) << (c->high_shift - c->line_shift);

    return (struct sim_narrow_place){ (uint32_t)(upper | (a >> c->line_shift & c->low_mask)),
                                      (uint32_t)quotient + 1 };
}

// As sim_cache_search, for tags of 32 bits.
bool sim_narrow_search(uint32_t *ways, uint32_t assoc, uint32_t tag);

static inline bool sim_narrow_touch(struct sim_narrow *c, uint64_t a)
{
    struct sim_narrow_place p = sim_narrow_place(c, a);
    uint32_t *ways = c->tags + (size_t)p.set * c->stride;

    if (ways[0] == p.tag)
        return false;
    return sim_narrow_search(ways, c->assoc, p.tag);
}

// As sim_cache_ref; sim_narrow_can() holds. @hot
static inline bool sim_narrow_ref(struct sim_narrow *c, uint64_t addr, uint32_t size)
{
    uint64_t end = addr + size - 1;
    bool miss = sim_narrow_touch(c, addr);

    if ((addr ^ end) > c->low)
        miss |= sim_narrow_touch(c, end);
    return miss;
}

// Copies the contents of `from` to `to`, an empty cache of the same geometry, in the same order.
void sim_narrow_widen(const struct sim_narrow *from, struct sim_cache *to);

#endif
