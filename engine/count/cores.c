// SPDX-License-Identifier: MIT
// The cores of threads (cores.h).
#include "engine/count/cores.h"

#include "engine/base/heap.h"
#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/callgraph/calls.h"
#include "engine/codecache/fragment.h"
#include "engine/count/levels.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"

#define REFS  64u // of an instruction, at a time: a string instruction has more
#define AHEAD 64u

// An interval is at most so many of the usual ones, and so many instructions: 32 bits have two.
#define MOST_INTERVALS 32u
#define MOST_INSNS     1000000000u

struct cores {
    struct core *core; // of this thread; with --serialize-threads, of all
    // Sampling. All are numbers of instructions.
    u64 executed;              // up to the interval's end
    u32 rest;                  // of the interval, after its window
    u32 weight;                // of a timed one
    struct spool_sampled sums; // of the window, not in the spool yet
    struct cores_insn now; // a copy: the fragment may be dropped before a branch's outcome is known
    bool open;
    struct core_exec exec;
    struct core_ref ref[REFS];
    u32 aheads;
    struct {
        u64 addr;
        u8 level;
    } ahead[AHEAD];
};

_Static_assert((u32)SPOOL_SAMPLED_CAUSES == (u32)CORE_CAUSES, "one sum for each");
_Static_assert(CORES_MARGIN > FRAGMENT_INSNS_MAX, "a record is smaller");

static void begin_phase(struct thread *t, enum cores_phase phase, u32 insns)
{
    t->core_phase = phase;
    t->core_left = (s64)insns - CORES_MARGIN;
}

// Where the zone of an interval begins: at random, always alike. A program that does the same thing
// every so many instructions would otherwise show the same part of it in all windows.
static u32 place_in(u64 begin, u32 room)
{
    u64 h = (begin + 1) * 0x9e3779b97f4a7c15ul;

    h = (h ^ h >> 32) * 0xd6e8feb86659fd93ul;
    return room ? (u32)((h ^ h >> 32) % room) : 0;
}

static u64 longest(const struct spool_sampling *s, u64 executed)
{
    u64 n = s->growth ? executed / s->growth : 0, most = (u64)s->interval * MOST_INTERVALS;

    n = n < most ? n : most;
    n = n < MOST_INSNS ? n : MOST_INSNS;
    return n > s->interval ? n : s->interval;
}

// The next interval: a tenth of what has been executed, so that short programs are seen as well as
// long ones, in whole windows. How near an estimate is depends on the number of windows, not on
// their share, so a long program's are far apart.
static u64 length(const struct cores *c)
{
    const struct spool_sampling *s = &spool->machine.sampling;
    u32 least = s->window + s->run_in + s->learn;
    u64 n = c->executed / 10, most = longest(s, c->executed);

    if (n < least)
        n = least;
    n = n < most ? n : most;
    if (n == s->interval)
        return n;
    n += s->window - 1;
    n -= n % s->window;
    return n;
}

static void begin_interval(struct thread *t, struct cores *c)
{
    const struct spool_sampling *s = &spool->machine.sampling;
    u64 n = length(c);
    u32 room = (u32)n - s->window - s->run_in - s->learn, at = place_in(c->executed, room + 1);

    begin_phase(t, CORES_OFF, c->rest + at);
    c->executed += n;
    c->rest = room - at;
    c->weight = (u32)n / s->window;
}

// The window's sums; another thread's may be added at the same time.
static void publish(struct cores *c)
{
    u64 *from = (u64 *)&c->sums, *to = (u64 *)&spool->sampled;

    for (u32 i = 0; i < sizeof(c->sums) / sizeof(u64); i++)
        if (from[i])
            __atomic_fetch_add(&to[i], from[i], __ATOMIC_RELAXED);
    memset(&c->sums, 0, sizeof(c->sums));
}

// The instruction that has ended was the phase's last.
static void next_phase(struct thread *t, struct cores *c)
{
    const struct spool_sampling *s = &spool->machine.sampling;

    switch ((enum cores_phase)t->core_phase) {
    case CORES_OFF: begin_phase(t, CORES_LEARN, s->learn); break;
    case CORES_LEARN: begin_phase(t, CORES_RUN_IN, s->run_in); break;
    case CORES_RUN_IN: begin_phase(t, CORES_TIMED, s->window); break;
    case CORES_TIMED:
        publish(c);
        begin_interval(t, c);
        break;
    }
}

// A core that has executed nothing; old: memory of an earlier one, or NULL.
static struct core *make_core(struct core *old)
{
    if (old)
        sys_madvise((u64)old, PAGE_UP(sizeof(*old)), MADV_DONTNEED);
    else
        old = heap_large(sizeof(*old));
    core_init(old, &spool->machine.core);
    return old;
}

void cores_thread_init(struct thread *t)
{
    static struct core *serial;
    struct core *core;

    if (!tb_config.core)
        return;
    if (!t->cores)
        t->cores = heap_large(sizeof(*t->cores));
    core = serial ? serial : make_core(t->cores->core);
    *t->cores =
        (struct cores){ .core = core, .weight = 1, .executed = spool->machine.sampling.first };
    begin_phase(t, CORES_TIMED, spool->machine.sampling.first);
    if (spool->flags & SPOOL_F_SERIALIZE)
        serial = core;
}

#define ENDLESS (1l << 62) // instructions

void cores_ahead_begin(struct thread *a)
{
    if (!a->cores)
        a->cores = heap_large(sizeof(*a->cores));
    a->cores->open = false;
    a->core_phase = CORES_OFF;
    a->core_left = ENDLESS;
}

u64 cores_ahead_insns(const struct thread *a)
{
    return (u64)(ENDLESS - a->core_left);
}

void cores_learn_fetch(struct thread *t, u64 pc, u32 bytes)
{
    core_learn_line(t->cores->core, pc);
    core_learn_line(t->cores->core, pc + bytes - 1);
}

void cores_learn_branch(struct thread *t, u32 pc)
{
    core_learn_branch(t->cores->core, pc);
}

void cores_weigh_branch(struct thread *t, u32 counter, enum cores_branch_kind kind, bool missed)
{
    struct cores *c = t->cores;

    if (t->core_phase != CORES_TIMED)
        return;
    c->sums.branches[kind] += c->weight;
    if (!missed)
        return;
    c->sums.missed[kind] += c->weight;
    calls_count(t, counter, c->weight);
}

// The latencies of an execution's data and code, and its cycles in parts; it stands for others.
static void count_parts(struct thread *t, struct cores *c, const u64 parts[CORE_CAUSES])
{
    const struct core_machine *m = &spool->machine.core;
    const u16 latency[] = {
        [CORE_AT_L1] = 0, [CORE_AT_L2] = m->l2, [CORE_AT_LL] = m->ll, [CORE_AT_MEMORY] = m->memory
    };
    u64 *own = t->misses + c->now.counter + SPOOL_CY_EVENTS, sum = 0;

    if (t->core_phase != CORES_TIMED)
        return;
    for (u32 i = 0; i < c->exec.refs; i++)
        sum += latency[c->ref[i].level];
    own[SPOOL_LATENCY_DATA] += sum * c->weight;
    if (c->exec.fetches)
        own[SPOOL_LATENCY_CODE] += latency[c->exec.level] * c->weight;
    for (u32 i = 0; i < CORE_CAUSES; i++) {
        if (!parts[i])
            continue;
        calls_count(t, c->now.counter + 1 + i, parts[i] * c->weight);
        c->sums.cycles[i] += parts[i] * c->weight;
    }
}

// Adds 0, too, where it is not to be predicted whether it is 0.
static void add_cycles(struct thread *t, u32 counter, u64 n)
{
    t->misses[counter] += n;
    if (tb_config.calls && n)
        calls_counted(t, counter, n);
}

static void count_cycles(struct thread *t, struct cores *c, const u64 parts[CORE_CAUSES])
{
    u64 cycles[CORE_CAUSES], all;

    core_cycles(c->core, parts, cycles);
    all = cycles[CORE_BASE];
    add_cycles(t, c->now.counter + 1 + CORE_BASE, all);
    for (u32 i = CORE_BASE + 1; i < CORE_CAUSES; i++) {
        if (!cycles[i])
            continue;
        calls_count(t, c->now.counter + 1 + i, cycles[i]);
        all += cycles[i];
    }
    add_cycles(t, c->now.counter, all);
}

static void run(struct thread *t, struct cores *c)
{
    u64 parts[CORE_CAUSES];

    core_run(c->core, &c->exec, parts);
    if (tb_config.sampled)
        count_parts(t, c, parts);
    else
        count_cycles(t, c, parts);
    for (u32 i = 0; i < c->aheads; i++)
        core_ahead(c->core, c->ahead[i].addr, (enum core_level)c->ahead[i].level);
    c->aheads = 0;
    c->exec.refs = 0;
    c->exec.fetches = false;
}

void cores_end(struct thread *t)
{
    struct cores *c = t->cores;

    if (!c->open)
        return;
    c->open = false;
    run(t, c);
}

// An instruction begins, and phases perhaps, whose bits it returns.
static u32 advance(struct thread *t, struct cores *c, const struct cores_insn *i)
{
    u32 begun = 0;

    while (t->core_left == -CORES_MARGIN) {
        next_phase(t, c);
        begun |= 1u << t->core_phase;
        // Whether a fetch has been said depends on how the program was recorded.
        if (t->core_phase == CORES_LEARN)
            core_learn_line(c->core, i->pc);
    }
    t->core_left--;
    return begun;
}

u32 cores_begin(struct thread *t, const struct cores_insn *i)
{
    struct cores *c = t->cores;
    u32 begun = 0;

    cores_end(t);
    if (tb_config.sampled)
        begun = advance(t, c, i);
    if (tb_config.sampled && t->core_phase < CORES_RUN_IN)
        return begun;
    __builtin_prefetch(t->misses + i->counter, 1); // of a large program, not in the host's L1
    c->now = *i;
    c->open = true;
    if (tb_config.sampled && t->core_phase == CORES_TIMED) {
        calls_count(t, i->counter, c->weight);
        c->sums.insns += c->weight;
        c->sums.timed++;
    }
    c->exec.op = &c->now.op;
    c->exec.pc = i->pc;
    c->exec.ref = c->ref;
    c->exec.taken = (i->op.flags & (CORE_F_BRANCH | CORE_F_COND)) == CORE_F_BRANCH;
    c->exec.mispredicted = false;
    return begun;
}

static void take_ahead(struct cores *c, const struct levels_found *f)
{
    for (u32 i = 0; i < f->n && c->aheads < AHEAD; i++) {
        c->ahead[c->aheads].addr = f->ahead[i].addr;
        c->ahead[c->aheads++].level = f->ahead[i].level;
    }
}

void cores_fetch(struct thread *t, bool missed)
{
    struct cores *c = t->cores;
    const struct levels_found *f = levels_found(t);

    if (!c->open)
        return;
    c->exec.fetches = true;
    c->exec.level = missed ? f->level : CORE_AT_L1;
    c->exec.translation = missed ? f->translation : CORE_TLB_HIT;
}

// Whether a string instruction has just referred to this line.
static bool again(const struct cores *c, const struct core_ref *r)
{
    for (u32 i = c->exec.refs > 2 ? c->exec.refs - 2 : 0; i < c->exec.refs; i++) {
        const struct core_ref *o = &c->ref[i];

        if (o->addr / CORE_LINE == r->addr / CORE_LINE && o->reads == r->reads &&
            o->writes == r->writes)
            return true;
    }
    return false;
}

void cores_ref(struct thread *t, u64 addr, u32 size, u32 counter, bool missed)
{
    struct cores *c = t->cores;
    const struct levels_found *f = levels_found(t);
    struct core_ref r = { .addr = addr, .size = (u16)size };

    if (!c->open)
        return;
    core_expect_ref(c->core, addr);
    r.writes =
        c->now.writes == ~0u ? (c->now.op.flags & CORE_F_STORE) != 0 : counter == c->now.writes;
    r.reads = counter != c->now.writes;
    if (missed) {
        r.level = f->level;
        take_ahead(c, f);
    }
    r.translation = levels_translation(t, addr, size, missed);
    if (c->now.op.class == CORE_C_STRING && !missed && again(c, &r))
        return;
    if (c->exec.refs == REFS)
        run(t, c);
    c->ref[c->exec.refs++] = r;
}

void cores_branch(struct thread *t, bool taken, bool mispredicted)
{
    struct cores *c = t->cores;

    if (!c->open)
        return;
    c->exec.taken = taken;
    c->exec.mispredicted = mispredicted;
    cores_end(t);
}
