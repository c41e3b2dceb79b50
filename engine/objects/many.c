// SPDX-License-Identifier: MIT
// Misses that wait for their objects (many.h). Most are in a page that is in one object, and of a
// pair of an instruction and an object that has missed lately: these take no search at all. Others
// are counted in steps, so that the host's misses of one overlap with those of others: which
// object, where its counts are noted, the counts.
//
// Before, each took the lock, whose atomic instructions wait for all stores before, and three
// searches (docs/design/090-data-objects.md).
#include "engine/objects/many.h"

#include "engine/callgraph/frames.h"
#include "engine/objects/alloc.h"
#include "engine/objects/cells.h"
#include "engine/objects/found.h"
#include "engine/objects/granules.h"
#include "engine/objects/lifetimes.h"
#include "engine/objects/lineuse.h"
#include "engine/objects/objects.h"
#include "engine/objects/objtable.h"
#include "engine/objects/pages.h"
#include "engine/objects/walks.h"
#include "engine/spool/insnids.h"
#include "engine/spool/spooler.h"
#include "engine/thread/threads.h"

#define MISSES 16u // that are counted in steps
#define CHUNK  64u // under one lock, if another thread waits for it
#define AHEAD  16u // references whose pages are on their way into the host's cache

bool many_wait;
u32 many_fetch;

struct one {
    struct cells_miss miss;
    struct cells_at at;
    struct found found;
    struct objtable_pair *pair;
    struct many_ref *ref;
    bool block;
};

static void look_for(const struct thread *t, u64 at, struct one *o)
{
    struct cells_miss *miss = &o->miss;

    o->block = objects_find(t, at, miss, &o->found);
    o->pair = objtable_pair(miss->counter, miss->object);
    cells_place(miss, &o->at);
}

static bool is_known(const struct one *o)
{
    return objtable_is_pair(o->pair, o->miss.counter, o->miss.object);
}

// Whether it is in the cell of the pair's last miss, or in none.
static bool has_cell(const struct one *o)
{
    if (!o->at.counter)
        return true;
    return o->pair->cell.counter == o->at.counter && o->pair->cell.key == o->at.key;
}

// What is not known of it begins to be loaded: first where it is noted, then itself.
static void prefetch(const struct one *o, bool noted)
{
    bool known = is_known(o);

    if (!known && noted)
        objtable_prefetch_count(o->miss.counter, o->miss.object);
    else if (!known)
        objtable_prefetch(o->miss.counter, o->miss.object);
    if (known && has_cell(o))
        return;
    if (noted)
        cells_prefetch_cell(&o->at);
    else
        cells_prefetch(&o->at);
}

// Of a large block the first bytes have cells of their own: all of it stays the pair's last.
static bool is_aside(const struct cells_kept *k, u64 key)
{
    return k->counter && k->key == CELLS_WHOLE && key != CELLS_WHOLE;
}

static void add_cell(const struct one *o)
{
    struct cells_kept *k = &o->pair->cell;

    if (is_aside(k, o->at.key)) {
        cells_count(&o->miss);
        return;
    }
    if (!has_cell(o))
        cells_keep(k, &o->at);
    if (k->counter)
        cells_add(k, o->at.offset, 0, o->miss.ll);
}

// It has been counted by the code.
static void add(const struct thread *t, struct one *o)
{
    const struct cells_miss *miss = &o->miss;
    bool known = is_known(o) || objtable_keep(o->pair, miss->counter, miss->object);
    struct spool_data_count *walk = known ? objtable_add(o->pair, miss->ll) : NULL;

    if (o->block)
        lifetimes_missed(&o->found, miss->addr);
    walks_step(t, walk, miss->addr);
    if (!known)
        cells_count(miss);
    else if (o->at.counter)
        add_cell(o);
}

static void mark(struct many_ref *r)
{
    __atomic_store_n(&r->how, MANY_DONE, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

// Counts that are being changed at once, by who holds objtable's lock: if it is killed meanwhile,
// the next one does so.
static struct {
    u32 valid;
    struct spool_data_count *c;
    u64 l1, ll; // then
    struct many_queue *q;
    u64 done; // then
} note;

static void do_noted(void)
{
    note.c->l1 = note.l1;
    note.c->ll = note.ll;
    note.q->done = note.done;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    __atomic_store_n(&note.valid, 0, __ATOMIC_RELAXED);
}

static void add_many(struct spool_data_count *c, u32 l1, u32 ll, struct many_queue *q, u64 done)
{
    note.c = c;
    note.l1 = c->l1 + l1;
    note.ll = c->ll + ll;
    note.q = q;
    note.done = done;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    __atomic_store_n(&note.valid, 1, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    do_noted();
}

// Whether a stride from a multiple of a cell's step leads to another one.
static bool is_step(const struct cells_kept *k, s64 stride)
{
    return cells_is_multiple(k, stride < 0 ? -(u64)stride : (u64)stride);
}

// A walk: misses of one instruction, each the walk's first stride from the one before, in one
// object, where add_known() would find nothing new. The first has been found in such a page and
// pair. All are counted at once. Returns how many there were.
static u32 add_walk(const struct thread *t, struct many_ref *r, const struct many_ref *end, u64 at,
                    const struct pages_entry *e, struct objtable_pair *p, u32 line_shift)
{
    struct spool_data_count *walk = objtable_count_at((p->walk - 1) % SPOOL_DATA_COUNTS_MAX);
    struct spool_data_cell *cell = p->cell.has ? cells_at_number(p->cell.cell) : NULL;
    u64 addr = walk->last, from = e->from, stride = (u64)(s64)walk->stride[0].step;
    bool is_near = (s64)stride < (s64)SPOOL_DATA_NEAR && (s64)stride > -(s64)SPOOL_DATA_NEAR;
    u32 counter = r->counter, object = e->object, n, ll = 0, ahead = 0, back = 0;

    if (walk->thread != t->objects_number || !stride || r->addr - addr != stride ||
        line_shift > 11 || walk->stride[0].weight > ~0u - (u32)(end - r))
        return 0;
    if (cell && (p->cell.key != CELLS_WHOLE || !p->cell.full || p->cell.step != cell->step ||
                 !cell->l1 || !is_step(&p->cell, (s64)stride) ||
                 !cells_is_multiple(&p->cell, cells_away(cell, r->addr - from))))
        return 0;
    for (n = 0; r + n < end; n++) {
        const struct many_ref *i = r + n;
        u64 next = i->addr;

        if (i->counter != counter || i->how > MANY_MISSED || next - addr != stride)
            break;
        if (n && (next ^ addr) >= PAGE_SIZE) {
            e = pages_of(next, at);
            if (!e || e->object != object || e->from != from)
                break;
        }
        if (!pages_seen(e, next) || (cell && !p->cell.large && next - from < SPOOL_DATA_PIECES))
            break;
        if (is_near) {
            u64 lines = (next >> line_shift) - (addr >> line_shift);

            ahead += lines == 1;
            back += lines == ~0ul;
        }
        ll += i->how;
        addr = next;
    }
    if (!n)
        return 0;
    add_many(objtable_count_at((p->count - 1) % SPOOL_DATA_COUNTS_MAX), n, ll, many_queue(t),
             (u64)(r + n));
    walk->last = addr;
    walk->steps += n;
    walk->near += is_near ? n : 0;
    walk->ahead += ahead;
    walk->back += back;
    walk->stride[0].count += n;
    walk->stride[0].weight += n;
    if (cell) {
        cells_widen(cell, r->addr - from);
        cells_widen(cell, addr - from);
        cell->l1 += n;
        cell->ll += ll;
    }
    return n;
}

// Where a miss is, if that takes no search: in a page that is in one object, or in a small block.
struct place {
    const struct pages_entry *page; // NULL: it is in a small block
    u64 from;
    u32 object;
    struct found found; // of a small block
};

static inline bool place_of(u64 addr, u64 at, struct place *p)
{
    struct granules_range *g;

    p->page = pages_of(addr, at);
    if (p->page) {
        p->object = p->page->object;
        p->from = p->page->from;
        return pages_seen(p->page, addr);
    }
    g = granules_find(addr);
    if (!g || g->born > at || g->who & (RANGES_PART | RANGES_LARGE))
        return false;
    p->object = g->object;
    p->from = granules_start(g);
    p->found = (struct found){ g->object, p->from, granules_end(g), g->born, &g->who, false };
    return true;
}

static __attribute__((noinline)) void count_aside(const struct many_ref *r, u32 ll,
                                                  const struct place *p)
{
    struct cells_miss miss = { r->addr, r->counter, p->object, p->from, 0, (u8)ll, false };

    objects_is_data(r->counter, &miss.write);
    cells_count(&miss);
}

// A miss that is known need not wait for those before it that are counted in steps, if its walk is
// none of theirs: all else that a miss changes is the same in any order. The bit of a walk, by its
// instruction's first counter; others may have the same.
static inline u64 walk_bit(u32 first)
{
    return 1ul << first % 64;
}

// Misses in such places whose pair and cell are kept: the first, and what follows it in the same
// walk. `walks`: of misses before it that are not counted yet. Returns how many were counted, 0: it
// is none.
static inline u32 add_known(const struct thread *t, struct many_ref *r, const struct many_ref *end,
                            u64 at, u32 line_shift, u64 walks)
{
    struct spool_data_count *c, *walk;
    struct objtable_pair *p;
    struct place place;
    u32 ll = r->how, n;
    bool aside = false;
    u64 offset;

    if (!place_of(r->addr, at, &place))
        return 0;
    p = objtable_pair(r->counter, place.object);
    if (!objtable_is_pair(p, r->counter, place.object) || !p->walk)
        return 0;
    offset = r->addr - place.from;
    if (p->cell.has) {
        u64 key = cells_key(p->cell.large, offset);

        if (place.from > r->addr || !p->cell.counter)
            return 0;
        aside = is_aside(&p->cell, key);
        if (aside ? walks != 0 : p->cell.key != key)
            return 0;
    }
    walk = objtable_count_at((p->walk - 1) % SPOOL_DATA_COUNTS_MAX);
    if (walks & walk_bit(walk->counter - 1))
        return 0;
    if (!walks && place.page && r + 1 < end && r[1].counter == r->counter) {
        n = add_walk(t, r, end, at, place.page, p, line_shift);
        if (n)
            return n;
    }
    mark(r);
    c = objtable_count_at((p->count - 1) % SPOOL_DATA_COUNTS_MAX);
    c->l1++;
    c->ll += ll;
    if (!place.page)
        lifetimes_missed(&place.found, r->addr);
    if (!walks_step_again(t, walk, r->addr, line_shift))
        walks_step(t, walk, r->addr);
    if (aside)
        count_aside(r, ll, &place);
    else if (p->cell.has && !cells_add_again(&p->cell, offset, ll))
        cells_add(&p->cell, offset, 0, ll);
    return 1;
}

static bool begin(const struct thread *t, struct many_ref *r, u64 at, struct one *o)
{
    struct cells_miss *miss = &o->miss;

    if (!objects_is_data(r->counter, &miss->write))
        return false;
    miss->addr = r->addr;
    miss->counter = r->counter;
    miss->l2 = 0;
    miss->ll = (u8)r->how;
    o->ref = r;
    look_for(t, at, o);
    return true;
}

_Static_assert(MANY_DONE == LINEUSE_FOUND && offsetof(struct many_ref, counter) % 8 == 0 &&
                   offsetof(struct many_ref, how) == offsetof(struct many_ref, counter) + 4,
               "a word of lineuse_queue()");

static u64 *word_of(struct many_ref *r)
{
    return (u64 *)&r->counter;
}

static u64 *append_fetched(struct thread *t, u64 addr)
{
    struct many_ref *r = (struct many_ref *)many_queue(t)->end;

    many_append(t, addr, MANY_FETCHED, 0);
    if (many_is_full(t))
        many_full(t);
    return word_of(r);
}

// waits: an allocator is open, which may return a block that it is in.
static void find_fetched(const struct thread *t, struct many_ref *r, u64 at, bool waits)
{
    struct cells_miss miss = { .addr = r->addr };
    struct found found;
    bool block = objects_find(t, at, &miss, &found);

    if (waits && !block)
        lineuse_found_open(t, word_of(r), r->addr, miss.object);
    else
        lineuse_found(word_of(r), miss.object);
}

// A miss while an allocator is open.
static void count_open(const struct thread *t, struct many_ref *r, u64 at)
{
    struct cells_miss miss = { .addr = r->addr, .counter = r->counter, .ll = (u8)r->how };

    if (!objects_is_data(r->counter, &miss.write))
        return;
    mark(r);
    objects_count(t, at, &miss);
}

static void change_blocks(struct thread *t, struct many_ref *r)
{
    struct alloc_event e = { .word = r->how, .time = r->addr, .a = r[1].addr };
    u32 words = alloc_words(e.word);

    e.b = words > 3 ? r[2].addr : 0;
    e.c = words > 4 ? r[3].addr : 0;
    mark(r);
    alloc_apply(t, &e);
}

static void finish(const struct thread *t, struct one *o, const struct one *end)
{
    for (const struct one *i = o; i < end; i++)
        prefetch(i, true);
    for (; o < end; o++) {
        mark(o->ref);
        add(t, o);
    }
}

// References up to `end`, where those up to `last` follow. Returns the time of the last.
// @holds(objtable's lock)
static u64 count(struct thread *t, struct many_ref *r, const struct many_ref *end,
                 const struct many_ref *last, u64 at)
{
    u32 line_shift = (u32)tb_config.d1_shift, n;
    struct one one[MISSES], *o = one;
    bool waits = alloc_waits(t); // an allocator is open, as of here
    u64 walks = 0;               // of those in `one`: a bit for each

    for (; r < end; r += n) {
        n = 1;
        if (r + AHEAD < last) {
            pages_ahead(r[AHEAD].addr);
            granules_ahead(r[AHEAD].addr);
            granules_ahead_range(r[AHEAD / 2].addr);
        }
        if (r->counter == MANY_TIME) {
            at = r->addr;
        } else if (r->counter == MANY_FETCHED) {
            find_fetched(t, r, at, waits);
        } else if (r->counter == MANY_EVENT) {
            at = r->addr;
            finish(t, one, o); // it may change what these have found
            o = one;
            walks = 0;
            if (r->how != MANY_DONE)
                change_blocks(t, r);
            waits = alloc_waits(t);
        } else if (r->counter == MANY_MORE || r->how == MANY_DONE) {
            // of the event before it; or counted
        } else if (UNLIKELY(waits)) {
            count_open(t, r, at);
        } else {
            n = add_known(t, r, end, at, line_shift, walks);
            if (!n) {
                n = 1;
                if (begin(t, r, at, o)) {
                    walks |= walk_bit(insnids_first(r->counter));
                    prefetch(o++, false);
                }
            }
        }
        if (o == one + MISSES || (r + n == end && o > one)) {
            finish(t, one, o);
            o = one;
            walks = 0;
        }
    }
    return at;
}

static u64 first_of(const struct thread *t)
{
    return (u64)t->self + TA_MANY;
}

// What is counted is marked, or before q->done: whoever finds the queue after SIGKILL goes on.
// all: although another thread waits for the lock; else the rest may wait for the next time.
// @holds(objtable's lock), which it drops
static void settle(struct thread *t, bool all)
{
    struct many_queue *q = many_queue(t);

    if (UNLIKELY(note.valid))
        do_noted();
    if (q->done > q->end)
        q->done = first_of(t);
    while (q->done < q->end) {
        struct many_ref *r = (struct many_ref *)q->done;
        const struct many_ref *last = (const struct many_ref *)q->end;
        const struct many_ref *to = last - r > (s64)CHUNK ? r + CHUNK : last;

        q->at = count(t, r, to, last, q->at);
        q->done = (u64)to;
        if (to == last || !objtable_is_wanted())
            continue;
        if (!all) {
            objtable_unlock();
            return;
        }
        objtable_let_others();
    }
    lineuse_collect(t, first_of(t), q->end);
    __atomic_store_n(&q->end, first_of(t), __ATOMIC_RELEASE);
    __atomic_store_n(&q->done, first_of(t), __ATOMIC_RELEASE);
    objtable_unlock();
}

void many_settle(struct thread *t)
{
    const struct many_queue *q = many_queue(t);

    if (!many_wait || (q->end == first_of(t) && q->done == first_of(t)))
        return;
    objtable_lock();
    settle(t, true);
}

void many_full(struct thread *t)
{
    bool all = many_queue(t)->end - first_of(t) >= MANY_MOST;

    if (!all && !objtable_try_lock())
        return;
    if (all)
        objtable_lock();
    settle(t, all);
}

// A thread's time only grows; what waits in its queue is earlier.
static u64 oldest(void)
{
    u64 at = objtable_now();
    const struct thread *t;
    u32 slot = 0;

    if (!tb_config.recording)
        return at;
    while ((t = threads_next_live(&slot))) {
        u64 of = __atomic_load_n(&t->objects_at, __ATOMIC_ACQUIRE);

        if (many_has(t) && many_queue(t)->at < of)
            of = many_queue(t)->at;
        at = of < at ? of : at;
    }
    return at;
}

void many_time(struct thread *t, u64 at)
{
    t->objects_at = at;
    if (!many_wait)
        return;
    many_append(t, at, MANY_TIME, 0);
    if (many_is_full(t))
        many_full(t);
}

// What has n entries is there as a whole, or not at all.
static void append_event(struct thread *t, const u64 *record, u32 n)
{
    struct many_queue *q = many_queue(t);
    struct many_ref *to = (struct many_ref *)q->end;

    to[0] = (struct many_ref){ record[1], MANY_EVENT, (u32)(record[0] >> 32) };
    for (u32 i = 1; i < n; i++)
        to[i] = (struct many_ref){ record[i + 1], MANY_MORE, 0 };
    __atomic_store_n(&q->end, (u64)(to + n), __ATOMIC_RELEASE);
    if (many_is_full(t))
        many_full(t);
}

u32 many_event(struct thread *t, const u64 *record)
{
    struct alloc_event e = { .word = (u32)(record[0] >> 32), .time = record[1] };
    u32 words = alloc_words(e.word);

    if (!e.word) {
        many_time(t, e.time);
        return words;
    }
    t->objects_at = e.time;
    if (many_wait) {
        append_event(t, record, words - 1);
        return words;
    }
    e.a = record[2];
    e.b = words > 3 ? record[3] : 0;
    e.c = words > 4 ? record[4] : 0;
    objtable_lock();
    alloc_apply(t, &e);
    objtable_unlock();
    return words;
}

void many_buffer_replays(struct thread *t, u64 at)
{
    u64 was = t->objects_at;

    many_settle(t); // what whoever was killed has left
    objtable_buffer_replays(t, at);
    if (t->objects_at != was)
        many_time(t, t->objects_at);
}

void many_thread_init(struct thread *t)
{
    if (many_wait)
        *many_queue(t) =
            (struct many_queue){ .end = first_of(t), .done = first_of(t), .at = t->objects_at };
}

void many_init(bool levels)
{
    many_wait = tb_config.data && tb_config.recording && tb_config.stamps && !levels &&
                !(spool->flags & SPOOL_F_NO_HINTS);
    lineuse_queue = many_wait ? append_fetched : NULL;
    ranges_asked = spool->flags & SPOOL_F_NO_HINTS ? NULL : oldest;
    many_fetch = frames.place[SPOOL_E_I1MR];
}
