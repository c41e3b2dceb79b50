// SPDX-License-Identifier: MIT
// Ranges of addresses and their objects (ranges.h).
#include "engine/objects/ranges.h"

#include "engine/base/heap.h"
#include "engine/objects/pages.h"

// ---- Nodes ----

struct node {
    u64 start, end, born;
    u32 left, right; // 0: none
    u32 object, who;
};

_Static_assert(sizeof(struct node) == 40, "one for each live block");

// In pieces that never move: another process may be reading.
#define PIECE_BITS 16u
#define PIECES     8192u
#define STEPS      256u // of a look-up; the depth of a treap of 10 million is about 60

static struct {
    struct node *piece[PIECES];
    u32 used;    // nodes; the first is unused
    u32 free[2]; // lists by `left`: of nodes of set 0, of others
} nodes;

// The nodes of set 0 that were found last, by address: most of those that are looked for are among
// them. What is found is compared: a free node has no addresses, and a node of set 0 is no other
// set's later.
#define FOUND_CELL 6u // log2 of bytes
#define FOUND_LAST 0x80000u
#define FOUND_MANY 1024u // nodes; of fewer, all on a way down are in the host's caches

static u32 *found_last; // NULL: none are kept

static struct node *node_at(u32 i)
{
    return &nodes.piece[i >> PIECE_BITS][i & ((1u << PIECE_BITS) - 1)];
}

// A node's rank is above those of its children. Numbers are given in the order of addresses as
// often as not: ranks are not.
static u32 node_rank(u32 i)
{
    return (u32)((i * 0x9e3779b97f4a7c15ul ^ 0x5bd1e995) * 0xff51afd7ed558ccdul >> 32);
}

// 0: there are too many.
static u32 node_new(const struct ranges *r, u64 start, u64 end, u64 born, u32 object, u32 who)
{
    u32 *free = &nodes.free[r->set != 0], i = *free;

    if (i) {
        *free = node_at(i)->left;
    } else {
        i = nodes.used;
        if (i >> PIECE_BITS >= PIECES)
            return 0;
        if (!nodes.piece[i >> PIECE_BITS])
            nodes.piece[i >> PIECE_BITS] = heap_pages(sizeof(struct node) << PIECE_BITS);
        nodes.used++;
    }
    *node_at(i) = (struct node){ start, end, born, 0, 0, object, who };
    return i;
}

static void node_free(const struct ranges *r, u32 i)
{
    u32 *free = &nodes.free[r->set != 0];

    node_at(i)->end = 0;
    node_at(i)->left = *free;
    *free = i;
}

static u32 *found_at(u64 addr)
{
    return &found_last[(addr >> FOUND_CELL ^ addr >> 26) % FOUND_LAST];
}

static void keep(const struct ranges *r, u32 i, u64 addr)
{
    if (found_last && !r->set && nodes.used >= FOUND_MANY)
        *found_at(addr) = i;
}

// 0: not known.
static u32 kept(const struct ranges *r, u64 addr)
{
    u32 i = found_last && !r->set && nodes.used >= FOUND_MANY ? *found_at(addr) : 0;

    if (!i || i >= nodes.used || node_at(i)->start > addr || node_at(i)->end <= addr)
        return 0;
    return i;
}

// ---- What is gone ----

#define FIRST   8u // log2 of the smallest size
#define BUCKETS 0x10000u

struct gone {
    u64 start, end, born, died;
    u32 object, set;
    u32 next, before; // in its bucket, plus one
    u32 bucket, who;
};

const struct ranges_watch *ranges_watch;

static struct {
    struct gone *ring;
    u32 *bucket;
    u64 count; // that were ever added; the next one's place
    u64 last;  // time of the last one
} gone;

static u32 level_of(u64 bytes)
{
    u32 level = 0;

    while (level + 1 < RANGES_LEVELS && bytes > 1ul << (FIRST + 4 * level))
        level++;
    return level;
}

static u32 bucket_of(u64 cell, u32 level)
{
    return (u32)((cell ^ (u64)level << 56) * 0x9e3779b97f4a7c15ul >> 48) & (BUCKETS - 1);
}

static u64 cell_of(u64 addr, u32 level)
{
    return addr >> (FIRST + 4 * level);
}

static void gone_forget(struct gone *g)
{
    if (g->before)
        gone.ring[g->before - 1].next = g->next;
    else
        gone.bucket[g->bucket] = g->next;
    if (g->next)
        gone.ring[g->next - 1].before = g->before;
}

// A block is there from the call on that makes it: what it replaces is gone since earlier than
// others that are gone already. It is called later: the new one is found instead.
static void gone_add(struct ranges *r, const struct node *n, u64 start, u64 end, u64 now)
{
    u32 place = (u32)(gone.count % RANGES_GONE), level = level_of(end - start);
    struct gone *g = &gone.ring[place];
    u64 died = now > gone.last ? now : gone.last;

    if (r->forgets)
        return;
    if (gone.count++ >= RANGES_GONE) {
        gone_forget(g);
        if (!g->set && ranges_watch)
            ranges_watch->forgotten(g->start, g->end, g->born, g->who);
    }
    *g = (struct gone){ start, end, n->born, died, n->object, r->set, 0, 0, 0, n->who };
    if (start != n->start)
        g->who |= RANGES_PART;
    if (!r->set && ranges_watch)
        ranges_watch->gone(n->object, end - start, !(g->who & RANGES_PART));
    g->bucket = bucket_of(cell_of(start, level), level);
    g->next = gone.bucket[g->bucket];
    if (g->next)
        gone.ring[g->next - 1].before = place + 1;
    gone.bucket[g->bucket] = place + 1;
    r->last[level] = gone.last = died;
}

// The last one that was added is the first: behind one that was gone by then there is none that was
// not.
static struct gone *gone_in(const struct ranges *r, u32 bucket, u64 addr, u64 at)
{
    u32 steps = 0;

    for (u32 i = gone.bucket[bucket]; i && i <= RANGES_GONE && steps < RANGES_GONE;
         i = gone.ring[i - 1].next, steps++) {
        struct gone *g = &gone.ring[i - 1];

        if (g->died <= at)
            break;
        if (g->set == r->set && addr >= g->start && addr < g->end && g->born <= at)
            return g;
    }
    return NULL;
}

static struct gone *gone_find(const struct ranges *r, u64 addr, u64 at)
{
    struct gone *g = NULL;

    for (u32 level = 0; level < RANGES_LEVELS && !g; level++) {
        u64 cell = cell_of(addr, level);

        if (r->last[level] <= at)
            continue;
        g = gone_in(r, bucket_of(cell, level), addr, at);
        if (!g && cell)
            g = gone_in(r, bucket_of(cell - 1, level), addr, at);
    }
    return g;
}

// ---- The treap ----

// l gets what starts below the key, r the rest.
static void split(u32 t, u64 key, u32 *l, u32 *r)
{
    while (t) {
        if (node_at(t)->start < key) {
            *l = t;
            l = &node_at(t)->right;
            t = *l;
        } else {
            *r = t;
            r = &node_at(t)->left;
            t = *r;
        }
    }
    *l = *r = 0;
}

// All of a starts below all of b.
static void merge(u32 a, u32 b, u32 *to)
{
    while (a && b) {
        if (node_rank(a) > node_rank(b)) {
            *to = a;
            to = &node_at(a)->right;
            a = *to;
        } else {
            *to = b;
            to = &node_at(b)->left;
            b = *to;
        }
    }
    *to = a ? a : b;
}

// The last one that starts at or below addr.
static u32 below(const struct ranges *r, u64 addr)
{
    u32 found = kept(r, addr), steps = 0;

    if (found)
        return found;
    for (u32 t = r->root; t && t < nodes.used && steps < STEPS; steps++) {
        if (node_at(t)->start <= addr) {
            found = t;
            t = node_at(t)->right;
        } else {
            t = node_at(t)->left;
        }
    }
    if (found && node_at(found)->end > addr)
        keep(r, found, addr);
    return found;
}

static u32 last_of(u32 t)
{
    while (t && node_at(t)->right)
        t = node_at(t)->right;
    return t;
}

// Frees a tree whose ranges are gone; what they have beyond `end` stays.
static void drop(struct ranges *r, u32 t, u64 end, u64 now)
{
    while (t) {
        struct node *n = node_at(t);
        u32 left = n->left, right = n->right;

        if (left) { // rotates until there is none: no stack is needed
            n->left = node_at(left)->right;
            node_at(left)->right = t;
            t = left;
            continue;
        }
        gone_add(r, n, n->start, n->end < end ? n->end : end, now);
        node_free(r, t);
        t = right;
    }
}

static void say_cut(const struct ranges *r, const struct node *n)
{
    if (!r->set && ranges_watch && !(n->who & RANGES_PART))
        ranges_watch->cut(n->start, n->end, n->born);
}

// Takes [start, end) out of r, in two trees of what is before and after it.
static void cut(struct ranges *r, u64 start, u64 end, u64 now, u32 *before, u32 *after)
{
    u32 middle, rest, last;
    struct node *n;

    split(r->root, start, before, &rest);
    split(rest, end, &middle, after);
    last = last_of(*before);
    n = last ? node_at(last) : NULL;
    if (n && n->end > start) {
        say_cut(r, n);
        gone_add(r, n, start, n->end < end ? n->end : end, now);
        if (n->end > end)
            merge(node_new(r, end, n->end, n->born, n->object, n->who | RANGES_PART), *after,
                  after);
        n->end = start;
    }
    last = last_of(middle);
    n = last ? node_at(last) : NULL;
    if (n && n->end > end) {
        say_cut(r, n);
        merge(node_new(r, end, n->end, n->born, n->object, n->who | RANGES_PART), *after, after);
    }
    drop(r, middle, end, now);
}

void ranges_init(void)
{
    nodes.piece[0] = heap_pages(sizeof(struct node) << PIECE_BITS);
    nodes.used = 1;
    gone.ring = heap_pages(RANGES_GONE * sizeof(*gone.ring));
    gone.bucket = heap_pages(BUCKETS * sizeof(*gone.bucket));
}

void ranges_remember(void)
{
    found_last = heap_pages(FOUND_LAST * sizeof(*found_last));
}

// The usual cases: nothing is at the new range; a whole range is cleared.

// Inserts node i if nothing is at its range. One way down for both: its place is above the first
// node on it that has a lower rank.
static bool insert(struct ranges *r, u32 i)
{
    u64 start = node_at(i)->start, end = node_at(i)->end;
    u32 *at = &r->root, *place = NULL, before = 0, below_it;

    if (kept(r, start) || kept(r, end - 1))
        return false;
    for (u32 rank = node_rank(i); *at;) {
        u32 t = *at;

        if (!place && node_rank(t) < rank)
            place = at;
        if (node_at(t)->start < end) {
            before = t;
            at = &node_at(t)->right;
        } else {
            at = &node_at(t)->left;
        }
    }
    if (before && node_at(before)->end > start)
        return false;
    if (!place)
        place = at;
    below_it = *place;
    *place = i;
    split(below_it, start, &node_at(i)->left, &node_at(i)->right);
    keep(r, i, start);
    return true;
}

static bool take_whole(struct ranges *r, u64 start, u64 end, u64 now)
{
    u32 *at = &r->root, i = below(r, start);
    struct node *n = node_at(i);

    if (!i || n->start != start || n->end != end)
        return false;
    while (*at != i)
        at = node_at(*at)->start < start ? &node_at(*at)->right : &node_at(*at)->left;
    merge(n->left, n->right, at);
    gone_add(r, n, start, end, now);
    node_free(r, i);
    return true;
}

void ranges_put(struct ranges *r, u64 start, u64 end, u32 object, u64 now, u32 who)
{
    u32 before, after, i;

    if (start >= end)
        return;
    if (!r->forgets)
        pages_changed(start, end, now);
    if ((end - 1) / RANGES_LINE - start / RANGES_LINE >= RANGES_LINES)
        who |= RANGES_LARGE;
    i = node_new(r, start, end, now, object, who);
    if (i && insert(r, i))
        return;
    cut(r, start, end, now, &before, &after);
    merge(before, i, &before);
    merge(before, after, &r->root);
}

void ranges_clear(struct ranges *r, u64 start, u64 end, u64 now)
{
    u32 before, after;

    if (start >= end)
        return;
    if (!r->forgets)
        pages_changed(start, end, now);
    if (take_whole(r, start, end, now))
        return;
    cut(r, start, end, now, &before, &after);
    merge(before, after, &r->root);
}

bool ranges_now(const struct ranges *r, u64 addr, struct ranges_range *out)
{
    u32 t = below(r, addr);
    const struct node *n = node_at(t);

    if (!t || n->end <= addr)
        return false;
    *out = (struct ranges_range){ n->start, n->end, n->born, n->object,
                                  n->who & (RANGES_NOBODY | RANGES_PART) };
    return true;
}

bool ranges_next(const struct ranges *r, u64 addr, struct ranges_range *out)
{
    u32 next = 0, steps = 0;

    if (ranges_now(r, addr, out))
        return true;
    for (u32 t = r->root; t && t < nodes.used && steps < STEPS; steps++) {
        if (node_at(t)->start > addr) {
            next = t;
            t = node_at(t)->left;
        } else {
            t = node_at(t)->right;
        }
    }
    return next && ranges_now(r, node_at(next)->start, out);
}

void ranges_span(const struct ranges *r, u64 addr, struct ranges_span *span)
{
    u32 steps = 0;

    for (u32 t = r->root; t && t < nodes.used && steps < STEPS; steps++) {
        const struct node *n = node_at(t);

        if (n->start > addr) {
            ranges_narrow(span, 0, n->start);
            t = n->left;
        } else if (n->end > addr) {
            ranges_narrow(span, n->start, n->end);
            t = n->right;
        } else {
            ranges_narrow(span, n->end, ~0ul);
            t = n->right;
        }
    }
}

static u32 found(struct found *out, u32 object, u64 start, u64 end, u64 born, u32 *who)
{
    if (out)
        *out = (struct found){ object, *who & RANGES_PART ? FOUND_UNKNOWN : start, end, born, who,
                               false };
    return object;
}

static u32 found_node(struct found *out, struct node *n)
{
    return found(out, n->object, n->start, n->end, n->born, &n->who);
}

u32 ranges_find(const struct ranges *r, u64 addr, u64 at, u32 who, struct found *out)
{
    u32 i = below(r, addr);
    struct node *n = i && node_at(i)->end > addr ? node_at(i) : NULL;
    struct gone *g;

    if (n && n->born <= at)
        return found_node(out, n);
    g = gone_find(r, addr, at);
    if (g)
        return found(out, g->object, g->start, g->end, g->born, &g->who);
    if (n && (n->who & RANGES_NOBODY) != who)
        return found_node(out, n);
    if (out)
        *out = (struct found){ .start = FOUND_UNKNOWN };
    return 0;
}
