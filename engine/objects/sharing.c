// SPDX-License-Identifier: MIT
// Lines that threads share (sharing.h).
//
// Which thread has referenced a line is in a table of all lines, without a lock. When another one
// references it, the line is watched: only from then on can it be invalidated, and from then on all
// references to it are seen.
//
// A lock of its own guards what is watched, and not objtable's, which is held for long: nearly all
// references to watched lines invalidate nothing, and count nothing.
#include "engine/objects/sharing.h"

#include "engine/base/cpu.h"
#include "engine/base/heap.h"
#include "engine/base/lock.h"
#include "engine/base/nolibc.h"
#include "engine/objects/found.h"
#include "engine/objects/objtable.h"
#include "engine/spool/config.h"
#include "engine/spool/insnids.h"
#include "engine/spool/spooler.h"

#define INDEX   0x20000u // twice as many as shares
#define THREADS 8u       // that are known to have a line
#define WRITERS 4u       // instructions that have written to it lately
// With stamps, where each line that is watched costs time, a line is let go after so many
// references by one thread, more than two of its buffers have; or so many without a write.
#define QUIET      0x40000u
#define QUIET_READ 1024u
#define SPINS      100u // on the lock, before sleeping

// A thread that has the line.
struct holder {
    u32 thread; // 0: free
    u32 share;  // plus one, of its last invalidation, as long as `other` may make that a true one
    u64 since;  // bytes that others have written since its last reference
    u64 other;  // bytes that others had written when it was invalidated, none of which it used
};

struct writer {
    u32 thread; // 0: free
    u32 counter;
    u64 bytes, addr; // that it has written; the last one's
    u64 at;          // turn of the last one
};

struct watched {
    struct holder holder[THREADS];
    struct writer writer[WRITERS];
    u64 turn;        // references
    u32 life;        // see victim_of()
    u32 next;        // holder to be replaced
    u32 thread;      // that had the last reference
    u32 share;       // plus one, of the invalidation at the beginning of this thread's turn
    u64 run, before; // references of its turn; of the turn before
    u64 quiet;       // references without a write
};

#define LIFE 255u // in searches of its set

struct ref {
    struct thread *t;
    u64 addr, line, bytes;
    u32 counter;
    bool stores;
};

u32 sharing_off = 1;
u32 (*sharing_find)(const struct thread *t, u64 addr, u64 *start);
u64 *sharing_lines; // plus one
u64 *sharing_seen;

static struct {
    struct lock lock; // objtable's may be taken with it
    struct watched *watched;
    u32 *index; // of shares, plus one
    u32 changes;
    u32 shift; // a bit stands for so many bytes
} sharing;

static struct spool_data_share *share_at(u32 i)
{
    return (struct spool_data_share *)(DATA_BASE + SPOOL_DATA_SHARES_OFF) +
           i % SPOOL_DATA_SHARES_MAX;
}

void sharing_init(void)
{
    sharing_seen = heap_pages(SHARING_SEEN * sizeof(*sharing_seen));
    sharing.watched = heap_pages(SHARING_LINES * sizeof(*sharing.watched));
    sharing.index = heap_pages(INDEX * sizeof(*sharing.index));
    sharing_lines = heap_pages(SHARING_LINES * sizeof(*sharing_lines));
    sharing.shift = tb_config.d1_shift > 6 ? tb_config.d1_shift - 6 : 0;
    sharing.changes = 1;
    if (spool->flags & SPOOL_F_SERIALIZE)
        sharing_begin();
}

void sharing_begin(void)
{
    if (tb_config.data && tb_config.cache)
        __atomic_store_n(&sharing_off, 0, __ATOMIC_RELEASE);
}

void sharing_fork_child(void)
{
    if (!tb_config.data || sharing_off)
        return;
    memset(sharing_lines, 0, SHARING_LINES * sizeof(*sharing_lines));
    memset(sharing_seen, 0, SHARING_SEEN * sizeof(*sharing_seen));
    sharing_off = !(spool->flags & SPOOL_F_SERIALIZE);
}

void sharing_forget_lock(void)
{
    sharing.lock = (struct lock){ 0 };
}

void sharing_zero(void)
{
    for (u64 i = 0; i < spool->data.shares_used && i < SPOOL_DATA_SHARES_MAX; i++)
        share_at((u32)i)->invalidations = share_at((u32)i)->most = 0;
}

u32 sharing_changes(void)
{
    return __atomic_load_n(&sharing.changes, __ATOMIC_ACQUIRE);
}

// ---- Counts ----

static u64 mixed(u64 h, u64 value)
{
    return (h ^ value) * 0x9e3779b97f4a7c15ul ^ h >> 29;
}

static u64 hash_of(const struct spool_data_touch *t, u64 h)
{
    return mixed(mixed(h, (u64)t->counter << 32 | t->object), t->offset);
}

static bool is_same(const struct spool_data_touch *a, const struct spool_data_touch *b)
{
    return a->counter == b->counter && a->object == b->object && a->offset == b->offset;
}

// The number of the entry, plus one. 0: there is no space.
static u32 share_of(const struct spool_data_share *like)
{
    u32 place = (u32)(hash_of(&like->written, hash_of(&like->touched, like->how)) >> 40) % INDEX;
    u64 n = spool->data.shares_used;

    for (u32 i = 0; sharing.index[place]; i++, place = (place + 1) % INDEX) {
        const struct spool_data_share *s = share_at(sharing.index[place] - 1);

        if (s->how == like->how && is_same(&s->touched, &like->touched) &&
            is_same(&s->written, &like->written))
            return sharing.index[place];
        if (i == INDEX)
            return 0; // the program has written there
    }
    if (n >= SPOOL_DATA_SHARES_MAX)
        return 0;
    *share_at((u32)n) = *like;
    __atomic_store_n(&spool->data.shares_used, n + 1, __ATOMIC_RELEASE);
    return sharing.index[place] = (u32)n + 1;
}

static struct spool_data_touch touch_of(const struct thread *t, u64 addr, u32 counter)
{
    struct spool_data_touch touch = { .counter = insnids_first(counter) + 1,
                                      .offset = SPOOL_DATA_NO_OFFSET };
    u64 start;

    touch.object = sharing_find(t, addr, &start);
    if (start != FOUND_UNKNOWN && start <= addr)
        touch.offset = addr - start;
    return touch;
}

// The last one by another thread; of those that have written one of these bytes, if one has.
static const struct writer *writer_of(const struct watched *w, u32 thread, u64 bytes)
{
    const struct writer *last = NULL;

    for (u32 i = 0; i < WRITERS; i++) {
        const struct writer *r = &w->writer[i];

        if (!r->thread || r->thread == thread)
            continue;
        if (!last || (r->bytes & bytes ? !(last->bytes & bytes) || r->at > last->at
                                       : !(last->bytes & bytes) && r->at > last->at))
            last = r;
    }
    return last;
}

static u32 count(const struct watched *w, const struct ref *r, bool is_true)
{
    const struct writer *by = writer_of(w, r->t->objects_number, is_true ? r->bytes : 0);
    struct spool_data_share like = { .how = (is_true ? SPOOL_SHARE_TRUE : 0) |
                                            (r->stores ? SPOOL_SHARE_WRITES : 0) };
    u32 share = 0;

    if (by) {
        objtable_lock();
        like.touched = touch_of(r->t, r->addr, r->counter);
        like.written = touch_of(r->t, by->addr, by->counter);
        objtable_unlock();
        share = share_of(&like);
    }
    if (!share) {
        spool->data.shares_lost++;
        return 0;
    }
    share_at(share - 1)->invalidations++;
    share_at(share - 1)->most++;
    return share;
}

// ---- A line that is watched ----

static struct holder *holder_of(struct watched *w, u32 thread)
{
    struct holder *h = NULL;

    for (u32 i = 0; i < THREADS; i++) {
        if (w->holder[i].thread == thread)
            return &w->holder[i];
        if (!w->holder[i].thread && !h)
            h = &w->holder[i];
    }
    if (!h)
        h = &w->holder[w->next++ % THREADS];
    *h = (struct holder){ .thread = thread };
    return h;
}

static void note_write(struct watched *w, const struct holder *own, const struct ref *r)
{
    struct writer *use = &w->writer[0];

    for (u32 i = 0; i < THREADS; i++)
        if (&w->holder[i] != own)
            w->holder[i].since |= r->bytes;
    for (u32 i = 0; i < WRITERS; i++) {
        struct writer *by = &w->writer[i];

        if (by->thread == own->thread && by->counter == r->counter) {
            use = by;
            break;
        }
        if (by->at < use->at)
            use = by;
    }
    if (use->thread != own->thread || use->counter != r->counter)
        *use = (struct writer){ .thread = own->thread, .counter = r->counter };
    use->bytes |= r->bytes;
    use->addr = r->addr;
    use->at = w->turn;
}

// The line is there again; what others have written is not what it was fetched for until a
// reference says so (Dubois: essential misses).
static void invalidated(struct watched *w, struct holder *h, const struct ref *r)
{
    bool is_true = h->since & r->bytes;

    h->share = w->share = count(w, r, is_true);
    h->other = is_true ? 0 : h->since;
    h->since = 0;
}

static void becomes_true(struct watched *w, struct holder *h, const struct ref *r)
{
    struct spool_data_share *s = share_at(h->share - 1);
    u64 most = h->share != w->share ? 1 : w->run < w->before ? w->run : w->before;

    h->other = 0;
    if (!h->share || !s->invalidations || s->most < most) // zeroed since
        return;
    s->invalidations--;
    s->most -= most;
    h->share = w->share = count(w, r, true);
    if (h->share)
        share_at(h->share - 1)->most += most - 1;
}

static void begin_turn(struct watched *w, u32 thread)
{
    w->before = w->run;
    w->run = 0;
    w->thread = thread;
    w->share = 0;
}

static void use(struct watched *w, const struct ref *r)
{
    struct holder *h = holder_of(w, r->t->objects_number);

    w->life = LIFE;
    w->turn++;
    w->quiet = r->stores ? 0 : w->quiet + 1;
    if (w->thread != h->thread)
        begin_turn(w, h->thread);
    w->run++;
    if (w->run > 1 && w->share && w->run <= w->before)
        share_at(w->share - 1)->most++;
    if (h->since)
        invalidated(w, h, r);
    else if (h->other & r->bytes)
        becomes_true(w, h, r);
    if (r->stores)
        note_write(w, h, r);
}

// ---- Which lines are watched ----

static u64 *seen_of(u64 line)
{
    return &sharing_seen[sharing_seen_place(line)];
}

static u64 seen_by(u64 line, u32 thread)
{
    return line << SHARING_THREAD_BITS | (thread & ((1u << SHARING_THREAD_BITS) - 1));
}

// A free one; else one that was not referenced in the last LIFE searches, or has had fewest since.
static u32 victim_of(u32 set)
{
    u32 least = set;

    for (u32 i = set; i < set + SHARING_WAYS; i++) {
        if (sharing_line(i) == SHARING_NONE)
            return i;
        if (sharing.watched[i].life < sharing.watched[least].life)
            least = i;
    }
    for (u32 i = set; i < set + SHARING_WAYS; i++)
        sharing.watched[i].life -= sharing.watched[i].life != 0;
    return least;
}

static struct watched *find(u64 line)
{
    u32 set = sharing_set(line);

    for (u32 i = set; i < set + SHARING_WAYS; i++)
        if (sharing_line(i) == line)
            return &sharing.watched[i];
    return NULL;
}

// `first` has referenced it before.
static struct watched *watch(u64 line, u32 first)
{
    u32 i = victim_of(sharing_set(line)), last = sharing.watched[i].thread;
    struct watched *w = &sharing.watched[i];
    u64 before = sharing_line(i);

    *w = (struct watched){ 0 };
    holder_of(w, first);
    __atomic_store_n(&sharing_lines[i], line + 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&sharing.changes, 1 + (sharing.changes == ~0u), __ATOMIC_SEQ_CST);
    __atomic_store_n(seen_of(line), 0, __ATOMIC_RELAXED);
    if (before != SHARING_NONE)
        __atomic_store_n(seen_of(before), seen_by(before, last), __ATOMIC_RELAXED);
    return w;
}

static void let_go_if_quiet(const struct watched *w, const struct ref *r)
{
    if (!tb_config.stamps || (w->run < QUIET && w->quiet < QUIET_READ))
        return;
    __atomic_store_n(&sharing_lines[w - sharing.watched], 0, __ATOMIC_RELAXED);
    *seen_of(r->line) = seen_by(r->line, r->t->objects_number);
}

// Whether the line has to do with another thread. If that one begins to watch it meanwhile, its
// entry is nobody's in the end: else this thread's references would not come here.
static bool is_seen(const struct ref *r, u32 *first)
{
    u64 *seen = seen_of(r->line), was = __atomic_load_n(seen, __ATOMIC_RELAXED);
    u64 own = seen_by(r->line, r->t->objects_number);

    *first = (u32)was & ((1u << SHARING_THREAD_BITS) - 1);
    if (was == own)
        return false;
    if (was >> SHARING_THREAD_BITS == r->line && was)
        return true;
    __atomic_store_n(seen, own, __ATOMIC_SEQ_CST);
    if (!sharing_watches(r->line))
        return false;
    __atomic_store_n(seen, 0, __ATOMIC_RELAXED);
    return true;
}

// Apart, so that no initializer of it comes before the direction flag is cleared.
static __attribute__((noinline)) void touch(const struct ref *r)
{
    u32 first = 0;
    struct watched *w;

    if (!sharing_watches(r->line) && !is_seen(r, &first))
        return;
    if (!lock_try_again(&sharing.lock, SPINS))
        lock_take_of_dead(&sharing.lock, objtable_is_orphan);
    w = find(r->line);
    if (!w && first)
        w = watch(r->line, first);
    if (w) {
        use(w, r);
        let_go_if_quiet(w, r);
    }
    lock_drop(&sharing.lock);
}

// Of bytes first to last of a line.
static u64 bits(u64 first, u64 last)
{
    return (~0ul << (first >> sharing.shift)) & (~0ul >> (63 - (last >> sharing.shift)));
}

void sharing_ref(struct thread *t, u64 addr, u32 size, bool stores, u32 counter)
{
    u64 end = addr + size - 1, low = (1ul << tb_config.d1_shift) - 1;
    struct ref r;
    bool direction = false;

    if (!tb_config.recording) // else it is a replay's call, no helper's
        direction = cpu_clear_direction();
    r.t = t;
    r.counter = counter;
    r.stores = stores;
    r.addr = addr;
    r.line = addr >> tb_config.d1_shift;
    r.bytes = bits(addr & low, (addr ^ end) > low ? low : end & low);
    touch(&r);
    if ((addr ^ end) > low) {
        r.addr = end & ~low;
        r.line = end >> tb_config.d1_shift;
        r.bytes = bits(0, end & low);
        touch(&r);
    }
    cpu_restore_direction(direction);
}
