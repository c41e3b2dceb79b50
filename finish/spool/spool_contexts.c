// SPDX-License-Identifier: MIT
//
// Accounts of contexts (spool.h). A block's own counters at the end belong to the context in which
// the thread was last there: the counter `owner` of its record says which.
#include "finish/spool/spool.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"
#include "share/table.h"

struct piece {
    uint64_t first, counters, owner;
    uint32_t block;
};

struct spool_contexts {
    const struct spool_file *s;
    struct piece *piece; // by first counter
    size_t pieces;
    struct spool_account *account;
    size_t accounts, room;
    struct table table;
    uint64_t claimed; // counters of the spool that accounts use
    uint64_t bad;
};

#define NO_ACCOUNT UINT64_MAX

static uint64_t counters_of(const struct spool_file *s, const struct spool_block *b)
{
    const struct spool_insn *in = (const struct spool_insn *)(b + 1);
    uint64_t n = 1;

    for (uint32_t i = 0; i < b->insns; i++)
        n += spool_insn_counters(in[i], s->h->flags).count;
    return n;
}

// The record of a block; NULL: the spool is damaged.
static const struct spool_block *block_at(const struct spool_file *s, uint32_t block)
{
    uint64_t off = (uint64_t)block * 8;
    const struct spool_block *b;

    if (off + sizeof(*b) > s->blocks_used)
        return NULL;
    b = (const struct spool_block *)(s->blocks + off);
    return off + sizeof(*b) + b->insns * sizeof(struct spool_insn) > s->blocks_used ? NULL : b;
}

static size_t find(const struct spool_contexts *c, uint32_t block, uint32_t context)
{
    uint64_t hash = (block ^ (uint64_t)context << 32) * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = table_first(&c->table, hash >> 20);

    for (; table_used(&c->table, at); at = table_next(&c->table, at)) {
        const struct spool_account *a = &c->account[table_number(&c->table, at)];

        if (a->block == block && a->context == context)
            break;
    }
    return at;
}

static void put(struct spool_contexts *c, struct spool_account a)
{
    if (c->accounts * 2 >= c->room) {
        c->room = c->room ? c->room * 2 : 1024;
        c->account = xrealloc(c->account, c->room * sizeof(*c->account));
        free(c->table.slot);
        c->table =
            table_over(xcalloc(table_slots(c->room), sizeof(uint32_t)), table_slots(c->room));
        for (size_t i = 0; i < c->accounts; i++)
            table_put(&c->table, find(c, c->account[i].block, c->account[i].context), (uint32_t)i);
    }
    c->account[c->accounts] = a;
    table_put(&c->table, find(c, a.block, a.context), (uint32_t)c->accounts++);
}

static int compare_pieces(const void *x, const void *y)
{
    const struct piece *a = x, *b = y;

    return a->first < b->first ? -1 : a->first > b->first;
}

// No counter belongs to two pieces.
static void drop_overlapping(struct spool_contexts *c)
{
    uint64_t end = 0;
    size_t n = 0;

    for (size_t i = 0; i < c->pieces; i++) {
        if (c->piece[i].first < end) {
            c->bad++;
            continue;
        }
        end = c->piece[i].first + c->piece[i].counters;
        c->piece[n++] = c->piece[i];
    }
    c->pieces = n;
}

struct spool_contexts *spool_contexts_new(const struct spool_file *s)
{
    struct spool_contexts *c = xcalloc(1, sizeof(*c));

    c->s = s;
    c->piece = xmalloc((s->edges_used + 1) * sizeof(*c->piece));
    for (uint64_t i = 0; i < s->edges_used; i++) {
        const struct spool_edge *e = &s->edges[i];
        const struct spool_block *b = block_at(s, (uint32_t)e->target);
        uint64_t n;

        if ((e->kind != SPOOL_EDGE_PIECE && e->kind != SPOOL_EDGE_ACCOUNT) || !b)
            continue;
        n = counters_of(s, b);
        if (e->kind == SPOOL_EDGE_PIECE && b->counter + n <= s->counters_used &&
            e->to < s->counters_used)
            c->piece[c->pieces++] = (struct piece){ b->counter, n, e->to, (uint32_t)e->target };
        if (e->kind != SPOOL_EDGE_ACCOUNT || e->counter + n > s->counters_used)
            continue;
        // Nor to two accounts: together they have no more than there are, so that a walk over them
        // ends.
        if (n > s->counters_used - c->claimed) {
            c->bad++;
            continue;
        }
        c->claimed += n;
        put(c, (struct spool_account){ (uint32_t)e->target, e->to, e->counter });
    }
    qsort(c->piece, c->pieces, sizeof(*c->piece), compare_pieces);
    drop_overlapping(c);
    return c;
}

// Where the sums of an account begin; makes a new one if needed. NO_ACCOUNT: there are more than
// any program has.
static uint64_t account(struct spool_contexts *c, uint32_t block, uint32_t context,
                        uint64_t counters, uint64_t **sum, uint64_t *n)
{
    size_t at;

    if (c->accounts) {
        at = find(c, block, context);
        if (table_used(&c->table, at))
            return c->account[table_number(&c->table, at)].counter;
    }
    if (*n + counters > SPOOL_COUNTERS_MAX + c->s->counters_used) {
        c->bad++;
        return NO_ACCOUNT;
    }
    put(c, (struct spool_account){ block, context, *n });
    *sum = xrealloc(*sum, (*n + counters) * sizeof(**sum));
    memset(*sum + *n, 0, counters * sizeof(**sum));
    *n += counters;
    return *n - counters;
}

void spool_contexts_add(struct spool_contexts *c, const uint64_t *slot, uint64_t **sum, uint64_t *n)
{
    uint64_t at = 0;

    for (size_t i = 0; i <= c->pieces; i++) {
        const struct piece *p = &c->piece[i];
        uint64_t end = i < c->pieces ? p->first : c->s->counters_used, any = 0, to;

        for (; at < end; at++)
            (*sum)[at] += slot[at];
        if (i == c->pieces)
            break;
        at = p->first + p->counters;
        for (uint64_t k = 0; k < p->counters; k++)
            any |= slot[p->first + k];
        if (!any)
            continue;
        to = account(c, p->block, (uint32_t)slot[p->owner], p->counters, sum, n);
        for (uint64_t k = 0; to != NO_ACCOUNT && k < p->counters; k++)
            (*sum)[to + k] += slot[p->first + k];
    }
}

static int compare_accounts(const void *x, const void *y)
{
    const struct spool_account *a = x, *b = y;

    if (a->block != b->block)
        return a->block < b->block ? -1 : 1;
    return a->context < b->context ? -1 : a->context > b->context;
}

struct spool_account *spool_contexts_end(struct spool_contexts *c, uint64_t **sum, uint64_t *n,
                                         size_t *count, uint64_t *bad)
{
    struct spool_account *all;

    for (uint64_t i = 0; i < c->s->partial_used; i++) {
        const struct spool_partial *p = &c->s->partial[i];
        const struct spool_block *b = block_at(c->s, p->block);

        if (b)
            account(c, p->block, p->context, counters_of(c->s, b), sum, n);
    }
    all = c->account;
    *count = c->accounts;
    *bad = c->bad;
    if (all)
        qsort(all, c->accounts, sizeof(*all), compare_accounts);
    free(c->piece);
    free(c->table.slot);
    free(c);
    return all;
}
