// SPDX-License-Identifier: MIT
//
// Counts by place of siblings (siblings.h). Kept from one spool to the next: its blocks and
// counters, the cell of each instruction, and the cells. What the next one's blocks have in common
// with these, from the beginning on, is compared counter by counter; a block that differs adds the
// differences to its cells. Blocks that the next one lacks are subtracted, its own are added.
//
// Nothing is trusted: a spool with a record that spool_walk() calls bad, or with blocks that share
// counters, is left to that.
#include "finish/sums/siblings.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"
#include "finish/spool/spool_read.h"

#define UNKNOWN UINT32_MAX

// A block.
struct entry {
    uint32_t at;         // its offset in the blocks, in units of 8 bytes
    uint32_t executions; // the counter of its executions
    uint32_t own, owned; // the first of those of its instructions, and how many
    uint32_t first;      // its first instruction, in `cell`
};

// Of the spool before.
static struct {
    bool more;          // spools follow
    uint64_t flags;     // of the run
    uint64_t forgotten; // what struct places said
    struct spool_walk_shapes shapes;
    struct sums sums; // with turn 0 nothing is kept
    struct spool_map *map;
    char **path; // of each map, or NULL
    uint64_t maps;
    char *blocks;
    uint64_t blocks_used, blocks_room;
    uint64_t *counter;
    uint8_t *taken; // by counter: a block has it
    uint64_t counters;
    struct entry *entry; // in the order of the blocks
    size_t entries, entries_room;
    uint32_t *cell; // by instruction; UNKNOWN: it was not reached yet
    size_t cells, cells_room;
} kept;

void siblings_expect(bool more)
{
    kept.more = more;
}

void siblings_forget(void)
{
    bool more = kept.more;

    sums_close(&kept.sums);
    for (uint64_t i = 0; i < kept.maps; i++)
        free(kept.path[i]);
    free(kept.map);
    free(kept.path);
    free(kept.blocks);
    free(kept.counter);
    free(kept.taken);
    free(kept.entry);
    free(kept.cell);
    memset(&kept, 0, sizeof(kept));
    kept.more = more;
}

static void begin(const struct spool_file *s, const struct places *p)
{
    static uint64_t turns;

    siblings_forget();
    kept.flags = kept.shapes.flags = s->h->flags;
    kept.forgotten = p->forgotten;
    sums_open(&kept.sums, s->h->flags);
    kept.sums.turn = ++turns;
}

// ---- Mappings: an instruction of the same one is at the same place ----

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool same_map(const struct spool_file *s, uint64_t i)
{
    struct spool_map a = kept.map[i], b = s->maps[i];

    if (!same_text(kept.path[i], spool_file_text(s, b.path)))
        return false;
    a.path = b.path = 0; // offsets in texts of their own
    return memcmp(&a, &b, sizeof(a)) == 0;
}

static bool same_maps(const struct spool_file *s)
{
    if (s->maps_used < kept.maps)
        return false;
    for (uint64_t i = 0; i < kept.maps; i++)
        if (!same_map(s, i))
            return false;
    return true;
}

static void keep_maps(const struct spool_file *s)
{
    if (s->maps_used <= kept.maps)
        return;
    kept.map = xrealloc(kept.map, s->maps_used * sizeof(*kept.map));
    kept.path = xrealloc(kept.path, s->maps_used * sizeof(*kept.path));
    for (; kept.maps < s->maps_used; kept.maps++) {
        const char *path = spool_file_text(s, s->maps[kept.maps].path);

        kept.map[kept.maps] = s->maps[kept.maps];
        kept.path[kept.maps] = path ? xstrdup(path) : NULL;
    }
}

// ---- Counts ----

static void note_change(uint32_t cell)
{
    struct sums *sums = &kept.sums;
    struct sums_cell *c = sums_cell_at(sums, cell);

    if (c->changed)
        return;
    c->changed = 1;
    if (sums->changes == sums->changes_room) {
        sums->changes_room = sums->changes_room ? sums->changes_room * 2 : 4096;
        sums->changed = xrealloc(sums->changed, sums->changes_room * sizeof(*sums->changed));
    }
    sums->changed[sums->changes++] = cell;
}

// Adds differences of an instruction's counts to its cell. reached: 1 if it was not reached in the
// spool before, -1 if it was but is not in this one.
static void add(const struct spool_walk_insn *in, uint32_t *cell, int reached, struct places *p)
{
    struct sums *sums = &kept.sums;
    struct sums_cell *c;

    if (*cell == UNKNOWN) {
        if (!places_is_same_row(p, in->map, in->pc))
            sums_move(sums, p, in);
        *cell = (uint32_t)((size_t)((char *)sums->last - (char *)sums->cell) / sums->cell_size);
    }
    note_change(*cell);
    c = sums_cell_at(sums, *cell);
    c->reached = (c->reached + (uint32_t)reached) & INT32_MAX;
    spool_walk_add(in, c->counts);
    spool_walk_add(in, sums->total);
}

static const struct spool_block *block_at(uint32_t at)
{
    return (const struct spool_block *)(const void *)(kept.blocks + at * UINT64_C(8));
}

// Adds what a block has counted more in this spool than in the one before. s NULL: this one lacks
// the block.
static void add_block(const struct entry *e, const struct spool_file *s, struct places *p)
{
    const struct spool_block *b = block_at(e->at);
    const struct spool_insn *in = (const struct spool_insn *)(b + 1);
    const uint64_t *now = s ? s->counters + e->own : NULL;
    uint64_t *then = kept.counter + e->own, before = kept.counter[e->executions];
    uint64_t executed = s ? s->counters[e->executions] : 0;
    uint64_t more[sizeof(((struct spool_walk_shape *)NULL)->event)];
    struct spool_walk_insn o = { .map = b->map, .pc = b->pc, .executed = executed - before };

    for (uint32_t i = 0; i < b->insns; i++) {
        const struct spool_walk_shape *shape = spool_walk_shape(&kept.shapes, in[i]);
        uint64_t any = executed, any_before = before, differs = o.executed;

        for (uint32_t k = 0; k < shape->count; k++) {
            uint64_t n = now ? now[k] : 0;

            more[k] = n - then[k];
            differs |= more[k];
            any |= n;
            any_before |= then[k];
            then[k] = n;
        }
        if (differs) {
            o.in = in[i];
            o.counter = more;
            o.shape = shape;
            add(&o, &kept.cell[e->first + i], (any != 0) - (any_before != 0), p);
        }
        o.pc += in[i].len;
        then += shape->count;
        now = now ? now + shape->count : NULL;
    }
    kept.counter[e->executions] = executed;
}

static bool same_counts(const struct entry *e, const struct spool_file *s)
{
    const uint64_t *now = s->counters + e->own, *then = kept.counter + e->own;
    uint64_t differs = s->counters[e->executions] ^ kept.counter[e->executions];

    for (uint32_t k = 0; k < e->owned; k++)
        differs |= now[k] ^ then[k];
    return !differs;
}

// ---- Blocks ----

static uint64_t end_of(const struct entry *e)
{
    return e->at * UINT64_C(8) + spool_read_block_size(block_at(e->at));
}

// How many bytes of the blocks are the same.
static uint64_t common(const struct spool_file *s)
{
    enum { PIECE = 4096 };
    uint64_t n = spool_read_least(s->blocks_used, kept.blocks_used), i = 0;

    while (n - i >= PIECE && memcmp(s->blocks + i, kept.blocks + i, PIECE) == 0)
        i += PIECE;
    while (i < n && s->blocks[i] == kept.blocks[i])
        i++;
    return i;
}

// Claims the counters of a block. False: they are not in the spool, or another block has one.
static bool take_counters(const struct entry *e, const struct spool_file *s)
{
    if (e->executions >= s->counters_used || e->own > s->counters_used ||
        e->owned > s->counters_used - e->own || kept.taken[e->executions]++)
        return false;
    for (uint32_t k = 0; k < e->owned; k++)
        if (kept.taken[e->own + k]++)
            return false;
    return true;
}

// Subtracts the blocks from number n on.
static void drop_blocks(size_t n, struct places *p)
{
    for (size_t k = n; k < kept.entries; k++) {
        const struct entry *e = &kept.entry[k];

        add_block(e, NULL, p);
        kept.taken[e->executions] = 0;
        memset(kept.taken + e->own, 0, e->owned);
    }
    kept.entries = n;
    kept.cells = n ? kept.entry[n - 1].first + block_at(kept.entry[n - 1].at)->insns : 0;
}

// Adds what the blocks that are kept have counted. False: the spool lacks a counter.
static bool compare_blocks(const struct spool_file *s, struct places *p)
{
    for (size_t k = 0; k < kept.entries; k++) {
        const struct entry *e = &kept.entry[k];

        if (e->executions >= s->counters_used || e->own + e->owned > s->counters_used)
            return false;
        if (!same_counts(e, s))
            add_block(e, s, p);
    }
    return true;
}

static void keep_blocks(const struct spool_file *s, uint64_t from)
{
    if (s->blocks_used > kept.blocks_room) {
        kept.blocks_room = s->blocks_used;
        kept.blocks = xrealloc(kept.blocks, kept.blocks_room);
    }
    if (s->blocks_used > from)
        memcpy(kept.blocks + from, s->blocks + from, s->blocks_used - from);
    kept.blocks_used = s->blocks_used;
    if (s->counters_used > kept.counters) {
        uint64_t more = s->counters_used - kept.counters;

        kept.counter = xrealloc(kept.counter, s->counters_used * sizeof(*kept.counter));
        kept.taken = xrealloc(kept.taken, s->counters_used);
        memset(kept.counter + kept.counters, 0, more * sizeof(*kept.counter));
        memset(kept.taken + kept.counters, 0, more);
        kept.counters = s->counters_used;
    }
}

// A new entry for the block at `at`, with its instructions.
static const struct entry *new_entry(uint64_t at)
{
    const struct spool_block *b = block_at((uint32_t)(at / 8));
    const struct spool_insn *in = (const struct spool_insn *)(b + 1);
    struct entry *e;

    if (kept.entries == kept.entries_room) {
        kept.entries_room = kept.entries_room ? kept.entries_room * 2 : 8192;
        kept.entry = xrealloc(kept.entry, kept.entries_room * sizeof(*kept.entry));
    }
    while (kept.cells + b->insns > kept.cells_room) {
        kept.cells_room = kept.cells_room ? kept.cells_room * 2 : 65536;
        kept.cell = xrealloc(kept.cell, kept.cells_room * sizeof(*kept.cell));
    }
    e = &kept.entry[kept.entries++];
    *e = (struct entry){ .at = (uint32_t)(at / 8),
                         .executions = b->counter,
                         .own = b->own,
                         .first = (uint32_t)kept.cells };
    for (uint32_t i = 0; i < b->insns; i++) {
        e->owned += spool_walk_shape(&kept.shapes, in[i])->count;
        kept.cell[kept.cells++] = UNKNOWN;
    }
    return e;
}

// Adds the blocks from `off` on. False: one is bad (spool_walk.c).
static bool add_blocks(const struct spool_file *s, struct places *p, uint64_t off)
{
    while (off + sizeof(struct spool_block) <= s->blocks_used) {
        const struct spool_block *b = block_at((uint32_t)(off / 8));
        uint64_t at = off, size = spool_read_block_size(b);
        const struct entry *e;

        if (size > s->blocks_used - off || spool_read_is_empty(b))
            return false;
        off += size;
        if ((b->flags & SPOOL_B_SUM) && b->counter >= s->counters_used)
            return false;
        if (b->flags & (SPOOL_B_SUM | SPOOL_B_DORMANT))
            continue;
        e = new_entry(at);
        if (b->map >= s->maps_used || !take_counters(e, s))
            return false;
        if (!same_counts(e, s))
            add_block(e, s, p);
    }
    return true;
}

static bool take(const struct spool_file *s, struct places *p)
{
    uint64_t same = common(s), from;
    size_t n = kept.entries;

    while (n && end_of(&kept.entry[n - 1]) > same)
        n--;
    drop_blocks(n, p);
    if (!compare_blocks(s, p))
        return false;
    from = n ? end_of(&kept.entry[n - 1]) : 0;
    keep_maps(s);
    keep_blocks(s, from);
    return add_blocks(s, p, from);
}

struct sums *siblings_sums(const struct spool_file *s, struct places *p)
{
    if ((s->h->flags & SPOOL_F_NO_HINTS) || (!kept.more && !kept.sums.turn) ||
        spool_is_sampled(s) || !spool_walk_is_plain(s))
        return NULL;
    if (!kept.sums.turn || kept.flags != s->h->flags || kept.forgotten != p->forgotten ||
        !same_maps(s))
        begin(s, p);
    if (take(s, p))
        return &kept.sums;
    siblings_forget();
    return NULL;
}
