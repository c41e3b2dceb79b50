// SPDX-License-Identifier: MIT
// Ranges of addresses and their objects (ranges.h).
#include "engine/objects/ranges.h"

#include "engine/base/heap.h"
#include "engine/objects/granules.h"
#include "engine/objects/pages.h"

// ---- Nodes ----

struct node {
    u64 start, end, born;
    u32 left, right; // 0: none
    u32 object, who;
};

_Static_assert(sizeof(struct node) == 40, "one for each live block that is not small");

// In pieces that never move: another process may be reading.
#define PIECE_BITS 16u
#define PIECES     8192u
#define STEPS      256u // of a look-up; the depth of a treap of 10 million is about 60

static struct {
    struct node *piece[PIECES];
    u32 used; // nodes; the first is unused
    u32 free; // list by `left`
} nodes;

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
static u32 node_new(u64 start, u64 end, u64 born, u32 object, u32 who)
{
    u32 i = nodes.free;

    if (i) {
        nodes.free = node_at(i)->left;
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

static void node_free(u32 i)
{
    node_at(i)->end = 0;
    node_at(i)->left = nodes.free;
    nodes.free = i;
}

// ---- What is gone ----

// log2 of the sizes of levels: 64 bytes, where most are, 256, 4 KiB, 64 KiB, ...
#define LEVEL(level) ((level) ? 4 + 4 * (level) : 6)
#define BUCKETS      0x10000u // at most
#define GONE_FIRST   0x1000u  // places at first
#define GONE_STEPS   16u      // before a search by halves
#define GONE_AHEAD   4u       // places whose contents are on their way into the host's cache

#define GONE_BITS   48u // of a number
#define GONE_NUMBER ((1ul << GONE_BITS) - 1)

struct gone {
    u64 start, end, born, died;
    u64 next : GONE_BITS, set : 16; // next: in its bucket, by the number of those ever added
    u32 object, who;
};

const struct ranges_watch *ranges_watch;
u64 (*ranges_asked)(void);

static struct {
    struct gone *ring;
    u64 *bucket; // the last one's number
    u64 count;   // that were ever added
    u64 first;   // number of the first that is not forgotten
    u64 ask;     // not before this number: a thread that waits for long holds all of them
    u32 room;    // places of the ring; those that are used fit into the host's caches
    u32 buckets; // twice as many, if there are
    u64 last;    // time of the last one
    u64 since;   // number of the first one that died after the time that was asked for last
} gone;

static u32 level_of(u64 bytes)
{
    u32 level = 0;

    while (level + 1 < RANGES_LEVELS && bytes > 1ul << LEVEL(level))
        level++;
    return level;
}

static u32 bucket_of(u64 cell, u32 level)
{
    return (u32)((cell ^ (u64)level << 56) * 0x9e3779b97f4a7c15ul >> 48) & (gone.buckets - 1);
}

static u64 cell_of(u64 addr, u32 level)
{
    return addr >> LEVEL(level);
}

// By its number, from 1 on. NULL: it is forgotten, and so are those before it.
static struct gone *gone_at(u64 number)
{
    return number >= gone.first && number <= gone.count ? &gone.ring[number % gone.room] : NULL;
}

static u64 first_after(u64 at);

static void forget_before(u64 number)
{
    for (; gone.first < number; gone.first++) {
        const struct gone *g = &gone.ring[gone.first % gone.room];

        if (!g->set && ranges_watch)
            ranges_watch->forgotten(g->start, g->end, g->born, g->who);
    }
}

static void into_bucket(u64 number)
{
    struct gone *g = &gone.ring[number % gone.room];
    u32 level = level_of(g->end - g->start);
    u64 *bucket = &gone.bucket[bucket_of(cell_of(g->start, level), level)];

    g->next = *bucket & GONE_NUMBER;
    *bucket = number;
}

static void enlarge(u32 room)
{
    u32 before = gone.room;

    gone.room = room;
    gone.buckets = 2 * room < BUCKETS ? 2 * room : BUCKETS;
    for (u64 n = gone.first; n <= gone.count; n++)
        if (n % room != n % before)
            gone.ring[n % room] = gone.ring[n % before];
    for (u32 i = 0; i < gone.buckets; i++)
        gone.bucket[i] = 0;
    for (u64 n = gone.first; n <= gone.count; n++)
        into_bucket(n);
}

// All places are used. What died by the time of the earliest reference that is not simulated yet is
// forgotten; if that is not half of them, there are twice as many places.
static __attribute__((noinline)) void make_room(void)
{
    if (ranges_asked && gone.count >= gone.ask) {
        forget_before(first_after(ranges_asked()));
        gone.ask = gone.count + gone.room / 16;
    }
    if (gone.count + 1 - gone.first <= gone.room / 2)
        return;
    if (gone.room < RANGES_GONE)
        enlarge(2 * gone.room);
    else if (gone.count + 1 - gone.first == gone.room)
        forget_before(gone.first + 1);
}

// A block is there from the call on that makes it: what it replaces is gone since earlier than
// others that are gone already. It is called later: the new one is found instead.
static void gone_add(struct ranges *r, const struct node *n, u64 start, u64 end, u64 now)
{
    u64 died = now > gone.last ? now : gone.last, number = gone.count + 1;
    struct gone *g;

    if (r->forgets)
        return;
    if (UNLIKELY(number - gone.first == gone.room))
        make_room();
    g = &gone.ring[number % gone.room];
    gone.count = number;
    __builtin_prefetch(&gone.ring[(number + GONE_AHEAD) % gone.room], 1);
    *g = (struct gone){ start, end, n->born, died, 0, (u16)r->set, n->object, n->who };
    if (start != n->start)
        g->who |= RANGES_PART;
    if (!r->set && ranges_watch)
        ranges_watch->gone(n->object, end - start, !(g->who & RANGES_PART));
    into_bucket(number);
    r->last[level_of(end - start)] = gone.last = died;
}

// Whether number n is one of those that died after a time. They have died in the order of numbers.
static bool died_after(u64 n, u64 at)
{
    return gone.ring[n % gone.room].died > at;
}

// The first that did; one more than there are if none did. Times of one thread only grow, so it is
// mostly the same one again, or a few further, which the host's cache has: that is tried first.
static u64 first_after(u64 at)
{
    u64 low = gone.first, high = gone.count + 1;
    u64 n = gone.since;

    if (n >= low && n <= high && (n == low || !died_after(n - 1, at))) {
        for (u32 i = 0; i < GONE_STEPS && n < high && !died_after(n, at); i++)
            n++;
        if (n == high || died_after(n, at))
            return gone.since = n;
        low = n;
    }
    while (low < high) {
        n = low + (high - low) / 2;
        if (died_after(n, at))
            high = n;
        else
            low = n + 1;
    }
    return gone.since = low;
}

// Of those with numbers from `first` on. The last one that was added is the first.
static struct gone *gone_in(const struct ranges *r, u32 bucket, u64 addr, u64 at, u64 first)
{
    u64 n = gone.bucket[bucket];

    for (u32 steps = 0; n >= first && steps < RANGES_GONE; steps++) {
        struct gone *g = gone_at(n);

        if (!g)
            break;
        if (g->set == r->set && addr >= g->start && addr < g->end && g->born <= at)
            return g;
        n = g->next;
    }
    return NULL;
}

static struct gone *gone_find(const struct ranges *r, u64 addr, u64 at)
{
    u64 first = first_after(at);
    struct gone *g = NULL;

    for (u32 level = 0; level < RANGES_LEVELS && !g; level++) {
        u64 cell = cell_of(addr, level);

        if (r->last[level] <= at)
            continue;
        g = gone_in(r, bucket_of(cell, level), addr, at, first);
        if (!g && cell)
            g = gone_in(r, bucket_of(cell - 1, level), addr, at, first);
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
    u32 found = 0, steps = 0;

    for (u32 t = r->root; t && t < nodes.used && steps < STEPS; steps++) {
        if (node_at(t)->start <= addr) {
            found = t;
            t = node_at(t)->right;
        } else {
            t = node_at(t)->left;
        }
    }
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
        node_free(t);
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
            merge(node_new(end, n->end, n->born, n->object, n->who | RANGES_PART), *after, after);
        n->end = start;
    }
    last = last_of(middle);
    n = last ? node_at(last) : NULL;
    if (n && n->end > end) {
        say_cut(r, n);
        merge(node_new(end, n->end, n->born, n->object, n->who | RANGES_PART), *after, after);
    }
    drop(r, middle, end, now);
}

void ranges_init(void)
{
    nodes.piece[0] = heap_pages(sizeof(struct node) << PIECE_BITS);
    nodes.used = 1;
    gone.ring = heap_pages(RANGES_GONE * sizeof(*gone.ring));
    gone.bucket = heap_pages(BUCKETS * sizeof(*gone.bucket));
    gone.first = 1;
    gone.room = GONE_FIRST;
    gone.buckets = 2 * GONE_FIRST;
    granules_init();
}

// The usual cases: nothing is at the new range; a whole range is cleared.

// Inserts node i if nothing is at its range. One way down for both: its place is above the first
// node on it that has a lower rank.
static bool insert(struct ranges *r, u32 i)
{
    u64 start = node_at(i)->start, end = node_at(i)->end;
    u32 *at = &r->root, *place = NULL, before = 0, below_it;

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
    node_free(i);
    return true;
}

// ---- Small ranges ----

// Whether the treap has something in [start, end).
static bool treap_has(const struct ranges *r, u64 start, u64 end)
{
    u32 i = below(r, end - 1);

    return i && node_at(i)->end > start;
}

// Whether the treap has nothing in the page of addr. One answer serves until another range comes.
static bool is_alone(const struct ranges *r, u64 addr)
{
    u64 page = addr & -(u64)PAGE_SIZE;

    if (granules_alone(addr))
        return true;
    if (treap_has(r, page, page + PAGE_SIZE))
        return false;
    granules_are_alone(addr);
    return true;
}

// Whether the treap has something in [start, end), which is not empty.
static bool others_at(const struct ranges *r, u64 start, u64 end)
{
    if (r->granules && end - start <= PAGE_SIZE && is_alone(r, start) && is_alone(r, end - 1))
        return false;
    return treap_has(r, start, end);
}

// Into the treap.
static void put_other(struct ranges *r, u64 start, u64 end, u64 born, u32 object, u32 who)
{
    u32 before, after, i = node_new(start, end, born, object, who);

    if (r->granules)
        granules_other(start, end);
    if (i && insert(r, i))
        return;
    cut(r, start, end, born, &before, &after);
    merge(before, i, &before);
    merge(before, after, &r->root);
}

static void clear_others(struct ranges *r, u64 start, u64 end, u64 now)
{
    u32 before, after;

    if (!others_at(r, start, end) || take_whole(r, start, end, now))
        return;
    cut(r, start, end, now, &before, &after);
    merge(before, after, &r->root);
}

static void put_piece(struct ranges *r, const struct node *of, u64 start, u64 end)
{
    u32 who = start != of->start ? of->who | RANGES_PART : of->who;

    if (start < end && !granules_put(start, end, of->born, of->object, who))
        put_other(r, start, end, of->born, of->object, who);
}

// Takes the small ones out of [start, end).
static void cut_small(struct ranges *r, u64 start, u64 end, u64 now)
{
    struct granules_range *g;

    for (u64 at = start; at < end && (g = granules_first(at, end));) {
        struct node n = { .start = granules_start(g),
                          .end = granules_end(g),
                          .born = g->born,
                          .object = g->object,
                          .who = g->who };
        u64 from = n.start < start ? start : n.start, to = n.end < end ? n.end : end;

        granules_remove(g);
        if (from != n.start || to != n.end)
            say_cut(r, &n);
        gone_add(r, &n, from, to, now);
        put_piece(r, &n, n.start, from);
        put_piece(r, &n, to, n.end);
        at = to;
    }
}

// ---- Changes ----

void ranges_put(struct ranges *r, u64 start, u64 end, u32 object, u64 now, u32 who)
{
    if (start >= end)
        return;
    if (!r->forgets)
        pages_changed(start, end, now);
    if ((end - 1) / RANGES_LINE - start / RANGES_LINE >= RANGES_LINES)
        who |= RANGES_LARGE;
    if (r->granules)
        cut_small(r, start, end, now);
    if (r->granules && end - start <= GRANULES_MOST) {
        clear_others(r, start, end, now);
        if (granules_put(start, end, now, object, who))
            return;
    }
    put_other(r, start, end, now, object, who);
}

void ranges_clear(struct ranges *r, u64 start, u64 end, u64 now)
{
    if (start >= end)
        return;
    if (!r->forgets)
        pages_changed(start, end, now);
    if (r->granules)
        cut_small(r, start, end, now);
    clear_others(r, start, end, now);
}

// ---- Look-ups ----

// What is at addr at present.
struct here {
    u64 start, end, born;
    u32 object, *who;
};

static bool look(const struct ranges *r, u64 addr, struct here *h)
{
    struct granules_range *g = r->granules ? granules_find(addr) : NULL;
    struct node *n;
    u32 i;

    if (g) {
        *h = (struct here){ granules_start(g), granules_end(g), g->born, g->object, &g->who };
        return true;
    }
    if (r->granules && (granules_has(addr) ? is_alone(r, addr) : granules_alone(addr)))
        return false;
    i = below(r, addr);
    n = node_at(i);
    if (!i || n->end <= addr)
        return false;
    *h = (struct here){ n->start, n->end, n->born, n->object, &n->who };
    return true;
}

bool ranges_now(const struct ranges *r, u64 addr, struct ranges_range *out)
{
    struct here h;

    if (!look(r, addr, &h))
        return false;
    *out = (struct ranges_range){ h.start, h.end, h.born, h.object,
                                  *h.who & (RANGES_NOBODY | RANGES_PART) };
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
    struct granules_range *g = r->granules ? granules_find(addr) : NULL;
    u32 steps = 0;

    if (g) {
        ranges_narrow(span, granules_start(g), granules_end(g));
        return;
    }
    for (u32 t = r->root; t && t < nodes.used && steps < STEPS; steps++) {
        const struct node *n = node_at(t);

        if (n->start > addr) {
            ranges_narrow(span, 0, n->start);
            t = n->left;
        } else if (n->end > addr) {
            ranges_narrow(span, n->start, n->end);
            return;
        } else {
            ranges_narrow(span, n->end, ~0ul);
            t = n->right;
        }
    }
    if (r->granules && granules_has(addr)) // a page with small ones
        ranges_narrow(span, addr, addr + 1);
    else if (r->granules)
        ranges_narrow(span, addr & -(u64)PAGE_SIZE, (addr | (PAGE_SIZE - 1)) + 1);
}

static u32 found(struct found *out, u32 object, u64 start, u64 end, u64 born, u32 *who)
{
    if (out)
        *out = (struct found){ object, *who & RANGES_PART ? FOUND_UNKNOWN : start, end, born, who,
                               false };
    return object;
}

static u32 found_here(struct found *out, const struct here *h)
{
    return found(out, h->object, h->start, h->end, h->born, h->who);
}

u32 ranges_find(const struct ranges *r, u64 addr, u64 at, u32 who, struct found *out)
{
    struct here h;
    bool is_here = look(r, addr, &h);
    struct gone *g;

    if (is_here && (h.born <= at || r->present))
        return found_here(out, &h);
    // What is noted as gone is noted as not gone before what was noted earlier, which may be a
    // mapping: these change at once, where blocks change when their records are replayed.
    g = r->present ? NULL : gone_find(r, addr, at);
    if (g)
        return found(out, g->object, g->start, g->end, g->born, &g->who);
    if (is_here && !r->present && (*h.who & RANGES_NOBODY) != who)
        return found_here(out, &h);
    if (out)
        *out = (struct found){ .start = FOUND_UNKNOWN };
    return 0;
}
