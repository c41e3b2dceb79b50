// SPDX-License-Identifier: MIT
// The simulated caches and predictors of threads (caches.h).
#include "engine/count/caches.h"

#include "engine/base/cpu.h"
#include "engine/base/heap.h"
#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/callgraph/calls.h"
#include "engine/count/cores.h"
#include "engine/count/curve.h"
#include "engine/count/levels.h"
#include "engine/count/ll.h"
#include "engine/count/reftrace.h"
#include "engine/count/tage.h"
#include "engine/count/vector.h"
#include "engine/objects/lineuse.h"
#include "engine/objects/sharing.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/thread/stopworld.h"
#include "sim/branch.h"
#include "sim/cache.h"
#include "sim/predict.h"
#include "sim/stamps.h"

struct sim_state {
    // d1's tags are in the thread's area if translated code reads them
    struct sim_cache i1, d1;
    struct sim_branch *branch;   // in the thread's area, for translated code
    u32 *i1_ids;                 // instead of i1: line ids, in the thread's area
    struct sim_stamps stamps;    // instead of d1, with tb_config.stamps
    struct sim_predict *predict; // with tb_config.predictor
};

static struct sim_geometry geometry(const struct spool_geometry *g)
{
    struct sim_geometry s = { g->size, g->assoc, g->line };

    return s;
}

// --serialize-threads: the state of caches and predictor moves with the turn, from area to area.
static struct {
    struct sim_state *first; // all threads use its caches outside of the areas
    struct thread *last;     // its area has the state; NULL: the copies below do
    struct sim_branch branch;
    u64 hist;
    void *i1, *d1;
} serial;

static u64 i1_bytes(void)
{
    return tb_config.i1_fast ? (u64)tb_config.i1_sets * spool->i1.assoc * sizeof(u32) : 0;
}

static u64 d1_bytes(void)
{
    return tb_config.d1_fast ? ((u64)tb_config.d1_sets * spool->d1.line) << tb_config.d1_scale : 0;
}

struct thread *caches_holder(void)
{
    return serial.last;
}

void caches_turn(struct thread *t)
{
    struct thread *l = serial.last;
    u8 *area = (u8 *)t->self;

    if (l == t)
        return;
    memcpy(area + TA_I1, l ? (u8 *)l->self + TA_I1 : serial.i1, i1_bytes());
    memcpy(area + TA_D1, l ? (u8 *)l->self + TA_D1 : serial.d1, d1_bytes());
    *t->sim->branch = l ? *l->sim->branch : serial.branch;
    t->hist = l ? l->hist : serial.hist;
    serial.last = t;
}

// Sets that AVX-512 searches start at whole vectors.
u32 caches_d1_stride(void)
{
    u32 assoc = spool->d1.assoc;

    return assoc > 8 && assoc < 16 && tb_config.d1_sets * 16 <= SIM_STAMPS_MAX ? 16 : assoc;
}

static void caches_make(struct thread *t)
{
    struct sim_geometry i1 = geometry(&spool->i1), d1 = geometry(&spool->d1);
    struct sim_state *s = t->sim;
    u8 *area = (u8 *)t->self;
    bool mine = !((spool->flags & SPOOL_F_SERIALIZE) && serial.first);

    if (tb_config.stamps) {
        t->clock = CACHES_TICK; // later than the stamps of empty ways
        sim_stamps_init(&s->stamps, &d1, caches_d1_stride(), (u64 *)(area + TA_D1_TAGS),
                        (u64 *)(area + TA_D1_STAMPS), (u16 *)(area + TA_D1_HINTS));
        return;
    }
    if (tb_config.i1_fast)
        s->i1_ids = (u32 *)(area + TA_I1);
    if (mine)
        sim_cache_init_zeroed(&s->i1, &i1,
                              tb_config.i1_fast ? NULL : heap_pages(sim_cache_bytes(&i1)));
    else
        s->i1 = serial.first->i1;
    if (tb_config.d1_fast) {
        sim_cache_init_zeroed(&s->d1, &d1, area + TA_D1);
        s->d1.stride = (d1.line << tb_config.d1_scale) / (u32)sizeof(u64);
    } else if (mine) {
        sim_cache_init_zeroed(&s->d1, &d1, heap_pages(sim_cache_bytes(&d1)));
    } else {
        s->d1 = serial.first->d1;
    }
}

static void zero_pages(void *p, u64 n)
{
    if (n <= 64 * 1024)
        memset(p, 0, n);
    else
        sys_madvise((u64)p, PAGE_UP(n), MADV_DONTNEED);
}

// Forgets the sorted ways of D1's sets; they are valid only while the clock runs on.
static void orders_forget(struct thread *t)
{
    zero_pages((u8 *)t->self + TA_D1_ORDER, tb_config.d1_sets * TA_D1_ORDER_SIZE);
}

// Clears I1's tags and stamps, and D1's stamps: stamps later than the new clock would make empty
// ways the last to be replaced. I1's hints say which lines are present; stale hints of D1 do no
// harm.
static void stamps_forget(struct thread *t)
{
    sys_madvise((u64)t->self + TA_REPLAY, TA_REPLAY_END - TA_REPLAY, MADV_DONTNEED);
    memset((u8 *)t->self + TA_D1_STAMPS, 0, tb_config.d1_sets * caches_d1_stride() * sizeof(u64));
    memset((u8 *)t->self + TA_D1_NEXT, 0, tb_config.d1_sets * sizeof(u64));
    orders_forget(t);
    caches_make(t);
}

// For a slot that another thread has used.
static void caches_forget(struct thread *t)
{
    struct sim_geometry i1 = geometry(&spool->i1), d1 = geometry(&spool->d1);
    struct sim_state *s = t->sim;

    if (tb_config.stamps) {
        stamps_forget(t);
        return;
    }
    zero_pages((u8 *)t->self + TA_I1, i1_bytes());
    zero_pages((u8 *)t->self + TA_D1, d1_bytes());
    if (spool->flags & SPOOL_F_SERIALIZE)
        return;
    if (!tb_config.i1_fast)
        memset(s->i1.tags, 0, sim_cache_bytes(&i1));
    if (!tb_config.d1_fast)
        memset(s->d1.tags, 0, sim_cache_bytes(&d1));
}

void caches_clear(void)
{
    struct sim_geometry i1 = geometry(&spool->i1), d1 = geometry(&spool->d1);

    if (!(spool->flags & SPOOL_F_CACHE_SIM))
        return;
    reftrace_cleared();
    for (struct thread *t = threads_first(); t; t = t->next) {
        if (tb_config.stamps) {
            stamps_forget(t);
            continue;
        }
        zero_pages((u8 *)t->self + TA_I1, i1_bytes());
        zero_pages((u8 *)t->self + TA_D1, d1_bytes());
        if (!tb_config.i1_fast)
            memset(t->sim->i1.tags, 0, sim_cache_bytes(&i1));
        if (!tb_config.d1_fast)
            memset(t->sim->d1.tags, 0, sim_cache_bytes(&d1));
    }
    if (!tb_config.stamps) {
        memset(serial.i1, 0, i1_bytes());
        memset(serial.d1, 0, d1_bytes());
    }
    ll_clear();
}

// The latest stamp, of sets `stride` ways apart.
static u64 latest(u64 at, u32 sets, u32 assoc, u32 stride)
{
    const u64 *stamp = (const u64 *)at;
    u64 last = 0;

    for (u32 i = 0; i < sets * stride; i++)
        if (i % stride < assoc && stamp[i] > last)
            last = stamp[i];
    return last;
}

void caches_restore_clock(struct thread *t)
{
    u64 i1, d1;

    if (!tb_config.stamps)
        return;
    i1 = latest((u64)t->self + TA_I1_STAMPS, tb_config.i1_sets, spool->i1.assoc, spool->i1.assoc);
    d1 =
        latest((u64)t->self + TA_D1_STAMPS, tb_config.d1_sets, spool->d1.assoc, caches_d1_stride());
    t->clock = (i1 > d1 ? i1 : d1) + CACHES_TICK;
    orders_forget(t);
}

static void predict_set(struct sim_predict *p)
{
    const struct spool_machine *m = &spool->machine;

    p->deep_returns = m->deep_returns != 0;
    p->large = m->predict_large;
    p->large_indirect = m->indirect_large;
    p->path_less = m->path_bits ? ~0ul << m->path_bits : 0;
}

int caches_thread_init(struct thread *t)
{
    struct sim_state *s = t->sim;
    u8 *area = (u8 *)t->self;

    if (!s) {
        s = heap_alloc(sizeof(*s));
        t->sim = s;
        s->branch = (struct sim_branch *)(area + TA_BRANCH);
        if (tb_config.predictor)
            s->predict = (spool->flags & SPOOL_F_SERIALIZE) && serial.first
                             ? serial.first->predict
                             : heap_pages(sizeof(*s->predict));
        if (spool->flags & SPOOL_F_CACHE_SIM)
            caches_make(t);
    } else {
        memset(s->branch, 0, sizeof(*s->branch));
        if (tb_config.predictor && !(spool->flags & SPOOL_F_SERIALIZE))
            zero_pages(s->predict, sizeof(*s->predict));
        if (spool->flags & SPOOL_F_CACHE_SIM)
            caches_forget(t);
    }
    if (tb_config.predictor)
        predict_set(s->predict);
    ll_thread_init(t);
    levels_thread_init(t);
    cores_thread_init(t);
    curve_thread_init(t);
    reftrace_thread_init(t);
    lineuse_thread_init(t);
    t->sharing_seen = 0;
    t->hist = 0;
    if (!serial.first) {
        serial.first = s;
        serial.i1 = heap_alloc(i1_bytes());
        serial.d1 = heap_alloc(d1_bytes());
    } else {
        ll_share();
        sharing_begin();
    }
    return 0;
}

void caches_thread_fini(struct thread *t)
{
    // The state stays with the slot for the next thread.
    if (serial.last == t) {
        memcpy(serial.i1, (u8 *)t->self + TA_I1, i1_bytes());
        memcpy(serial.d1, (u8 *)t->self + TA_D1, d1_bytes());
        serial.branch = *t->sim->branch;
        serial.hist = t->hist;
        serial.last = NULL;
    }
}

void caches_before_fork(void)
{
    ll_before_fork();
}

void caches_fork_child(void)
{
    ll_fork_child();
    sharing_fork_child();
}

bool caches_by_vectors(void)
{
    u32 below = spool->ll.line;

    if ((spool->flags & SPOOL_F_L2) && spool->machine.l2.line < below)
        below = spool->machine.l2.line;
    return tb_config.vectors && ll_takes_batches() && spool->i1.assoc <= 16 &&
           spool->d1.assoc <= 16 && below >= spool->d1.line && below >= spool->i1.line;
}

bool caches_d1_by_whole_vectors(void)
{
    return caches_by_vectors() && vector_sets.ll_set && tb_config.d1_sets <= SIM_STAMPS_HINTS &&
           (tb_config.vectors == 32 || cpu.pext);
}

bool caches_by_whole_vectors(void)
{
    return caches_d1_by_whole_vectors() &&
           !(tb_config.vectors == 64 && tb_config.calls && !tb_config.calls_lazy);
}

static bool is_in_d1(const struct thread *t, u64 line)
{
    const struct sim_stamps *s = &t->sim->stamps;
    const struct sim_cache *c = &t->sim->d1;
    bool stamps = tb_config.stamps;
    const u64 *way = stamps ? s->tags + (line & s->set_mask) * s->stride
                            : c->tags + (line & c->set_mask) * c->stride;
    u64 tag = line << tb_config.d1_shift | (stamps ? 0 : c->low);

    for (u32 i = 0; i < spool->d1.assoc; i++)
        if (way[i] == tag)
            return true;
    return false;
}

void caches_init(void)
{
    stopworld_on_turn = caches_turn;
    if (!(spool->flags & SPOOL_F_CACHE_SIM))
        return;
    lineuse_in_d1 = is_in_d1;
    vector_sets.d1_shift = tb_config.d1_shift;
    vector_sets.i1_shift = tb_config.i1_shift;
    vector_sets.d1_low = spool->d1.line - 1;
    vector_sets.d1_mask = tb_config.d1_sets - 1;
    vector_sets.d1_stride = caches_d1_stride();
    vector_sets.d1_line = -(u64)spool->d1.line;
    vector_sets.i1_mask = tb_config.i1_sets - 1;
    vector_sets.d1_assoc = spool->d1.assoc;
    vector_sets.i1_assoc = spool->i1.assoc;
    vector_sets.d1_ways = (1u << (spool->d1.assoc & 31)) - 1; // unused above 16 ways
    vector_sets.i1_ways = (1u << (spool->i1.assoc & 31)) - 1;
    ll_init();
    curve_init();
}

void (*caches_two_lines)(struct thread *t, u64 addr, u32 size, u32 counter);

// A miss of an L1. `counter` counts the L1 miss, the next one the LL miss.
void caches_l1_missed(struct thread *t, u64 addr, u32 size, u32 counter)
{
    ll_ref(t, addr, size, counter);
}

u32 caches_ids(void)
{
    return levels_are_on() ? LL_ID_LEVELS : TA_I1_IDS;
}

u32 caches_fetch_bits(u32 id)
{
    if (!tb_config.ahead)
        return levels_are_on() ? LL_FETCH : 0;
    return LL_FETCH | (id < caches_ids() ? id << LL_ID_SHIFT : 0);
}

void caches_i1_missed(struct thread *t, u64 addr, u32 size, u32 counter, u32 id)
{
    if (tb_config.curve)
        curve_fetch_missed(t, addr, size);
    ll_ref(t, addr, size | caches_fetch_bits(id), counter);
}

// With --curve lines of the sample, with --data those that threads share and those that are
// followed: code that is generated for hits leaves them to C, because they are hinted to be in
// another way than they are.
static bool is_for_c(const struct thread *t, u64 line)
{
    return curve_samples(line) || sharing_watches(line) || lineuse_is_for_c(t, line);
}

// The way that is hinted for such a line, `by` ways further; and back.
static u32 way_beside(const struct sim_stamps *c, u32 way, bool back)
{
    u32 all = (c->set_mask + 1) * c->stride, by = c->set_mask ? c->stride : 1;

    return (way + (back ? all - by : by)) % all;
}

static void d1_hint(const struct thread *t, struct sim_stamps *c, u64 line, u32 way)
{
    c->hints[line % SIM_STAMPS_HINTS] = (u16)(is_for_c(t, line) ? way_beside(c, way, false) : way);
}

static void hint_beside(struct sim_stamps *c, u16 *hint)
{
    *hint = (u16)way_beside(c, *hint, false);
}

// At first all lines: which of them another thread knows is not known yet. A hint for another line
// with the same place is moved, too, and found again by C.
void caches_replays(struct thread *t)
{
    struct sim_stamps *c = &t->sim->stamps;
    u32 seen = t->sharing_seen, now;

    if (!sharing_is_on() || !tb_config.stamps || seen == (now = sharing_changes()))
        return;
    t->sharing_seen = now;
    for (u32 i = 0; !seen && i < SIM_STAMPS_HINTS; i++) {
        hint_beside(c, &c->hints[i]);
        // In a D1 of two sets, moved twice is where it was.
        if (is_for_c(t, c->tags[c->hints[i]] >> c->line_shift))
            hint_beside(c, &c->hints[i]);
    }
    for (u32 i = 0; seen && i < SHARING_LINES; i++) {
        u64 line = sharing_line(i);
        u16 *hint = &c->hints[line % SIM_STAMPS_HINTS];

        if (line != SHARING_NONE && c->tags[*hint] == line << c->line_shift)
            hint_beside(c, hint);
    }
}

static bool d1_touch(struct thread *t, struct sim_stamps *c, u64 a)
{
    u64 line = a >> c->line_shift;
    u32 first = (u32)(line & c->set_mask) * c->stride, hint = c->hints[line % SIM_STAMPS_HINTS];
    struct sim_stamps_way r;

    t->clock += CACHES_TICK;
    if (is_for_c(t, line))
        hint = way_beside(c, hint, true);
    if (c->tags[hint] == (a & ~c->low)) { // as routines do
        c->stamps[hint] = t->clock;
        return false;
    }
    if (tb_config.vectors != 64) {
        bool miss = sim_stamps_touch(c, a, t->clock);

        if (miss && t->lineuse)
            lineuse_missed(t, a);
        if (tb_config.curve || t->lineuse || sharing_is_on())
            d1_hint(t, c, line, c->hints[line % SIM_STAMPS_HINTS]);
        return miss;
    }
    r = vector_touch64(c->tags + first, c->stamps + first, c->assoc, a & ~c->low, t->clock);
    if (r.miss && t->lineuse)
        lineuse_missed(t, a);
    d1_hint(t, c, line, first + r.way);
    return r.miss;
}

// sim_cache_ref() with stamps.
static bool d1_stamps(struct thread *t, u64 addr, u32 size)
{
    struct sim_stamps *c = &t->sim->stamps;
    u64 end = addr + size - 1;
    bool miss = d1_touch(t, c, addr);

    if ((addr ^ end) > c->low)
        miss |= d1_touch(t, c, end & ~c->low);
    return miss;
}

// sim_cache_ref(), where lines may be followed.
static bool d1_lines(struct thread *t, u64 addr, u32 size)
{
    struct sim_cache *c = &t->sim->d1;
    u64 end = (addr + size - 1) & ~c->low;
    bool miss = sim_cache_touch(c, addr), second;

    if (miss)
        lineuse_missed(t, addr);
    if ((addr ^ end) <= c->low)
        return miss;
    second = sim_cache_touch(c, end);
    if (second)
        lineuse_missed(t, end);
    return miss || second;
}

// -- a buffer that is simulated ahead (ahead.h) --

void caches_ahead_init(struct thread *a)
{
    if (!a->sim)
        a->sim = heap_alloc(sizeof(*a->sim));
    a->sim->branch = (struct sim_branch *)((u64)a->self + TA_BRANCH);
}

void caches_ahead_empty(struct thread *a)
{
    u8 *area = (u8 *)a->self;
    u32 *tags = (u32 *)(area + TA_I1_TAGS), n = tb_config.i1_sets * spool->i1.assoc;
    u16 *hints = (u16 *)(area + TA_I1_HINTS);

    for (u32 i = 0; i < n; i++)
        if (tags[i] < TA_I1_IDS)
            hints[tags[i]] = 0;
    memset(tags, 0, n * sizeof(*tags));
    memset(area + TA_I1_STAMPS, 0, n * sizeof(u64));
    memset(area + TA_I1_NEXT, 0, tb_config.i1_sets * sizeof(u64));
    memset(area + TA_D1_STAMPS, 0, tb_config.d1_sets * caches_d1_stride() * sizeof(u64));
    memset(area + TA_D1_NEXT, 0, tb_config.d1_sets * sizeof(u64));
    orders_forget(a);
    caches_make(a);
}

static bool d1_ref(struct thread *t, u64 addr, u32 size)
{
    bool missed;

    if (!t->lineuse)
        return tb_config.stamps ? d1_stamps(t, addr, size) : sim_cache_ref(&t->sim->d1, addr, size);
    missed = tb_config.stamps ? d1_stamps(t, addr, size) : d1_lines(t, addr, size);
    lineuse_touched(t, addr, size, 1);
    return missed;
}

void caches_dref(struct thread *t, u64 addr, u32 size, u32 counter)
{
    bool write = size & CACHES_WRITE, missed;

    if (sharing_is_on())
        sharing_ref(t, addr, size & ~(CACHES_WRITE | CACHES_STORES), size & CACHES_STORES, counter);
    size &= ~(CACHES_WRITE | CACHES_STORES);
    if (tb_config.curve)
        curve_data(t, addr, size, write);
    if (t->is_ahead && (addr ^ (addr + size - 1)) > t->sim->stamps.low) {
        caches_two_lines(t, addr, size, counter);
        return;
    }
    missed = d1_ref(t, addr, size);
    if (missed && tb_config.curve)
        curve_data_missed(t, addr, size, write);
    if (missed)
        caches_l1_missed(t, addr, size, counter);
    if (tb_config.core)
        cores_ref(t, addr, size, counter, missed);
}

static bool i1_stamps(struct thread *t, u64 a, u32 id)
{
    u8 *area = (u8 *)t->self;
    u32 first = (u32)(a >> tb_config.i1_shift & (tb_config.i1_sets - 1)) * spool->i1.assoc;
    u32 *tags = (u32 *)(area + TA_I1_TAGS);
    u64 *stamps = (u64 *)(area + TA_I1_STAMPS);
    u16 *hints = (u16 *)(area + TA_I1_HINTS);
    struct sim_stamps_way r;

    t->clock += CACHES_TICK;
    if (id < TA_I1_IDS && hints[id]) {
        stamps[hints[id] - 1] = t->clock;
        return false;
    }
    if (tb_config.vectors == 64) {
        r = vector_touch32(tags + first, stamps + first, spool->i1.assoc, id, t->clock);
        r.way += first;
    } else {
        r = sim_stamps_touch_id(tags, stamps, first, spool->i1.assoc, id, t->clock);
    }

    if (r.miss && r.old < TA_I1_IDS)
        hints[r.old] = 0;
    if (id < TA_I1_IDS)
        hints[id] = curve_samples(a >> tb_config.i1_shift) ? 0 : (u16)(r.way + 1);
    return r.miss;
}

// Whether the line with this id, at address a, misses.
static bool i1_touch(struct thread *t, u64 a, u32 id)
{
    if (tb_config.stamps)
        return i1_stamps(t, a, id);
    u32 *ways =
        t->sim->i1_ids + (a >> tb_config.i1_shift & (tb_config.i1_sets - 1)) * spool->i1.assoc;

    return ways[0] != id && sim_narrow_search(ways, spool->i1.assoc, id);
}

bool caches_touch(struct thread *t, u64 addr, u32 bits)
{
    return bits & LL_FETCH ? i1_touch(t, addr, bits >> LL_ID_SHIFT & (TA_I1_IDS - 1))
                           : d1_touch(t, &t->sim->stamps, addr);
}

static bool mispredicts(struct sim_predict *p, u64 pc, bool taken)
{
    struct sim_tage_places at;

    if (!tb_config.vectors)
        return sim_predict_cond(p, pc, taken);
    return sim_predict_learn(p, pc, taken, &at, tage_find(p, sim_tage_hash(pc), taken, &at));
}

bool caches_branch(struct thread *t, u64 pc, bool taken, u32 counter)
{
    struct sim_branch *b = t->sim->branch;
    bool missed;

    if (!cores_predicted(t))
        return false;
    if (tb_config.predictor) {
        missed = mispredicts(t->sim->predict, (u32)pc, taken);
    } else {
        b->history = t->hist >> SIM_BRANCH_ADDR_BITS;
        missed = sim_branch_cond(b, pc, taken);
        t->hist = b->history << SIM_BRANCH_ADDR_BITS;
    }
    if (missed)
        ll_counts(t);
    cores_count_branch(t, counter, CORES_BCM, missed);
    return missed;
}

bool caches_iref(struct thread *t, u64 pc, u32 len, u32 first, u32 last)
{
    bool miss;

    if (tb_config.curve)
        curve_fetch(t, pc, len);
    if (!first)
        return sim_cache_ref(&t->sim->i1, pc, len);
    miss = i1_touch(t, pc, first);
    if (last != first)
        miss |= i1_touch(t, pc + len - 1, last);
    return miss;
}

bool caches_indirect(struct thread *t, u64 branch, u64 target)
{
    struct sim_predict *p = t->sim->predict;
    u32 len = (u32)(branch >> CACHES_LENGTH) & 15;
    bool missed = false;

    if (!cores_predicted(t))
        return false;
    if (!tb_config.predictor)
        return sim_branch_indirect(t->sim->branch, (u32)branch & 511, target);
    if (!(branch & CACHES_RETURN))
        missed = sim_predict_indirect(p, (u32)branch, target);
    else if (!len)
        missed = sim_predict_return(p, (u32)branch, (u32)target);
    if (len)
        sim_predict_call(p, (u32)branch + len);
    return missed;
}

void caches_branches_begin(struct thread *t)
{
    if (tb_config.predictor && tb_config.learns)
        sim_predict_forget_calls(t->sim->predict);
}
