// SPDX-License-Identifier: MIT
// Buffers simulated ahead of their turn (ahead.h).
//
// The list of misses is in the record buffers of the second state's area, in the format of ll.h.
// The first references to an L1's set that are in it are the open ones: each fills a way. Of a
// reference with two lines it is not seen there which of them did, so C lists each open line by
// itself, as LL_OPEN without bytes, and then the reference, as LL_OPEN with them.
#include "engine/count/ahead.h"

#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/count/caches.h"
#include "engine/count/cores.h"
#include "engine/count/levels.h"
#include "engine/count/lineids.h"
#include "engine/count/ll.h"
#include "engine/count/vector.h"
#include "engine/spool/config.h"
#include "engine/spool/slotmem.h"
#include "engine/spool/spooler.h"
#include "engine/thread/threads.h"
#include "sim/stamps.h"

#define EACH (TA_RECORD_SIZE / (u32)sizeof(struct ll_pending)) // places of a record buffer
#define ALL  (TA_RECORD_BUFFERS * EACH)
// Of LL_OPEN, in place of bytes: what happens between the references before and after it.
#define COUNT 0xfbu // counter: so much more, as addr says
// To frames. addr: the frame.
#define NOTE  0xfcu // up to that frame all that have not noted the totals do
#define LEFT  0xfdu // it has ended; counter: its first one
#define BACK  0xfeu // a handler's: the totals are those that it has noted
#define SMALL 64u   // with --small-buffers, places at least
// Where a list has more places, the thread helps more by simulating pieces of LL (ll.h): so many
// buffers are not simulated ahead then. With levels the list is divided into pieces.
#define LONG      (ALL / 8)
#define REST      64u
#define LIST_PART 0x10000u

_Static_assert(TA_RECORDS % LIST_PART == 0 && TA_RECORD_STRIDE % LIST_PART == 0 &&
                   TA_RECORD_SIZE % LIST_PART == 0,
               "ll_ahead_full() is called at each multiple");

// In the second state's area.
struct ahead {
    u32 start;   // place of the list's beginning
    u32 sorted;  // the open ones before this place are in `open`
    u32 settled; // of these so many have been used
    u32 nopen;
    u64 sp, top;                                      // at the beginning
    u32 turn;                                         // it is their turn already
    u32 missed;                                       // of a reference with two lines, one has
    u32 failed;                                       // more has missed than there is space for
    u32 runs;                                         // for --small-buffers
    u32 events;                                       // there are some
    u32 skips;                                        // `left` is known
    s64 left;                                         // t->core_left behind it
    u64 insns;                                        // of the last buffer
    u16 d1[CONFIG_AHEAD_SETS], i1[CONFIG_AHEAD_SETS]; // ways of each set that are filled
    u32 open[2 * CONFIG_AHEAD_WAYS];                  // places, of lines and of references
};

_Static_assert(sizeof(struct ahead) <= TA_AHEAD_END - TA_AHEAD, "space in the area");

void (*ahead_await_turn)(struct thread *of);

static struct ahead *ahead_of(const struct thread *a)
{
    return (struct ahead *)((u64)a + TA_AHEAD);
}

// -- the list --

static u64 address_of(const struct thread *a, u32 place)
{
    return (u64)a + TA_RECORDS + (u64)(place / EACH) * TA_RECORD_STRIDE +
           place % EACH * sizeof(struct ll_pending);
}

static struct ll_pending *at(const struct thread *a, u32 place)
{
    return (struct ll_pending *)address_of(a, place);
}

// The place behind the last reference. Behind a buffer's last place is the next one's first.
static u32 end_of(const struct thread *a)
{
    u64 offset = a->ll - (u64)a - TA_RECORDS;

    return (u32)(offset / TA_RECORD_STRIDE * EACH +
                 offset % TA_RECORD_STRIDE / sizeof(struct ll_pending));
}

static bool is_event(u32 size)
{
    return size != LL_DONE && size & LL_OPEN && (size & LL_BYTES) >= COUNT;
}

static void list_begin(struct thread *a)
{
    struct ahead *h = ahead_of(a);

    h->start = tb_config.recordbuf_grows ? 0 : ALL - (SMALL << h->runs++ % 8);
    h->sorted = h->start;
    h->settled = h->nopen = h->events = 0;
    ll_ahead_begin(a, address_of(a, h->start));
}

// -- references with two lines --

// Whether the set of address a has an empty way. They are filled from the first on.
static bool has_empty(const struct thread *a, u64 addr, u32 bits)
{
    u64 area = (u64)a->self;
    u32 set;

    if (bits & LL_FETCH) {
        set = (u32)(addr >> tb_config.i1_shift) & (tb_config.i1_sets - 1);
        return !((const u32 *)(area + TA_I1_TAGS))[(set + 1) * spool->i1.assoc - 1];
    }
    set = (u32)(addr >> tb_config.d1_shift) & (tb_config.d1_sets - 1);
    return ((const u64 *)(area + TA_D1_TAGS))[set * caches_d1_stride() + spool->d1.assoc - 1] ==
           SIM_STAMPS_EMPTY;
}

struct two {
    u32 open;
    bool missed;
};

static void line(struct thread *a, struct two *two, u64 addr, u32 bits)
{
    bool empty = has_empty(a, addr, bits);

    if (!caches_touch(a, addr, bits))
        return;
    if (empty) {
        ll_append(a, addr, LL_OPEN | bits, 0);
        two->open++;
    } else {
        two->missed = true;
    }
}

static void reference(struct thread *a, const struct two *two, u64 addr, u32 size, u32 counter)
{
    if (two->open)
        size |= LL_OPEN | (two->missed ? LL_ONE_MISSED : 0);
    if (two->open || two->missed)
        ll_append(a, addr, size, counter);
}

static void two_lines(struct thread *a, u64 addr, u32 size, u32 counter)
{
    struct two two = { 0, false };

    line(a, &two, addr, 0);
    line(a, &two, (addr + size - 1) & -(u64)spool->d1.line, 0);
    reference(a, &two, addr, size, counter);
}

void ahead_fetch(struct thread *a, u64 pc, u32 len, u32 first, u32 last, u32 counter)
{
    struct two two = { 0, false };

    line(a, &two, pc, caches_fetch_bits(first));
    line(a, &two, pc + len - 1, caches_fetch_bits(last));
    reference(a, &two, pc, len | LL_FETCH, counter);
}

// -- what is counted between references --

// A frame need not have noted the totals for it.
void ahead_count_later(struct thread *a, u32 counter, u64 n)
{
    if (!n)
        return;
    ahead_of(a)->events = 1;
    *(struct ll_pending *)a->ll = (struct ll_pending){ n, counter, LL_OPEN | COUNT };
    a->ll += sizeof(struct ll_pending);
    if (a->ll % LIST_PART == 0)
        ll_full(a);
}

// -- frames --

static void set_size(struct ll_pending *w, u32 size)
{
    __atomic_store_n(&w->size, size, __ATOMIC_RELAXED);
}

void ahead_note(struct thread *a)
{
    u64 top = a->late_top;

    if (a->late_last == top)
        return;
    a->late_last = top;
    ll_append(a, top, LL_OPEN | NOTE, 0);
}

void ahead_left(struct thread *a, u64 frame, u32 counter)
{
    ll_append(a, frame, LL_OPEN | LEFT, counter);
    a->late_last = a->late_top = frame - frames.frame;
}

void ahead_back(struct thread *a, u64 frame)
{
    if (frame <= a->late_was)
        ll_append(a, frame, LL_OPEN | BACK, 0);
}

void ahead_frame(struct thread *a, enum frames_late what, u32 frame, u32 counter)
{
    u64 at = a->calls_base + (u32)(frame - (u32)a->calls_base);

    switch (what) {
    case FRAMES_ENTER: a->late_top = at; break;
    case FRAMES_LEAVE:
        a->late_was = a->late_last;
        if (at <= a->late_last)
            ahead_left(a, at, counter);
        a->late_top = at - frames.frame;
        break;
    case FRAMES_BACK: ahead_back(a, at); break;
    }
}

// A thread that is killed here may lose what a call has cost, or a count, but counts none twice.
static void settle_event(struct thread *t, struct ll_pending *w)
{
    u32 what = w->size & LL_BYTES;

    set_size(w, LL_DONE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    switch (what) {
    case COUNT: calls_count(t, w->counter, w->addr); break;
    case NOTE:
        t->late_top = w->addr;
        frames_late_fill(t);
        break;
    case LEFT: frames_replay(t, FRAMES_LEAVE, (u32)w->addr, w->counter); break;
    case BACK:
        t->late_was = w->addr;
        frames_replay(t, FRAMES_BACK, (u32)w->addr, 0);
        break;
    }
}

// -- the open references --

// Whether it fills a way that is not filled yet: one more is, then.
static bool fills(struct ahead *h, u64 addr, bool fetch)
{
    u32 set = fetch ? (u32)(addr >> tb_config.i1_shift) & (tb_config.i1_sets - 1)
                    : (u32)(addr >> tb_config.d1_shift) & (tb_config.d1_sets - 1);
    u16 *n = fetch ? &h->i1[set] : &h->d1[set];

    if (*n >= (fetch ? spool->i1.assoc : spool->d1.assoc))
        return false;
    ++*n;
    return true;
}

// The line of a reference that may have filled a way: its only one or, of a fetch, its last. Other
// references with two lines have missed for certain.
static bool is_open(struct ahead *h, const struct ll_pending *w)
{
    u32 bytes = w->size & LL_BYTES;

    if (is_event(w->size))
        return false;
    if (w->size & LL_OPEN)
        return bytes || fills(h, w->addr, w->size & LL_FETCH);
    if (!bytes)
        return fills(h, w->addr, w->size & LL_FETCH);
    return w->size & LL_FETCH && w->size >> LL_ID_SHIFT & (TA_I1_IDS - 1) &&
           fills(h, w->addr + bytes - 1, true);
}

static void sort(const struct thread *a)
{
    struct ahead *h = ahead_of(a);
    u32 end = end_of(a);

    for (; h->sorted < end; h->sorted++) {
        if (!is_open(h, at(a, h->sorted)))
            continue;
        if (h->nopen == ARRAY_SIZE(h->open))
            engine_die("too many references are open");
        h->open[h->nopen++] = h->sorted;
    }
}

// Uses an open reference in t's caches.
static void settle_one(struct thread *t, struct ahead *h, struct ll_pending *w)
{
    u32 size = w->size, bytes = size & LL_BYTES;

    if (size == LL_DONE)
        return;
    if (!(size & LL_OPEN)) {
        if (!caches_touch(t, w->addr + (bytes ? bytes - 1 : 0), size))
            set_size(w, LL_DONE);
    } else if (bytes) {
        set_size(w, h->missed || size & LL_ONE_MISSED ? bytes | (size & LL_FETCH) : LL_DONE);
        h->missed = 0;
    } else {
        h->missed |= caches_touch(t, w->addr, size);
        set_size(w, LL_DONE);
    }
}

// By LL, and what happens in between.
static void simulate(struct thread *t, bool events, struct ll_pending *from, struct ll_pending *end)
{
    struct ll_pending *w;

    for (; events && from < end; from = w) {
        for (w = from; w < end && !is_event(w->size); w++)
            ;
        if (from < w)
            ll_simulate(t, from, w);
        for (; w < end && is_event(w->size); w++)
            settle_event(t, w);
    }
    if (from < end)
        ll_simulate(t, from, end);
}

// Simulates what is in the list, which is empty then.
static void settle(struct thread *t, struct thread *a)
{
    struct ahead *h = ahead_of(a);
    u32 end = end_of(a);

    sort(a);
    for (; h->settled < h->nopen; h->settled++)
        settle_one(t, h, at(a, h->open[h->settled]));
    for (u32 from = h->start, to; from < end; from = to) {
        to = (from / EACH + 1) * EACH;
        if (to > end)
            to = end;
        simulate(t, tb_config.calls || h->events, at(a, from), at(a, from) + (to - from));
    }
    list_begin(a);
}

// ll_ahead_full
static void full(struct thread *a)
{
    struct thread *t = a->ahead_of;
    struct ahead *h = ahead_of(a);
    u32 place = end_of(a);

    if (place % EACH)
        return;
    if (place < ALL) {
        a->ll = address_of(a, place);
        return;
    }
    if (ahead_keeps()) {
        h->failed = 1;
        a->ll = address_of(a, h->start);
        return;
    }
    if (!h->turn) {
        h->turn = 1;
        ahead_await_turn(t);
        // If t simulated the buffers before it itself, vectors do not hold what routine.S thinks.
        *(u32 *)((u64)a + TA_D1_LAST) = ~0u;
    }
    settle(t, a);
}

// A list that was full has been emptied in part, or not at all.
void ahead_resume(struct thread *t)
{
    full(t->ahead);
}

// -- joining the two states --

// The lines of a set of D1 that a has: all of the set's, or some.
static void join_d1(struct thread *t, struct thread *a, u32 set, u32 filled, u64 later)
{
    u32 stride = caches_d1_stride(), first = set * stride;
    u64 *tags = (u64 *)((u64)t->self + TA_D1_TAGS), *stamps = (u64 *)((u64)t->self + TA_D1_STAMPS);
    u16 *hints = (u16 *)((u64)t->self + TA_D1_HINTS);
    const u64 *new_tags = (const u64 *)((u64)a->self + TA_D1_TAGS) + first;
    const u64 *new_stamps = (const u64 *)((u64)a->self + TA_D1_STAMPS) + first;

    for (u32 i = 0; i < filled; i++) {
        u32 way = first + i;

        if (filled < spool->d1.assoc)
            for (way = first; tags[way] != new_tags[i]; way++)
                if (way == first + spool->d1.assoc - 1)
                    engine_die(ENGINE_DAMAGED "a line is in no way of D1");
        tags[way] = new_tags[i];
        stamps[way] = new_stamps[i] + later;
        hints[(new_tags[i] >> tb_config.d1_shift) % SIM_STAMPS_HINTS] = (u16)way;
    }
}

static void join_i1(struct thread *t, struct thread *a, u32 set, u32 filled, u64 later)
{
    u32 assoc = spool->i1.assoc, first = set * assoc;
    u32 *tags = (u32 *)((u64)t->self + TA_I1_TAGS);
    u64 *stamps = (u64 *)((u64)t->self + TA_I1_STAMPS);
    u16 *hints = (u16 *)((u64)t->self + TA_I1_HINTS);
    const u32 *new_tags = (const u32 *)((u64)a->self + TA_I1_TAGS) + first;
    const u64 *new_stamps = (const u64 *)((u64)a->self + TA_I1_STAMPS) + first;

    if (filled == assoc)
        for (u32 i = 0; i < assoc; i++)
            hints[tags[first + i]] = 0;
    for (u32 i = 0; i < filled; i++) {
        u32 way = first + i;

        if (filled < assoc)
            for (way = first; tags[way] != new_tags[i]; way++)
                if (way == first + assoc - 1)
                    engine_die(ENGINE_DAMAGED "a line is in no way of I1");
        tags[way] = new_tags[i];
        stamps[way] = new_stamps[i] + later;
        hints[new_tags[i]] = (u16)(way + 1);
    }
}

// Whether t is where the records begin.
static bool follows(const struct thread *t, const struct ahead *h)
{
    return h->sp == t->replay_sp &&
           (!tb_config.calls || (t->late_top == h->top && t->late_last == h->top));
}

bool ahead_keeps(void)
{
    return tb_config.sampled;
}

bool ahead_joins(const struct thread *t)
{
    const struct ahead *h = ahead_of(t->ahead);

    return !h->failed &&
           (!ahead_keeps() || h->skips || cores_stays_off(t, cores_ahead_insns(t->ahead)));
}

// t has executed what a has: once, however often it is begun.
static void skip(const struct thread *t, const struct thread *a, struct ahead *h)
{
    if (!h->skips)
        h->left = t->core_left - (s64)cores_ahead_insns(a);
    __atomic_store_n(&h->skips, 1, __ATOMIC_RELEASE);
}

void ahead_join(struct thread *t)
{
    struct thread *a = t->ahead;
    struct ahead *h = ahead_of(a);
    u64 later;

    if (!h->turn && !follows(t, h))
        engine_die(ENGINE_DAMAGED "a buffer does not follow the one before it");
    if (ahead_keeps())
        skip(t, a, h);
    settle(t, a);
    later = t->clock;
    for (u32 i = 0; i < tb_config.d1_sets; i++)
        join_d1(t, a, i, h->d1[i], later);
    for (u32 i = 0; i < tb_config.i1_sets; i++)
        join_i1(t, a, i, h->i1[i], later);
    t->clock = later + a->clock;
    t->replay_sp = a->replay_sp;
    if (ahead_keeps()) {
        t->record_tail = a->record_tail;
        t->core_left = h->left;
    }
    if (tb_config.calls)
        frames_late_settle(t, a->late_top);
    __atomic_store_n(&t->ahead_full, 0, __ATOMIC_RELEASE);
}

// -- the thread's side --

void ahead_init(void)
{
    ll_ahead_full = full;
    ll_ahead_notes = ahead_note;
    caches_two_lines = two_lines;
}

// The area is not touched before a buffer is simulated there: most threads never do.
void ahead_thread_init(struct thread *t)
{
    u64 offset;

    t->ahead = NULL;
    t->ahead_full = t->ahead_rest = 0;
    if (tb_config.ahead && t->misses != t->counters)
        t->ahead = thread_at_slot(slotmem_slot_of((u64)t->misses, &offset));
}

// By what the last one had, with a tenth more. Whatever is said here, ahead_joins() decides.
static bool may_stay_off(const struct thread *t, u32 before)
{
    u64 insns = t->ahead->self ? ahead_of(t->ahead)->insns : 0;

    return !ahead_keeps() || cores_stays_off(t, (insns + insns / 10) * (before + 1));
}

// Ids have to fit beside the bytes of a fetch.
bool ahead_may(const struct thread *t, u32 before)
{
    return t->ahead && !t->ahead_rest && !__atomic_load_n(&t->ahead_full, __ATOMIC_ACQUIRE) &&
           ll_ahead_may(t) && lineids_count() < caches_ids() && may_stay_off(t, before);
}

// The area may have been another thread's.
static void make(struct thread *t)
{
    struct thread *a = t->ahead;

    if (!a->self)
        for (u32 i = 0; i < TA_RECORD_BUFFERS; i++) // as the thread's own
            sys_madvise((u64)a + TA_RECORDS + i * (u64)TA_RECORD_STRIDE, TA_RECORD_SIZE,
                        MADV_WIPEONFORK);
    a->self = a;
    a->ahead_of = t;
    a->is_ahead = 1;
    a->tid = t->tid;
    a->counters = a->misses = t->counters;
    a->levels = t->levels; // of which nothing is used
    caches_ahead_init(a);
}

struct thread *ahead_begin(struct thread *t, u64 sp, u64 top)
{
    struct thread *a = t->ahead;
    struct ahead *h = ahead_of(a);

    make(t);
    t->ahead_full = 1;
    h->turn = h->missed = h->failed = h->skips = 0;
    if (tb_config.core)
        cores_ahead_begin(a);
    memset(h->d1, 0, tb_config.d1_sets * sizeof(h->d1[0]));
    memset(h->i1, 0, tb_config.i1_sets * sizeof(h->i1[0]));
    list_begin(a);
    caches_ahead_empty(a);
    a->replay_sp = sp;
    a->record_tail = NULL;
    a->calls_base = t->calls_base;
    a->late_top = a->late_last = a->late_was = tb_config.calls ? top : 0;
    h->sp = sp;
    h->top = top;
    return a;
}

void ahead_sort(struct thread *t)
{
    if (ahead_keeps())
        ahead_of(t->ahead)->insns = cores_ahead_insns(t->ahead);
    if (ahead_of(t->ahead)->failed)
        t->ahead_rest = REST;
    else
        sort(t->ahead);
    if (end_of(t->ahead) - ahead_of(t->ahead)->start > LONG && !levels_are_on())
        t->ahead_rest = REST;
}

void ahead_next(struct thread *t)
{
    if (t->ahead_rest)
        t->ahead_rest--;
}

void ahead_forget(struct thread *t)
{
    t->ahead_full = 0;
}
