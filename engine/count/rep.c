// SPDX-License-Identifier: MIT
// String instructions with a rep prefix (rep.h). The processor executes them natively; their
// references are derived from the registers before and after.
#include "engine/count/rep.h"

#include "engine/base/cpu.h"
#include "engine/base/nolibc.h"
#include "engine/callgraph/calls.h"
#include "engine/codecache/helperdesc.h"
#include "engine/count/ahead.h"
#include "engine/count/caches.h"
#include "engine/count/ll.h"
#include "engine/count/reftrace.h"
#include "engine/objects/lineuse.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/x86/insn.h"

#define PULSE (1ul << 16) // references; with a core that is timed one may take 10 microseconds
#define REACH (1ul << 57) // elements: client memory has no more

// One execution.
struct run {
    struct helperdesc_rep what;
    u32 size;                // of an element
    u64 mask;                // of addresses
    u64 pc;                  // of the instruction
    u64 n;                   // elements done
    u64 rsi, rdi, seg;       // at the start; base of rsi's segment
    s64 step;                // from element to element
    bool ended;              // by the comparison
    u32 first;               // its first counter
    struct spool_counters c; // offsets from `first`
};

static bool uses_rsi(u32 op)
{
    return op == STR_MOVS || op == STR_LODS || op == STR_CMPS;
}

static u64 segment_base(const struct thread *t, const struct helperdesc_rep *what)
{
    u64 base;

    if (!uses_rsi(what->op) || !(what->fs | what->gs))
        return 0;
    if (!what->fs)
        return t->client_gs_base;
    if (!cpu.fsgsbase)
        return t->client_fs_base;
    __asm__ volatile("rdfsbase %0" : "=r"(base));
    return base;
}

// What does not depend on the execution.
static void run_begin(struct run *r, u32 what, u32 first)
{
    union helperdesc_word w = { .word = what };
    struct spool_insn rec = { .flags = (u8)(SPOOL_I_DYN | SPOOL_I_REP |
                                            (w.rep.fetch ? SPOOL_I_FETCH : 0)) };

    r->what = w.rep;
    r->size = 1u << w.rep.size_log;
    r->mask = w.rep.a32 ? 0xffffffffu : ~0ul;
    r->first = first;
    r->c = spool_insn_counters(rec, spool->flags);
}

static void run_read(struct run *r, const struct thread *t)
{
    u64 end, begin, left;

    run_begin(r, t->h_desc_high, t->h_desc_low);
    left = t->h_save[1] & r->mask;
    r->pc = t->h_addr;
    r->n = (t->rep_rcx & r->mask) - left;
    r->rsi = t->rep_rsi & r->mask;
    r->rdi = t->rep_rdi & r->mask;
    r->seg = segment_base(t, &r->what);
    end = (r->what.op == STR_LODS ? t->h_save[3] : t->h_save[4]) & r->mask;
    begin = r->what.op == STR_LODS ? r->rsi : r->rdi;
    r->step = r->size;
    if (r->n && ((end - begin) & r->mask) != ((r->n * r->size) & r->mask))
        r->step = -r->step;
    // The comparison may end it at the same time as the count: then ZF decides. lahf leaves it in
    // ah.
    r->ended =
        r->what.op >= STR_CMPS && r->n && (left || (t->h_save[9] >> 14 & 1) == r->what.repne);
}

static void read(struct thread *t, const struct run *r, u64 addr)
{
    reftrace_ref(REFTRACE_READ, addr, r->size, false);
    caches_dref(t, addr, r->size, r->first + r->c.d1mr);
}

static void write(struct thread *t, const struct run *r, u64 addr)
{
    reftrace_ref(REFTRACE_WRITE, addr, r->size, false);
    caches_dref(t, addr, r->size | caches_way(false, true), r->first + r->c.d1mw);
}

static u64 source(const struct run *r, u64 i)
{
    return ((r->rsi + (u64)((s64)i * r->step)) & r->mask) + r->seg;
}

static u64 destination(const struct run *r, u64 i)
{
    return (r->rdi + (u64)((s64)i * r->step)) & r->mask;
}

// The references of element i, in Cachegrind's order.
static void element(struct thread *t, const struct run *r, u64 i)
{
    u64 s = source(r, i), d = destination(r, i);

    switch (r->what.op) {
    case STR_MOVS:
        read(t, r, s);
        write(t, r, d);
        break;
    case STR_STOS: write(t, r, d); break;
    case STR_LODS: read(t, r, s); break;
    case STR_SCAS: read(t, r, d); break;
    default: // cmps: the second operand first
        read(t, r, d);
        read(t, r, s);
        break;
    }
}

static void branch(struct thread *t, const struct run *r, bool taken)
{
    reftrace_cond(r->pc, taken, false);
    caches_branch(t, r->pc, taken, r->first + r->c.bcm);
}

// One instruction may access all of the client's memory, which takes long. Whoever waits for its
// replay sees by this pulse that it goes on: every PULSE references, and after each instruction. i:
// the number of references so far. @per-iteration
static void pulse(struct thread *t, u64 i)
{
    if (UNLIKELY(!(i & (PULSE - 1))))
        __atomic_store_n(&t->replay_pulse, t->replay_pulse + 1, __ATOMIC_RELAXED);
}

// Passes as tests/compat/reference-model.md has them: the first fetch was counted with the
// instruction; a pass begins with the test of the count, does an element, and for scas and cmps
// tests the comparison.
static void passes(struct thread *t, const struct run *r)
{
    bool compares = r->what.op >= STR_CMPS;
    u64 all = r->n + !r->ended;

    ahead_count(t, r->first + r->c.rep_ir, all ? all - 1 : 0);
    if (tb_config.branch)
        ahead_count(t, r->first + r->c.rep_bc, all + (compares ? r->n : 0));
    for (u64 i = 0; i < all; i++) {
        pulse(t, i + 1);
        if (i) // its fetch hits: nothing else has touched I1 since the first
            reftrace_again();
        if (tb_config.branch)
            branch(t, r, i < r->n);
        if (i == r->n)
            break;
        if (tb_config.cache)
            element(t, r, i);
        if (tb_config.branch && compares)
            branch(t, r, !(i + 1 == r->n && r->ended));
    }
}

// How many elements after the one at addr are in the same line of D1; 0 for one that straddles two
// lines.
static u64 in_line(const struct run *r, u64 addr)
{
    u64 line = spool->d1.line, at = addr & (line - 1);

    if (at + r->size > line)
        return 0;
    return (r->step > 0 ? line - r->size - at : at) / r->size;
}

// How many elements after element i change nothing: their lines are in D1, and most recently used
// already. Both lines fit only if a set has two ways. A trace lists every element.
static u64 that_hit(const struct run *r, u64 i)
{
    u64 s = r->what.op == STR_STOS || r->what.op == STR_SCAS ? ~0ul : in_line(r, source(r, i));
    u64 d = r->what.op == STR_LODS ? ~0ul : in_line(r, destination(r, i));

    if (reftrace_on || spool->d1.assoc < 2)
        return 0;
    return s < d ? s : d;
}

// Elements i + 1 to i + n, each in the lines of element i.
static void that_touch(struct thread *t, const struct run *r, u64 i, u64 n)
{
    u32 op = r->what.op;
    u64 at = r->step > 0 ? i + 1 : i + n;

    if (op != STR_STOS && op != STR_SCAS)
        lineuse_touched(t, source(r, at), (u32)n * r->size, (u32)n);
    if (op != STR_LODS)
        lineuse_touched(t, destination(r, at), (u32)n * r->size, (u32)n);
}

static void account(struct thread *t, const struct run *r)
{
    u32 op = r->what.op;
    u64 seen = 0;

    if (tb_config.cache) {
        ahead_count(t, r->first + r->c.dyn_r, (op == STR_STOS ? 0 : op == STR_CMPS ? 2 : 1) * r->n);
        ahead_count(t, r->first + r->c.dyn_w, op == STR_MOVS || op == STR_STOS ? r->n : 0);
    }
    if (tb_config.rep_cachegrind) {
        passes(t, r);
    } else {
        for (u64 i = 0, more; i < r->n; i += 1 + more) {
            pulse(t, ++seen);
            element(t, r, i);
            more = that_hit(r, i);
            if (more && t->lineuse)
                that_touch(t, r, i, more < r->n - i - 1 ? more : r->n - i - 1);
        }
    }
}

// Counts what is known without simulation.
static void elements(struct thread *t, const struct run *r)
{
    u32 op = r->what.op;
    u64 done = r->n + !r->ended;

    calls_elements(t, SPOOL_E_DR, (op == STR_STOS ? 0 : op == STR_CMPS ? 2 : 1) * r->n);
    calls_elements(t, SPOOL_E_DW, op == STR_MOVS || op == STR_STOS ? r->n : 0);
    if (!tb_config.rep_cachegrind)
        return;
    calls_elements(t, SPOOL_E_IR, done ? done - 1 : 0);
    calls_elements(t, SPOOL_E_BC, done + (op >= STR_CMPS ? r->n : 0));
}

void rep_simulate(struct thread *t)
{
    struct run r;

    if (!tb_config.cache && !tb_config.rep_cachegrind)
        return;
    run_read(&r, t);
    elements(t, &r);
    reftrace_begin(t);
    reftrace_at(r.pc);
    account(t, &r);
    if (reftrace_on)
        ll_drain(t);
    reftrace_end(t);
}

void rep_record(struct thread *t)
{
    u64 *slot = (u64 *)t->h_save[8] + t->h_desc_low; // r11: the record
    struct run r;

    run_read(&r, t);
    elements(t, &r);
    slot[0] = r.n;
    slot[1] = r.rsi;
    slot[2] = r.rdi;
    slot[3] = r.seg;
    slot[4] = (u64)r.step;
    slot[5] = r.ended;
}

void rep_replay(struct thread *t, const u64 *slot, u64 pc, u32 what, u32 first)
{
    struct run r;

    run_begin(&r, what, first);
    r.pc = pc;
    r.n = slot[0];
    r.rsi = slot[1];
    r.rdi = slot[2];
    r.seg = slot[3];
    r.step = (s64)slot[4];
    r.ended = slot[5];
    if (r.n > REACH)
        engine_die(ENGINE_DAMAGED "a string instruction of %lu elements at 0x%lx", r.n, pc);
    account(t, &r);
    pulse(t, 0);
}
