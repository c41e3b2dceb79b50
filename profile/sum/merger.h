// SPDX-License-Identifier: MIT
//
// The summing table for merging, subtracting, rewriting names and writing in sorted order: each of
// them adds the records of a profile to a table, folded in some way, then takes the table out
// sorted. merger.c manages the table, merger_add.c fills it, merger_take.c empties it.
//
// An entry is a place with a cost. What places share - function, file, and for a call its target -
// is a context, stored once. So an entry is three small numbers in columns, and its counts are in
// one pool. The memory is that of the result, whatever the number of profiles.
#ifndef QUERN_PROFILE_MERGER_H
#define QUERN_PROFILE_MERGER_H

#include "profile/sum/fold.h"

struct context {
    uint32_t kind, func, file, to_func, to_file;
    uint32_t line_high; // lines of 2^32 and more are not worth a wider column
    uint64_t to_line, to_addr, bb;
};

struct quern_merger {
    struct quern_profile *dst; // tables and header of the result; no records
    char *name;                // of the first profile, for messages
    size_t order;              // of the profile the header is from
    size_t added;

    struct context *ctx;
    size_t ctx_count, ctx_cap;
    struct table ctx_table;

    // Entries, in columns
    uint32_t *e_ctx, *e_line, *e_off;
    uint16_t *e_n;    // slots of counts; MERGER_WIDE: they are 128-bit
    uint64_t *e_addr; // NULL: all are 0
    size_t count, cap;
    struct table table;

    // Counts: int64_t each, or quern_count in two slots; calls and jumps have two more before those
    // of the events, `calls` and `executed`.
    int64_t *pool;
    size_t pool_used, pool_cap;
};

#define MERGER_WIDE 0x8000u

static inline size_t merger_lead(uint32_t kind)
{
    return kind == QUERN_REC_COST ? 0 : 2;
}

static inline size_t merger_counts(const struct quern_merger *m, uint32_t i)
{
    return m->e_n[i] & (MERGER_WIDE - 1u);
}

static inline bool merger_is_wide(const struct quern_merger *m, uint32_t i)
{
    return (m->e_n[i] & MERGER_WIDE) != 0;
}

static inline bool merger_ctx_equal(const struct context *a, const struct context *b)
{
    return a->func == b->func && a->to_func == b->to_func && a->kind == b->kind &&
           a->file == b->file && a->to_line == b->to_line && a->to_addr == b->to_addr &&
           a->to_file == b->to_file && a->bb == b->bb && a->line_high == b->line_high;
}

// Whether entry i is that place.
static inline bool merger_is_entry(const struct quern_merger *m, uint32_t i, uint32_t ctx,
                                   uint32_t line, uint64_t addr)
{
    return i < m->count && m->e_ctx[i] == ctx && m->e_line[i] == line &&
           (m->e_addr ? m->e_addr[i] == addr : !addr);
}

// Frees the contents of the merger, but not its result; the merger is empty then.
void merger_reset(struct quern_merger *m);
// The context; made if necessary. QUERN_NONE: no memory.
uint32_t merger_find_ctx(struct quern_merger *m, const struct context *c);
// The entry of a place; a new one has no counts. QUERN_NONE: no memory.
uint32_t merger_find_entry(struct quern_merger *m, uint32_t ctx, uint32_t line, uint64_t addr);
// Count k of entry i; 0 if it has none.
quern_count merger_count(const struct quern_merger *m, uint32_t i, size_t k);
// Adds (sign -1: subtracts) n counts of at most 64 bits to entry i: 0, or -ENOMEM with nothing
// added.
int merger_add_plain(struct quern_merger *m, uint32_t i, const uint64_t *v, size_t n, int sign);
// The same for any counts.
int merger_add_wide(struct quern_merger *m, uint32_t i, const quern_count *v, size_t n, int sign);
// Event e has got a fraction: converts everything counted so far to units of 10^-9. 0, or -ENOMEM.
int merger_rescale(struct quern_merger *m, size_t e);

// Adds the records of p. 0 or -errno; on -EINVAL (different events) err says which.
int merger_add(struct quern_merger *m, const struct quern_profile *p, const char *name,
               const struct fold *fold, struct quern_error *err);
// See quern_merger_take; into the last part of an existing profile with the same events. 0, -errno.
int merger_take_into(struct quern_merger *m, struct quern_profile *out);

// Numbers of one profile's strings and functions in another; QUERN_NONE: not looked up yet.
struct merger_maps {
    uint32_t *file, *name, *other; // string -> string: as a file, a name, anything
    uint32_t *func;
    uint32_t bad; // string + 1 that could not be rewritten
    bool failed;  // no memory: a returned number must not be used
};
// Maps for a profile: 0, or -ENOMEM; the caller frees them in either case.
int merger_maps_new(struct merger_maps *maps, const struct quern_profile *p);
void merger_maps_free(struct merger_maps *maps);
// The number in dst of a file of p, and of a function of p, folded.
uint32_t merger_map_file(struct quern_profile *dst, const struct quern_profile *p, uint32_t s,
                         const struct fold *f, struct merger_maps *maps);
uint32_t merger_map_func(struct quern_profile *dst, const struct quern_profile *p, uint32_t func,
                         const struct fold *f, struct merger_maps *maps);
// The function of that name in a file of dst, of no object.
uint32_t merger_map_func_in(struct quern_profile *dst, const struct quern_profile *p, uint32_t func,
                            uint32_t file, const struct fold *f, struct merger_maps *maps);

#endif
