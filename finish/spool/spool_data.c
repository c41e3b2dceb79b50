// SPDX-License-Identifier: MIT
//
// Reads what a run with --data=yes has counted: objects of the data, and the misses of each
// instruction in them. Trusts nothing in the file.
#include "finish/spool/spool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/base/util.h"
#include "finish/spool/spool_pointers.h"
#include "finish/spool/spool_read.h"

static int compare(const void *x, const void *y)
{
    const struct spool_data_miss *a = x, *b = y;

    if (a->counter != b->counter)
        return a->counter < b->counter ? -1 : 1;
    return a->object < b->object ? -1 : a->object > b->object;
}

// Zeroed where the file has nothing.
static void *read_part(const struct spool_file *s, uint64_t off, uint64_t bytes, uint64_t size,
                       int *rc)
{
    char *to = xcalloc(1, bytes + 1);
    uint64_t have = size > off ? spool_read_least(bytes, size - off) : 0;

    if (have && spool_read_sparse(s->fd, to, have, off) != 0)
        *rc = -1;
    return to;
}

static bool is_sound(const struct spool_data_file *d, const struct spool_data_count *c)
{
    return c->counter && c->object < d->objects && c->l2 <= c->l1 && c->ll <= c->l1 &&
           c->l1 < FINISH_COUNT_MAX;
}

// The walk in which most of the steps are. Counts of a process that was killed may disagree.
static struct spool_data_walk walk_of(const struct spool_data_count *c)
{
    struct spool_data_walk w = { .steps = spool_read_least(c->steps, FINISH_COUNT_MAX - 1) };
    uint64_t near = spool_read_least(c->near, w.steps);

    if (c->ahead) {
        w.regular = SPOOL_WALK_AHEAD;
        w.count = c->ahead;
    }
    if (c->back > w.count) {
        w.regular = SPOOL_WALK_BACK;
        w.count = c->back;
    }
    for (int i = 0; i < (int)SPOOL_DATA_STRIDES; i++) {
        if (c->stride[i].count <= w.count)
            continue;
        w.regular = SPOOL_WALK_STRIDE;
        w.stride = c->stride[i].step;
        w.count = c->stride[i].count;
    }
    w.count = spool_read_least(w.count, w.steps);
    if (w.regular != SPOOL_WALK_STRIDE ||
        llabs(w.stride) < (long long)SPOOL_DATA_NEAR) // these are near
        near -= spool_read_least(near, w.count);
    w.near = spool_read_least(near, w.steps - w.count);
    return w;
}

static void take_counts(struct spool_data_file *d, const struct spool_data_count *count, size_t n)
{
    d->miss = xcalloc(n + 1, sizeof(*d->miss));
    for (size_t i = 0; i < n; i++) {
        const struct spool_data_count *c = &count[i];

        if (!c->l1 && !c->steps)
            continue;
        if (!is_sound(d, c)) {
            d->bad++;
            continue;
        }
        d->miss[d->misses++] = (struct spool_data_miss){ .counter = c->counter - 1,
                                                         .object = c->object,
                                                         .l1 = c->l1,
                                                         .l2 = c->l2,
                                                         .ll = c->ll,
                                                         .walk = walk_of(c) };
    }
    qsort(d->miss, d->misses, sizeof(*d->miss), compare);
}

// What the cells are sorted by; they themselves have many more bytes.
struct cell_key {
    uint32_t object, counter; // of an instruction of a block
    uint64_t low;
    size_t at; // where the cell is
};

static int compare_cells(const void *x, const void *y)
{
    const struct cell_key *a = x, *b = y;

    if (a->object != b->object)
        return a->object < b->object ? -1 : 1;
    if (a->low != b->low)
        return a->low < b->low ? -1 : 1;
    if (a->counter != b->counter)
        return a->counter < b->counter ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

// Moves each cell to its key's place, along the circles of places that this makes.
static void move_cells(struct spool_data_cell *cell, struct cell_key *key, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct spool_data_cell first = cell[i];
        size_t to = i;

        for (size_t from = key[i].at; from != i; from = key[to].at) {
            cell[to] = cell[from];
            key[to].at = to;
            to = from;
        }
        cell[to] = first;
        key[to].at = to;
    }
}

static void sort_cells(struct spool_data_cell *cell, size_t n)
{
    struct cell_key *key = xcalloc(n + 1, sizeof(*key));

    for (size_t i = 0; i < n; i++)
        key[i] = (struct cell_key){ cell[i].object, cell[i].counter, cell[i].low, i };
    qsort(key, n, sizeof(*key), compare_cells);
    move_cells(cell, key, n);
    free(key);
}

// Those that have counted; the others are taken out. They stay d's.
static void take_cells(struct spool_data_file *d, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        const struct spool_data_cell *c = &d->cell[i];

        if (!c->l1)
            continue;
        if (!c->counter || c->object >= d->objects || c->l2 > c->l1 || c->ll > c->l1 ||
            c->l1 >= FINISH_COUNT_MAX || c->low > c->first || c->first > c->high || c->high >> 47)
            d->bad++;
        else
            d->cell[kept++] = *c;
    }
    d->cells = kept;
    sort_cells(d->cell, kept);
}

// Of an object that cannot be right, nothing is known.
static void check_use(struct spool_data_file *d, const struct spool_header *h)
{
    uint64_t line = h->d1.line ? h->d1.line : 1;

    for (size_t i = 0; i < d->objects; i++) {
        struct spool_data_object *o = &d->object[i];

        if (o->fetched < FINISH_COUNT_MAX / line && o->used <= o->fetched * line &&
            (h->data.use || !o->fetched))
            continue;
        o->fetched = o->used = 0;
        d->bad++;
    }
}

// ---- Sharing ----

static void take_shares(struct spool_data_file *d, const struct spool_data_share *share, size_t n)
{
    d->shared = xcalloc(n + 1, sizeof(*d->shared));
    for (size_t i = 0; i < n; i++) {
        const struct spool_data_share *s = &share[i];

        if (!s->invalidations)
            continue;
        if (!s->touched.counter || !s->written.counter || s->touched.object >= d->objects ||
            s->written.object >= d->objects || s->invalidations >= FINISH_COUNT_MAX ||
            s->most < s->invalidations || s->most >= FINISH_COUNT_MAX)
            d->bad++;
        else
            d->shared[d->shares++].share = *s;
    }
}

// A side of an entry, found by its counter.
struct side {
    uint32_t counter;
    uint32_t number; // twice that of the entry; plus one: that which had written
};

static int compare_sides(const void *x, const void *y)
{
    const struct side *a = x, *b = y;

    if (a->counter != b->counter)
        return a->counter < b->counter ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static struct side *sides_of(const struct spool_data_file *d)
{
    struct side *side = xcalloc(2 * d->shares + 1, sizeof(*side));

    for (size_t i = 0; i < 2 * d->shares; i++) {
        const struct spool_data_share *s = &d->shared[i / 2].share;

        side[i] = (struct side){ (i % 2 ? s->written : s->touched).counter - 1, (uint32_t)i };
    }
    qsort(side, 2 * d->shares, sizeof(*side), compare_sides);
    return side;
}

static void put_sides(struct spool_data_file *d, const struct side *side, uint32_t counter,
                      uint32_t map, uint64_t pc)
{
    size_t lo = 0, hi = 2 * d->shares;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (side[mid].counter < counter)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (; lo < 2 * d->shares && side[lo].counter == counter; lo++) {
        d->shared[side[lo].number / 2].map[side[lo].number % 2] = map;
        d->shared[side[lo].number / 2].pc[side[lo].number % 2] = pc;
    }
}

// ---- Which instruction a counter is of ----

struct owner {
    const struct spool_block *block;
    uint32_t number;
    uint64_t pc;
    const struct spool_pointers *pointers;
};

// The misses that are counted at `counter` are those of an instruction.
static void put_owner(const struct spool_file *s, struct spool_data_file *d, uint32_t counter,
                      const struct owner *o, bool write)
{
    size_t lo = 0, hi = d->misses;
    uint64_t misses = counter < s->counters_used ? s->counters[counter] : 0;
    bool pointers;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (d->miss[mid].counter < counter)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == d->misses || d->miss[lo].counter != counter)
        return;
    pointers = spool_pointers_bring(o->pointers, o->block, o->number, misses);
    for (; lo < d->misses && d->miss[lo].counter == counter; lo++) {
        d->miss[lo].map = o->block->map;
        d->miss[lo].pc = o->pc;
        d->miss[lo].write = write;
        d->miss[lo].walk.pointers = pointers;
        d->miss[lo].in_all = misses;
    }
}

static void put_block(const struct spool_file *s, struct spool_data_file *d,
                      const struct spool_pointers *pointers, const struct side *side,
                      const struct spool_block *b)
{
    const struct spool_insn *in = (const struct spool_insn *)(b + 1);
    struct owner o = { .block = b, .pc = b->pc, .pointers = pointers };
    uint32_t first = b->own;

    for (; o.number < b->insns; o.number++) {
        struct spool_counters c = spool_insn_counters(in[o.number], s->h->flags);

        if (c.d1mr != ~0u) {
            put_owner(s, d, first + c.d1mr, &o, false);
            put_sides(d, side, first + c.d1mr, b->map, o.pc);
        }
        if (c.d1mw != ~0u) {
            put_owner(s, d, first + c.d1mw, &o, true);
            put_sides(d, side, first + c.d1mw, b->map, o.pc);
        }
        first += c.count;
        o.pc += in[o.number].len;
    }
}

static int compare_instructions(const void *x, const void *y)
{
    const struct spool_data_miss *a = *(struct spool_data_miss *const *)x;
    const struct spool_data_miss *b = *(struct spool_data_miss *const *)y;

    if (a->map != b->map)
        return a->map < b->map ? -1 : 1;
    if (a->pc != b->pc)
        return a->pc < b->pc ? -1 : 1;
    return a->write != b->write ? (a->write ? 1 : -1) : 0;
}

// An instruction that is in several blocks follows pointers if it does in that in which it misses
// most.
static void join_instructions(struct spool_data_file *d)
{
    struct spool_data_miss **list = xcalloc(d->misses + 1, sizeof(*list));
    size_t n;

    for (size_t i = 0; i < d->misses; i++)
        list[i] = &d->miss[i];
    qsort(list, d->misses, sizeof(*list), compare_instructions);
    for (size_t i = 0; i < d->misses; i += n) {
        const struct spool_data_miss *most = list[i];

        for (n = 1; i + n < d->misses && compare_instructions(&list[i], &list[i + n]) == 0; n++)
            if (list[i + n]->in_all > most->in_all)
                most = list[i + n];
        for (size_t k = 0; k < n; k++)
            list[i + k]->walk.pointers = most->walk.pointers;
    }
    free(list);
}

static void find_owners(const struct spool_file *s, struct spool_data_file *d,
                        const struct spool_pointers *pointers)
{
    const uint8_t other = SPOOL_B_SUM | SPOOL_B_DORMANT;
    struct side *side = sides_of(d);
    uint64_t size;

    for (uint64_t at = 0; at + sizeof(struct spool_block) <= s->blocks_used; at += size) {
        const struct spool_block *b = (const struct spool_block *)(s->blocks + at);

        size = spool_read_block_size(b);
        if (size > s->blocks_used - at || spool_read_is_empty(b))
            break;
        if (!(b->flags & other) && b->map < s->maps_used)
            put_block(s, d, pointers, side, b);
    }
    free(side);
}

int spool_data_read(const struct spool_file *s, struct spool_data_file *d)
{
    const struct spool_data *h = &s->h->data;
    struct spool_data_count *count;
    struct spool_data_flow *flow;
    struct spool_data_share *share;
    struct spool_pointers *pointers;
    struct stat st;
    uint64_t size, counts = spool_read_least(h->counts_used, SPOOL_DATA_COUNTS_MAX);
    uint64_t flows = spool_read_least(h->flows_used, SPOOL_DATA_FLOWS_MAX);
    uint64_t cells = spool_read_least(h->cells_used, SPOOL_DATA_CELLS_MAX);
    uint64_t shares = spool_read_least(h->shares_used, SPOOL_DATA_SHARES_MAX);
    int rc = 0;

    memset(d, 0, sizeof(*d));
    if (fstat(s->fd, &st) != 0)
        return -1;
    size = (uint64_t)st.st_size;
    d->objects = spool_read_least(h->objects_used, SPOOL_DATA_OBJECTS_MAX);
    d->names_used = spool_read_least(h->names_used, SPOOL_DATA_NAMES_SIZE);
    d->object = read_part(s, SPOOL_DATA_OFF, d->objects * sizeof(*d->object), size, &rc);
    d->names = read_part(s, SPOOL_DATA_OFF + SPOOL_DATA_NAMES_OFF, d->names_used, size, &rc);
    count =
        read_part(s, SPOOL_DATA_OFF + SPOOL_DATA_COUNTS_OFF, counts * sizeof(*count), size, &rc);
    flow = read_part(s, SPOOL_DATA_OFF + SPOOL_DATA_FLOWS_OFF, flows * sizeof(*flow), size, &rc);
    d->cell =
        read_part(s, SPOOL_DATA_OFF + SPOOL_DATA_CELLS_OFF, cells * sizeof(*d->cell), size, &rc);
    share =
        read_part(s, SPOOL_DATA_OFF + SPOOL_DATA_SHARES_OFF, shares * sizeof(*share), size, &rc);
    check_use(d, s->h);
    take_counts(d, count, counts);
    take_cells(d, cells);
    take_shares(d, share, shares);
    free(share);
    free(count);
    pointers = spool_pointers_new(s, flow, flows);
    find_owners(s, d, pointers);
    join_instructions(d);
    spool_pointers_free(pointers);
    free(flow);
    if (rc)
        spool_data_free(d);
    return rc;
}

void spool_data_free(struct spool_data_file *d)
{
    free(d->object);
    free(d->names);
    free(d->miss);
    free(d->cell);
    free(d->shared);
    memset(d, 0, sizeof(*d));
}

const char *spool_data_name(const struct spool_data_file *d, uint32_t offset)
{
    return offset && offset < d->names_used ? d->names + offset : NULL; // a NUL is behind them
}
