// SPDX-License-Identifier: MIT
// The stacks of --curve (curve.h), and where their counts go: counters of the thread, so that
// SIGKILL, forks, parts and zeroing treat them as all others.
//
// A stack at the highest rate tells small sizes. It keeps a fixed number of lines, so that its rate
// stays: which references reach C must not depend on the stack. Another one, whose rate adapts,
// tells the large sizes.
#include "engine/count/curve.h"

#include "engine/base/heap.h"
#include "engine/base/lock.h"
#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/spool/spooler.h"

#define FAR_RATE 8u     // of a thread's stacks for large sizes, at the beginning
#define FAR_MAX  8192u  // lines of these
#define LL_MAX   32768u // of that of LL, which also counts distinct lines

_Static_assert(SPOOL_CURVE_SIZES == SIM_CURVE_SIZES, "a counter for each");

struct pair {
    struct sim_curve near, far;
};

// Each thread's.
struct curve {
    struct pair data, code;
    u64 refs; // to lines of the sample, not yet in all.refs
};

bool (*curve_is_orphan)(void);

static struct {
    struct lock lock; // of what is below
    struct pair ll;
    u64 refs;
    u64 lines[2];         // that were touched: of data, of code
    struct curve *serial; // --serialize-threads: those of all threads
    u32 ll_shift;
} all;

// ---- Stacks ----

static void make(struct sim_curve *c, u32 max, u32 rate, bool adapts)
{
    u64 bytes = sim_curve_bytes(max);
    void *storage = c->at;

    if (storage)
        sys_madvise((u64)storage, PAGE_UP(bytes), MADV_DONTNEED);
    else
        storage = heap_large(bytes);
    sim_curve_init_zeroed(c, max, rate, adapts, storage);
}

static void make_pair(struct pair *p, u32 far_max, u32 far_rate)
{
    make(&p->near, SPOOL_CURVE_NEAR, CURVE_RATE, false);
    make(&p->far, far_max, far_rate, true);
}

void curve_init(void)
{
    if (!tb_config.curve)
        return;
    all.ll_shift = (u32)__builtin_ctz(spool->ll.line);
    make_pair(&all.ll, LL_MAX, CURVE_RATE);
    all.refs = all.lines[0] = all.lines[1] = 0;
    spool->curve.rate = CURVE_RATE;
    spool->curve.interval = SPOOL_CURVE_INTERVAL;
    spool->curve.counters = spooler_counters(SPOOL_CURVE_COUNTERS) + 1;
}

void curve_thread_init(struct thread *t)
{
    if (!tb_config.curve)
        return;
    if (all.serial) {
        t->curve = all.serial;
        return;
    }
    if (!t->curve)
        t->curve = heap_alloc(sizeof(*t->curve));
    make_pair(&t->curve->data, FAR_MAX, FAR_RATE);
    make_pair(&t->curve->code, FAR_MAX, FAR_RATE);
    t->curve->refs = 0;
    if (spool->flags & SPOOL_F_SERIALIZE)
        all.serial = t->curve;
}

_Static_assert(CURVE_RATE == 5, "routine_sampled");

bool curve_lines_agree(void)
{
    return spool->i1.line == 64 && spool->d1.line == 64 && spool->ll.line == 64;
}

void curve_forget_lock(void)
{
    all.lock = (struct lock){ 0 };
}

// ---- A line of the sample ----

static void count(struct thread *t, u32 series, u32 stack, u32 shift, u32 distance, u32 rate)
{
    u32 size =
        distance == SIM_CURVE_FAR ? SIM_CURVE_SIZES : sim_curve_fits((u64)distance << rate, shift);

    if (size) // smaller caches miss
        t->misses[spool->curve.counters - 1 + spool_curve_counter(series, stack, size)] +=
            UINT64_C(1) << rate;
}

// Whether the line is new; *rate: of the stack that says so.
static bool use(struct thread *t, struct pair *p, u64 line, u32 series, u32 shift, u32 *rate)
{
    u32 distance = sim_curve_use(&p->near, line);

    if (!distance) // it is on top of the other, too
        return false;
    count(t, series, SPOOL_CURVE_SMALL, shift, distance, CURVE_RATE);
    *rate = p->far.rate;
    if (!sim_curve_samples(line, *rate))
        return false;
    distance = sim_curve_use(&p->far, line);
    count(t, series, SPOOL_CURVE_LARGE, shift, distance, *rate);
    return distance == SIM_CURVE_FAR;
}

static void data_line(struct thread *t, u64 line, bool write)
{
    u32 rate;

    if (!curve_samples(line))
        return;
    t->curve->refs++;
    use(t, &t->curve->data, line, write ? SPOOL_CURVE_WRITE : SPOOL_CURVE_READ, tb_config.d1_shift,
        &rate);
}

static void code_line(struct thread *t, u64 line)
{
    u32 rate;

    if (curve_samples(line))
        use(t, &t->curve->code, line, SPOOL_CURVE_FETCH, tb_config.i1_shift, &rate);
}

void curve_data(struct thread *t, u64 addr, u32 size, bool write)
{
    u64 first = addr >> tb_config.d1_shift, last = (addr + size - 1) >> tb_config.d1_shift;

    data_line(t, first, write);
    if (last != first)
        data_line(t, last, write);
}

void curve_fetch(struct thread *t, u64 pc, u32 len)
{
    u64 first = pc >> tb_config.i1_shift, last = (pc + len - 1) >> tb_config.i1_shift;

    code_line(t, first);
    if (last != first)
        code_line(t, last);
}

// ---- LL ----

// Its holder may have been killed.
static void take_lock(void)
{
    lock_take_of_dead(&all.lock, curve_is_orphan);
}

static void halve(u64 *lines)
{
    for (u32 i = 0; i < SPOOL_CURVE_POINTS / 2; i++)
        lines[i] = lines[2 * i + 1] ? lines[2 * i + 1] : lines[2 * i];
    memset(lines + SPOOL_CURVE_POINTS / 2, 0, SPOOL_CURVE_POINTS / 2 * sizeof(*lines));
}

// Notes how many lines have been touched by now. Interval i has their number at its end; when there
// are no more intervals, two become one.
static void grows(void)
{
    struct spool_curve *c = &spool->curve;
    u64 i = all.refs / c->interval;

    while (i >= SPOOL_CURVE_POINTS) {
        halve(c->lines[0]);
        halve(c->lines[1]);
        c->interval *= 2;
        i /= 2;
    }
    c->lines[0][i] = all.lines[0];
    c->lines[1][i] = all.lines[1];
}

static void ll_line(struct thread *t, u64 line, u32 series)
{
    bool code = series == SPOOL_CURVE_LL + SPOOL_CURVE_FETCH;
    u32 rate;

    if (!curve_samples(line))
        return;
    take_lock();
    all.refs += t->curve->refs << CURVE_RATE;
    t->curve->refs = 0;
    if (use(t, &all.ll, line, series, all.ll_shift, &rate)) {
        all.lines[code] += UINT64_C(1) << rate;
        grows();
    }
    spool->curve.refs = all.refs;
    lock_drop(&all.lock);
}

static void missed(struct thread *t, u64 addr, u32 size, u32 series)
{
    u64 first = addr >> all.ll_shift, last = (addr + size - 1) >> all.ll_shift;

    ll_line(t, first, series);
    if (last != first)
        ll_line(t, last, series);
}

void curve_data_missed(struct thread *t, u64 addr, u32 size, bool write)
{
    missed(t, addr, size, SPOOL_CURVE_LL + (write ? SPOOL_CURVE_WRITE : SPOOL_CURVE_READ));
}

void curve_fetch_missed(struct thread *t, u64 pc, u32 len)
{
    missed(t, pc, len, SPOOL_CURVE_LL + SPOOL_CURVE_FETCH);
}
