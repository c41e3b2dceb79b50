// SPDX-License-Identifier: MIT
// The call graph (calls.h).
//
// Lock order: translation lock, then that of stacks or of edges, then the spool's. Helpers run with
// signals open and come here with none; a thread that waits for a lock here is not parked, and
// nobody who holds one waits for the world.
#include "engine/count/calls.h"

#include "engine/base/heap.h"
#include "engine/base/lock.h"
#include "engine/base/mini.h"
#include "engine/base/safemem.h"
#include "engine/codecache/where.h"
#include "engine/count/contexts.h"
#include "engine/count/desc.h"
#include "engine/count/edges.h"
#include "engine/count/rules.h"
#include "engine/count/vector.h"
#include "engine/spool/spooler.h"
#include "engine/thread/stop.h"
#include "engine/thread/threads.h"

#define KEY_NONE (~SPOOL_FRAME_FLAGS) // no return address and stack pointer add up to it

#define CHAIN_MAX 32 // jumps from function to function that stay open behind one call

static struct {
    u32 top;                // counter: the last frame's address; totals follow
    u32 events, often;      // how many there are; that do not wait for a miss
    u32 late;               // counter: the slot where a replay's totals are, plus one; 0: none
    u32 frame;              // bytes
    u8 place[SPOOL_EVENTS]; // of an event among them
    bool begins, ends;      // rules ask what begins, or ends
} run;

// ---- Edges that translated code finds ----

u64 calls_known[CALLS_KNOWN];
const struct spool_edge calls_unknown;

// Of each counter of a block the place of the event that it counts. One for each counter that there
// may be, of which memory is taken as it is touched.
static u8 *owner;

// Other modules may lie where some did that these are of.
void calls_look(void)
{
    static u64 maps;

    if (spool->maps_used == maps)
        return;
    maps = spool->maps_used;
    for (u32 i = 0; i < CALLS_KNOWN; i++)
        calls_known[i] = 0;
}

void calls_init(void)
{
    if (!tb_config.calls)
        return;
    run.events = tb_config.calls_events;
    run.often = tb_config.calls_often;
    run.frame = tb_config.calls_frame;
    for (u32 e = 0; e < SPOOL_EVENTS; e++)
        run.place[e] = (u8)spool_event_index((enum spool_event)e, tb_config.flags);
    run.top = tb_config.calls_top =
        spooler_counters(tb_config.contexts ? 2 * (1 + run.events) : 2 + run.events);
    run.late = run.top + 1 + run.events;
    spool->calls = run.top;
    edges_init();
    contexts_init();
    run.begins = rules_has("bz");
    run.ends = rules_has("a");
    owner = heap_pages(SPOOL_COUNTERS_MAX);
    if (tb_config.defer) {
        vector_sets.owner = owner;
        vector_sets.totals = run.top + 1;
    }
}

// ---- Frames ----

static struct spool_frame *top_of(const struct thread *t)
{
    return (struct spool_frame *)t->counters[run.top];
}

static struct thread *thread_of(u64 *counters)
{
    return (struct thread *)((u64)counters - TA_COUNTERS);
}

static u64 *totals_of(const struct thread *t)
{
    return t->counters + run.top + 1;
}

static struct spool_frame *below(const struct spool_frame *f)
{
    return (struct spool_frame *)((u64)f - run.frame);
}

static struct spool_edge *edge_at(const struct spool_frame *f)
{
    return edges_at(f->counter);
}

static u64 function_of(u64 addr)
{
    bool plt;

    return tb_config.contexts ? contexts_function_at(addr) : edges_function(addr, &plt);
}

// The function that f's call is in: of one through a linkage table, what its entry leads to.
static u64 callee(const struct spool_frame *f)
{
    const struct spool_edge *e;

    if (tb_config.contexts)
        return contexts_function(f);
    e = edge_at(f);
    if (e->plt && !(f->plt & SPOOL_FRAME_PLT))
        e = edges_of(SPOOL_EDGE_PLT, e->target, 0, 0);
    return e->function;
}

// -- what replays keep --

void (*calls_record)(struct thread *t, enum calls_late what, const struct spool_frame *f,
                     u32 counter);
void (*calls_simulate)(struct thread *t);

// Of a slot's first frame.
static u64 base_of(u32 slot)
{
    return CALLS_BASE + spool_stack_at(slot);
}

// Where a replay counts: another slot's area when that is another processor's work.
static u32 late_slot(const struct thread *t)
{
    return (u32)(((u64)t->misses - TA_COUNTERS - THREAD_AREA_BASE) / THREAD_AREA_STRIDE);
}

void calls_thread_init(struct thread *t)
{
    t->calls_base = base_of(t->slot);
    t->calls_late = base_of(late_slot(t));
}

static u64 *late_totals(const struct thread *t)
{
    return t->misses + run.top + 1;
}

static struct spool_frame *late_frame(const struct thread *t, const struct spool_frame *f)
{
    return (struct spool_frame *)((u64)f - t->calls_base + t->calls_late);
}

static void late_leave(struct thread *t, const struct spool_frame *late, u32 counter)
{
    for (u32 i = run.often; i < run.events; i++)
        t->misses[counter + i - run.often] += late_totals(t)[i] + late->before[i] + 1;
}

void calls_replay(struct thread *t, enum calls_late what, u32 frame, u32 counter)
{
    struct spool_frame *late =
        (struct spool_frame *)(t->calls_late + (u32)(frame - (u32)t->calls_base));

    switch (what) {
    case CALLS_ENTER:
        for (u32 i = run.often; i < run.events; i++)
            late->before[i] = ~late_totals(t)[i];
        break;
    case CALLS_LEAVE: late_leave(t, late, counter); break;
    case CALLS_BACK:
        for (u32 i = run.often; i < run.events; i++)
            late_totals(t)[i] = ~late->before[i];
        break;
    }
}

static void record(struct thread *t, enum calls_late what, const struct spool_frame *f, u32 counter)
{
    if (tb_config.defer)
        calls_record(t, what, f, counter);
}

static void snapshot(struct spool_frame *f, const u64 *totals, u32 from, u32 to)
{
    for (u32 i = from; i < to; i++)
        f->before[i] = ~totals[i];
}

// Something is about to be counted that frames do not note when they are made: those that have not
// noted it since do so now.
static void fill(struct thread *t)
{
    if (tb_config.defer)
        return;
    for (struct spool_frame *f = top_of(t); !(f->key & SPOOL_FRAME_FILLED); f = below(f)) {
        snapshot(f, totals_of(t), run.often, run.events);
        f->key |= SPOOL_FRAME_FILLED;
        if (f->plt & SPOOL_FRAME_PLT)
            f->plt |= SPOOL_FRAME_PLT_FILLED;
    }
}

// What f has cost since it was made, added to `to`.
static void charge(const struct spool_frame *f, u64 *to, const u64 *totals)
{
    u32 n = f->key & SPOOL_FRAME_FILLED ? run.events : run.often;

    for (u32 i = 0; i < n; i++)
        to[i] += totals[i] + f->before[i] + 1;
}

// A hidden function pays for what it does itself: no longer when it calls, and again from there on.
// Whoever is killed here loses rather than counts twice.
static void begin_anew(struct spool_frame *f, const u64 *totals)
{
    snapshot(f, totals, 0, run.events);
}

static void charge_hidden(struct spool_frame *f, u64 *to, const u64 *totals)
{
    u32 n = f->key & SPOOL_FRAME_FILLED ? run.events : run.often;

    for (u32 i = 0; i < n; i++) {
        u64 by = totals[i] + f->before[i] + 1;

        f->before[i] = ~totals[i];
        to[i] += by;
    }
}

static bool is_hidden(const struct spool_frame *f)
{
    return contexts_of(f)->flags & SPOOL_FRAME_SKIPPED;
}

static bool is_first(const struct spool_frame *f)
{
    u64 at = (u64)f - CALLS_BASE;

    return at % (at < SPOOL_DEEP_SLOTS * SPOOL_DEEP_SIZE ? SPOOL_DEEP_SIZE : SPOOL_STACK_SIZE) == 0;
}

// f is about to end, and what it has been called from is on top then.
static void uncover(u64 *counters, const struct spool_frame *f)
{
    const struct spool_frame_context *m = contexts_of(f);

    if (m->depth)
        counters[m->depth]--;
    if (!is_first(f) && is_hidden(below(f)))
        begin_anew(below(f), counters + run.top + 1);
}

// ---- Functions before and behind which something is to be done ----

// The block that the thread is in, or comes back to, is its last before the dispatcher.
static void leave_fragment(struct thread *t)
{
    u64 *ret = (u64 *)t->engine_sp - 1;

    stop_set(t, STOP_CONTROL);
    if (t->state == TS_HELPER)
        where_leave(t, ret);
}

static void note_due(struct thread *t, struct thread_due *due, const struct spool_frame *f)
{
    *due = (struct thread_due){ true, contexts_map(f), contexts_function(f) };
    leave_fragment(t);
}

// As Callgrind, only for the first of a function's calls that are open.
static void entered(struct thread *t, const struct spool_frame *f)
{
    const struct rules *r;
    u32 depth = contexts_of(f)->depth;

    if (!run.begins)
        return;
    r = contexts_rules(f);
    if (!depth || t->counters[depth] != 1)
        return;
    if (r->before)
        note_due(t, &thread_own(t)->dump_before, f);
    if (r->zero)
        note_due(t, &thread_own(t)->zero_before, f);
}

static void left(u64 *counters, const struct spool_frame *f)
{
    struct thread *t = thread_of(counters);
    u32 depth = contexts_of(f)->depth;

    if (run.ends && contexts_rules(f)->after && depth && counters[depth] == 0)
        note_due(t, &thread_own(t)->dump_after, f);
}

// simulated: all that was recorded, so that what replays keep is as of now.
static void pop_frame(u64 *counters, bool simulated)
{
    struct spool_frame *f = (struct spool_frame *)counters[run.top];
    u64 *totals = counters + run.top + 1;
    u32 own = tb_config.defer ? run.often : run.events;

    if (tb_config.contexts && is_hidden(f))
        charge_hidden(f, counters + f->counter + 1, totals);
    else
        charge(f, counters + f->counter + 1, totals);
    if (f->key & SPOOL_FRAME_SIGNAL) // what the handler did is not the interrupted function's
        for (u32 i = 0; i < own; i++)
            totals[i] = ~f->before[i];
    if (tb_config.contexts) {
        uncover(counters, f);
        left(counters, f);
    }
    counters[run.top] = (u64)below(f);
    if (simulated)
        late_leave(thread_of(counters), late_frame(thread_of(counters), f),
                   f->counter + 1 + run.often);
    else
        record(thread_of(counters), CALLS_LEAVE, f, f->counter + 1 + run.often);
    if (f->key & SPOOL_FRAME_SIGNAL)
        record(thread_of(counters), CALLS_BACK, f, 0);
}

static void pop(u64 *counters)
{
    pop_frame(counters, false);
}

static void jumps_end(struct thread *t)
{
    while (top_of(t)->plt & SPOOL_FRAME_JUMP)
        pop(t->counters);
}

static void reach(struct thread *t, u64 end)
{
    u64 base = base_of(t->slot);
    long ret = spooler_stack_reach(t->slot, end - base);

    if (ret == 0 && t->calls_late != t->calls_base)
        ret = spooler_stack_reach(late_slot(t), end - base);
    if (ret == -ENOSPC)
        engine_die("more than %lu calls are open in one thread (docs/limits.md)",
                   spool_stack_size(t->slot) / run.frame);
    if (ret)
        engine_die("no memory for the calls that are open: error %ld", -ret);
}

static struct spool_frame *push(struct thread *t, const struct spool_edge *e, u64 key, u64 sp,
                                u32 flags)
{
    u64 at = t->counters[run.top] + run.frame;
    struct spool_frame *f = (struct spool_frame *)at;

    // what is mapped ends between such pieces, no frame lies in two, and this may be one's first
    if ((at - CALLS_BASE) % SPOOLER_STACK_PIECE == 0)
        reach(t, at + run.frame);
    f->counter = e->counter;
    f->plt = e->plt | flags;
    f->key = key;
    f->sp = sp;
    snapshot(f, totals_of(t), 0, run.often);
    t->counters[e->counter]++;
    record(t, CALLS_ENTER, f, 0);
    t->counters[run.top] = at;
    return f;
}

// With contexts it depends on them, and so is found when the call is made: NULL.
static struct spool_edge *edge_of(const struct contexts_way *w)
{
    return tb_config.contexts ? NULL : edges_of(w->kind, w->site, w->len, w->target);
}

// A call by w; `e`: its edge_of().
static struct spool_frame *enter(struct thread *t, const struct contexts_way *w,
                                 const struct spool_edge *e, u64 key, u64 sp, u32 flags)
{
    u64 base = base_of(t->slot);
    u64 at = t->counters[run.top] + run.frame;
    struct spool_frame *from = at > base ? top_of(t) : NULL, *f;
    struct spool_frame_context context;

    if (e)
        return push(t, e, key, sp, flags);
    e = contexts_enter(t, from, w, (u32)((at - base) / run.frame), &context);
    if (from && is_hidden(from))
        charge_hidden(from, t->counters + from->counter + 1, totals_of(t));
    f = push(t, e, key, sp, flags);
    *contexts_of(f) = context;
    entered(t, f);
    return f;
}

static struct spool_frame *enter_root(struct thread *t, u64 target, u64 key, u64 sp)
{
    struct contexts_way w = { .kind = SPOOL_EDGE_ROOT, .target = target };

    return enter(t, &w, edge_of(&w), key, sp, 0);
}

// Around what is done in C.
static void begin(struct thread *t)
{
    if (tb_config.contexts)
        contexts_thaw(t->counters);
}

static void end(struct thread *t)
{
    if (tb_config.contexts)
        contexts_settle(t, top_of(t));
}

static void chain_end(struct thread *t)
{
    const struct spool_frame *f = top_of(t);
    u32 n = 0;

    for (; (f->plt & SPOOL_FRAME_JUMP) && n < CHAIN_MAX; f = below(f))
        n++;
    if (n == CHAIN_MAX)
        jumps_end(t);
}

// A long chain of jumps ends where most threads have no room: a program may go on for ever in it.
bool calls_full(struct thread *t, u64 addr, u64 *frame)
{
    u64 base = base_of(t->slot);

    if (!tb_config.calls || addr - base >= spool_stack_size(t->slot))
        return false;
    if (*frame + run.frame - base > SPOOL_STACK_SIZE - SPOOLER_STACK_GUARD) {
        chain_end(t);
        *frame = t->counters[run.top] + run.frame;
    }
    reach(t, *frame + run.frame);
    return true;
}

// Frames of functions that have been left: their stack is no more. The edge of the last one, which
// led from the function that is on top now; NULL: there was none.
static const struct spool_edge *unwind(struct thread *t, u64 sp)
{
    const struct spool_frame *last = NULL;

    while (top_of(t)->sp < sp) {
        last = top_of(t);
        pop(t->counters);
    }
    return last ? edge_at(last) : NULL;
}

// ---- Threads ----

static void fill_root(struct thread *t, struct spool_frame *f)
{
    if (tb_config.defer)
        return;
    snapshot(f, totals_of(t), run.often, run.events);
    f->key |= SPOOL_FRAME_FILLED;
}

// The first frame, or a signal's: those that have not noted all totals end with it.
static void push_root(struct thread *t, u64 target, u64 key, u64 sp)
{
    struct spool_frame *f = enter_root(t, target, key, sp);

    fill_root(t, f);
    f->plt = 0; // also where counting begins in a linkage table
}

void calls_thread_start(struct thread *t)
{
    if (!tb_config.calls)
        return;
    t->calls_end = t->regs[R_RSP];
    thread_own(t)->bridges = 0;
    if (tb_config.defer)
        t->counters[run.late] = late_slot(t) + 1;
    t->counters[run.top] = base_of(t->slot) - run.frame;
    push_root(t, t->pc, KEY_NONE, ~0ul);
    end(t);
}

static void end_all(u64 *counters, u32 slot)
{
    u64 base = base_of(slot);

    if (!counters[run.top])
        return;
    if (tb_config.contexts)
        contexts_thaw(counters);
    if (tb_config.defer)
        calls_simulate(thread_of(counters));
    while (counters[run.top] >= base)
        pop_frame(counters, tb_config.defer);
    counters[run.top] = 0;
}

void calls_thread_end(struct thread *t)
{
    if (tb_config.calls)
        end_all(t->counters, t->slot);
}

void calls_borrow_begin(struct thread *t, struct calls_save *save)
{
    if (!tb_config.calls)
        return;
    save->top = t->counters[run.top];
    save->key = top_of(t)->key;
    save->sp = top_of(t)->sp;
    save->counter = top_of(t)->counter;
    save->plt = top_of(t)->plt;
    if (tb_config.contexts)
        save->context = *contexts_of(top_of(t));
}

// The child has come back from the function that made it, as the parent will: what that has cost
// until then is noted, and the parent's share begins now.
void calls_borrow_end(struct thread *t, const struct calls_save *save)
{
    struct spool_frame *f = (struct spool_frame *)save->top;

    if (!tb_config.calls)
        return;
    begin(t);
    while (t->counters[run.top] > save->top)
        pop(t->counters);
    if (t->counters[run.top] == save->top) {
        if (f->key == save->key) {
            end(t);
            return;
        }
        pop(t->counters); // of a function that has executed another program
    }
    t->counters[run.top] = save->top;
    f->counter = save->counter;
    f->plt = save->plt;
    f->key = save->key & ~SPOOL_FRAME_FILLED;
    f->sp = save->sp;
    snapshot(f, totals_of(t), 0, run.often);
    record(t, CALLS_ENTER, f, 0);
    if (tb_config.contexts) {
        *contexts_of(f) = save->context;
        if (save->context.depth)
            t->counters[save->context.depth]++;
    }
    end(t);
}

// ---- What is counted ----

static void own(u32 counter, enum spool_event e)
{
    owner[counter] = run.place[e];
}

void calls_own(const struct spool_counters *c, u32 first)
{
    static const struct {
        u8 field, event, next; // the counter behind it, or SPOOL_EVENTS
    } rows[] = {
#define ROW(f, e, n) { offsetof(struct spool_counters, f), SPOOL_E_##e, n }
        ROW(rep_ir, IR, SPOOL_EVENTS), ROW(rep_bc, BC, SPOOL_EVENTS), ROW(i1mr, I1MR, SPOOL_E_ILMR),
        ROW(dyn_r, DR, SPOOL_EVENTS),  ROW(dyn_w, DW, SPOOL_EVENTS),  ROW(d1mr, D1MR, SPOOL_E_DLMR),
        ROW(d1mw, D1MW, SPOOL_E_DLMW), ROW(bcm, BCM, SPOOL_EVENTS),   ROW(bim, BIM, SPOOL_EVENTS),
#undef ROW
    };

    if (!tb_config.calls)
        return;
    for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
        u32 at = *(const u32 *)((const u8 *)c + rows[i].field);

        if (at == ~0u)
            continue;
        own(first + at, (enum spool_event)rows[i].event);
        if (rows[i].next != SPOOL_EVENTS)
            own(first + at + 1, (enum spool_event)rows[i].next);
    }
}

void calls_counted(struct thread *t, u32 counter, u64 n)
{
    u32 place = owner[counter];

    if (tb_config.defer) {
        if (place >= run.often) // else calls_elements() has seen to it
            late_totals(t)[place] += n;
        return;
    }
    if (place >= run.often)
        fill(t);
    totals_of(t)[place] += n;
}

static void add_total(struct thread *t, enum spool_event e, u64 n)
{
    if (n && spool_event_counted(e, tb_config.flags))
        totals_of(t)[run.place[e]] += n;
}

void calls_elements(struct thread *t, enum spool_event e, u64 n)
{
    if (tb_config.calls && tb_config.defer)
        add_total(t, e, n);
}

void calls_corrected(struct thread *t, u32 block, u32 insns, s64 by)
{
    const struct spool_block *b;
    const struct spool_insn *in;

    if (!tb_config.calls)
        return;
    b = spooler_block_at(block);
    in = (const struct spool_insn *)(b + 1);
    for (u32 i = 0; i < insns && i < b->insns; i++) {
        add_total(t, SPOOL_E_IR, (u64)by);
        add_total(t, SPOOL_E_DR, in[i].reads * (u64)by);
        add_total(t, SPOOL_E_DW, in[i].writes * (u64)by);
        add_total(t, SPOOL_E_BC, in[i].flags & SPOOL_I_BC ? (u64)by : 0);
        add_total(t, SPOOL_E_BI, in[i].flags & SPOOL_I_BI ? (u64)by : 0);
        add_total(t, SPOOL_E_GE, in[i].flags & SPOOL_I_BUS ? (u64)by : 0);
    }
}

void calls_syscall(struct thread *t, u64 site, u64 time, u64 cpu)
{
    const u64 by[] = { 1, time, cpu };
    struct spool_edge *e;

    if (!tb_config.calls || t->calls_context == SPOOL_CONTEXT_OFF)
        return;
    e = edges_of(SPOOL_EDGE_SYSCALL, site, 0, 0);
    if (t->calls_context) {
        struct spool_edge mine = *e;

        mine.to = t->calls_context;
        e = edges_record(&mine, 1 + run.events);
    }
    fill(t);
    for (u32 i = SPOOL_E_SYSCOUNT; i < SPOOL_EVENTS; i++) {
        if (!spool_event_counted((enum spool_event)i, tb_config.flags))
            continue;
        totals_of(t)[run.place[i]] += by[i - SPOOL_E_SYSCOUNT];
        t->counters[e->counter + 1 + run.place[i]] += by[i - SPOOL_E_SYSCOUNT];
    }
}

void calls_miss(struct thread *t, const u8 *ret)
{
    u32 counter;

    desc_read(&counter, ret, 1);
    calls_count(t, counter, 1);
}

// ---- Control ----

// Translated code makes the next such call itself.
static void note(const struct spool_edge *e)
{
    __atomic_store_n(&calls_known[calls_place(e->site, e->target)], (u64)e - (u64)&calls_unknown,
                     __ATOMIC_RELEASE);
}

// In a chain of jumps behind one call: the one that came from function g, whose way back this is.
static bool jump_back(struct thread *t, u64 g)
{
    for (struct spool_frame *f = top_of(t); f->plt & SPOOL_FRAME_JUMP; f = below(f)) {
        bool plt;

        if ((tb_config.contexts ? contexts_function(below(f))
                                : edges_function(edge_at(f)->site, &plt)) != g)
            continue;
        while (top_of(t) != f)
            pop(t->counters);
        pop(t->counters);
        return true;
    }
    return false;
}

// ---- Stacks ----
//
// A program may have several stacks, and go from one to the next by setting the stack pointer:
// coroutines. Each has frames and totals of its own, which are put aside while it is left, in the
// spool, and taken up again, by whichever thread, when the stack pointer becomes what it was then.
//
// A function that only calls another one on a second stack stays its caller, which is a bridge:
// only control that goes on there without a call is the second stack's. What has been called over a
// bridge ends with it: when control comes back, or leaves for a third stack (Go's scheduler).

#define STACK_ROOM  16384 // so little further down may be room on the same stack
#define STACK_NEAR  4096  // what is left and taken up may differ by what the switch pushes
#define STACK_ABOVE 256   // and what a fresh one's first function finds above its beginning
#define STACK_ALIKE \
    3 // so many calls that return to the same places are those of a stack that was moved

struct calls_left {
    struct spool_saved *at;
    u64 sp, end;
    u32 bridges; // beyond which it has gone on; `last` is relative to the first frame
    struct thread_bridge bridge[THREAD_BRIDGES];
};

static struct {
    struct lock lock;
    struct calls_left **left;
    u32 count, room;
    u64 used; // bytes of records
} stacks;

// A record with room for so many bytes of frames; NULL when there is none left. @holds(stacks.lock)
static struct spool_saved *saved_take(u64 frames)
{
    u64 base = base_of(SPOOL_THREADS_MAX), need = sizeof(struct spool_saved);
    struct spool_saved *s;

    while (need < sizeof(*s) + frames)
        need *= 2;
    for (u64 at = 0; at < stacks.used; at += s->bytes) {
        s = (struct spool_saved *)(base + at);
        if (!s->frames && s->bytes == need)
            return s;
    }
    if (spooler_stack_reach(SPOOL_THREADS_MAX, stacks.used + need + sizeof(*s)))
        return NULL;
    s = (struct spool_saved *)(base + stacks.used);
    s->bytes = need;
    stacks.used += need;
    return s;
}

static void copy_words(u64 *to, const u64 *from, u64 bytes)
{
    for (u64 i = 0; i < bytes / 8; i++)
        to[i] = from[i];
}

// What replays keep of the frames goes with them, and what each is then is complete.
static void late_put_aside(struct thread *t, struct spool_saved *s, u64 bytes)
{
    copy_words(s->totals + run.often, late_totals(t) + run.often, (run.events - run.often) * 8ul);
    for (u64 at = 0; at < bytes; at += run.frame) {
        struct spool_frame *f = (struct spool_frame *)((u64)(s + 1) + at);
        const struct spool_frame *late = (const struct spool_frame *)(t->calls_late + at);

        f->key |= SPOOL_FRAME_FILLED;
        for (u32 i = run.often; i < run.events; i++)
            f->before[i] = late->before[i];
    }
}

static void late_take_up(struct thread *t, u64 bytes)
{
    for (u64 at = 0; at < bytes; at += run.frame) {
        struct spool_frame *f = (struct spool_frame *)(t->calls_base + at);
        struct spool_frame *late = (struct spool_frame *)(t->calls_late + at);

        f->key &= ~SPOOL_FRAME_FILLED;
        for (u32 i = run.often; i < run.events; i++)
            late->before[i] = f->before[i];
    }
}

// So many functions are open more, or less, as the frames of a stack say.
static void open_again(struct thread *t, u64 last, u64 by)
{
    u64 base = base_of(t->slot);

    for (u64 at = base; tb_config.contexts && at <= last; at += run.frame) {
        u32 depth = contexts_of((const struct spool_frame *)at)->depth;

        if (depth)
            t->counters[depth] += by;
    }
}

// The client leaves its stack at sp. Where there is no room for the frames, they end.
static void stack_leave(struct thread *t, u64 sp)
{
    struct thread_own *own = thread_own(t);
    u64 base = base_of(t->slot);
    u64 bytes = t->counters[run.top] + run.frame - base;
    struct calls_left *l = NULL;
    struct spool_saved *s;

    fill(t);
    if (tb_config.defer)
        calls_simulate(t);
    lock_take(&stacks.lock);
    s = saved_take(bytes);
    if (s) {
        if (stacks.count == stacks.room) {
            u32 room = stacks.room ? stacks.room * 2 : 64;
            struct calls_left **more = heap_alloc(room * sizeof(*more));

            copy_words((u64 *)more, (u64 *)stacks.left, stacks.count * sizeof(*more));
            heap_free(stacks.left, stacks.room * sizeof(*more));
            stacks.left = more;
            stacks.room = room;
        }
        l = heap_alloc(sizeof(*l));
        *l = (struct calls_left){ .at = s, .sp = sp, .end = t->calls_end, .bridges = own->bridges };
        for (u32 i = 0; i < own->bridges; i++) {
            l->bridge[i] = own->bridge[i];
            l->bridge[i].last -= base;
        }
        stacks.left[stacks.count++] = l;
        copy_words((u64 *)(s + 1), (const u64 *)base, bytes);
        copy_words(s->totals, totals_of(t), run.events * 8ul);
        if (tb_config.defer)
            late_put_aside(t, s, bytes);
        s->frames = bytes;
        open_again(t, t->counters[run.top], ~0ul);
    } else {
        while (t->counters[run.top] > base)
            pop(t->counters);
        open_again(t, base, ~0ul);
    }
    t->counters[run.top] = base;
    own->bridges = 0;
    lock_drop(&stacks.lock);
}

// A function begins on a stack that nobody has seen.
static void stack_begin(struct thread *t, u64 sp, u64 target)
{
    u64 base = base_of(t->slot);
    struct spool_frame *f;

    t->calls_end = sp + STACK_ABOVE;
    t->counters[run.top] = base - run.frame;
    f = enter_root(t, target, KEY_NONE, ~0ul);
    fill_root(t, f);
}

// Where a call returns to; 0: nobody knows.
static u64 return_of(const struct spool_frame *f)
{
    return f->sp == ~0ul ? 0 : (f->key - f->sp) & ~SPOOL_FRAME_FLAGS;
}

// Whether control that is to be at target with stack pointer sp returns from f, the last call of a
// stack whose first frame is `base`, and its stack has been copied elsewhere in between: the calls
// before it, too, return where they did, and lie as far apart.
static bool stack_moved(const struct spool_frame *base, const struct spool_frame *f, u64 target,
                        u64 sp)
{
    u64 by = sp - 8 - f->sp, back;

    if (return_of(f) != target || by + STACK_ABOVE <= 2ul * STACK_ABOVE)
        return false;
    for (u32 n = 0; n < STACK_ALIKE; n++) {
        u64 at = f->sp;

        while (f > base && f->sp == at)
            f = below(f);
        if (!return_of(f) || (f->key & SPOOL_FRAME_SIGNAL))
            return true;
        if (safe_read_u64(f->sp + by, &back) || back != return_of(f))
            return false;
    }
    return true;
}

// All calls from f on, downwards, that lie on its stack have been moved with it.
static void stack_move(struct thread *t, struct spool_frame *f, u64 by)
{
    const struct spool_frame *base = (const struct spool_frame *)base_of(t->slot);
    u64 from = f->sp;

    for (; f >= base; f = below(f)) {
        if (f->sp < from || f->sp > t->calls_end)
            continue;
        f->sp += by;
        f->key = ((f->key + by) & ~SPOOL_FRAME_FLAGS) | (f->key & SPOOL_FRAME_FLAGS);
    }
    t->calls_end += by;
}

static const struct spool_frame *left_top(const struct calls_left *l)
{
    return (const struct spool_frame *)((u64)(l->at + 1) + l->at->frames - run.frame);
}

// The stack that was left at sp; or whose last call returns to target, with stack pointer `behind`
// then; or that was left nearly at sp. None: stacks.count. @holds(stacks.lock)
static u32 stack_find(u64 sp, u64 target, u64 behind, bool *exact)
{
    u32 near = stacks.count;
    u64 least = STACK_NEAR + 1;

    *exact = true;
    for (u32 i = stacks.count; i-- > 0;)
        if (stacks.left[i]->sp == sp)
            return i;
    for (u32 i = stacks.count; i-- > 0;) {
        const struct calls_left *l = stacks.left[i];
        u64 by = sp > l->sp ? sp - l->sp : l->sp - sp;

        if (target && left_top(l)->sp == behind - 8 && return_of(left_top(l)) == target)
            return i;
        if (by < least && sp <= l->end) {
            near = i;
            least = by;
        }
    }
    *exact = false;
    return near;
}

// One that was left, and copied elsewhere since; none: stacks.count. @holds(stacks.lock)
static u32 stack_find_moved(u64 target, u64 behind)
{
    for (u32 i = stacks.count; i-- > 0;) {
        const struct calls_left *l = stacks.left[i];

        if (stack_moved((const struct spool_frame *)(l->at + 1), left_top(l), target, behind))
            return i;
    }
    return stacks.count;
}

// The client goes on with a stack that it has left, and is on none now.
static void stack_take_up(struct thread *t, struct calls_left *l)
{
    struct thread_own *own = thread_own(t);
    u64 base = base_of(t->slot);

    reach(t, base + l->at->frames);
    copy_words((u64 *)base, (const u64 *)(l->at + 1), l->at->frames);
    copy_words(totals_of(t), l->at->totals, run.often * 8ul);
    copy_words((tb_config.defer ? late_totals(t) : totals_of(t)) + run.often,
               l->at->totals + run.often, (run.events - run.often) * 8ul);
    if (tb_config.defer)
        late_take_up(t, l->at->frames);
    t->counters[run.top] = base + l->at->frames - run.frame;
    open_again(t, t->counters[run.top], 1);
    t->calls_end = l->end;
    for (u32 i = 0; i < l->bridges; i++) {
        own->bridge[i] = l->bridge[i];
        own->bridge[i].last += base;
    }
    own->bridges = l->bridges;
    lock_take(&stacks.lock);
    l->at->frames = 0;
    lock_drop(&stacks.lock);
    heap_free(l, sizeof(*l));
}

// The last bridge that is still open; NULL: there is none.
static struct thread_bridge *bridge_last(struct thread *t)
{
    struct thread_own *own = thread_own(t);

    while (own->bridges && t->counters[run.top] < own->bridge[own->bridges - 1].last)
        own->bridges--;
    return own->bridges ? &own->bridge[own->bridges - 1] : NULL;
}

static bool is_near(u64 x, u64 y)
{
    return x + STACK_NEAR >= y && x <= y + STACK_NEAR;
}

// The last of these is not known to be one yet: a call will say. Without room the first is
// forgotten.
static void bridge_begin(struct thread *t, u64 from, u64 to, bool room)
{
    struct thread_own *own = thread_own(t);

    if (own->bridges == THREAD_BRIDGES) {
        own->bridges--;
        for (u32 i = 0; i < own->bridges; i++)
            own->bridge[i] = own->bridge[i + 1];
    }
    own->bridge[own->bridges++] = (struct thread_bridge){ from, to, t->counters[run.top], room };
}

// What was called over the last bridge ends; it is what led from the function on top then.
static const struct spool_edge *bridge_end(struct thread *t)
{
    const struct thread_bridge *b = bridge_last(t);
    const struct spool_frame *last = NULL;

    while (t->counters[run.top] > b->last) {
        last = top_of(t);
        pop(t->counters);
    }
    thread_own(t)->bridges--;
    return last ? edge_at(last) : NULL;
}

// Whether control that is to be at target has come back over a bridge; *last: as bridge_end().
static bool bridge_back(struct thread *t, u64 target, u64 behind, const struct spool_edge **last)
{
    struct thread_own *own = thread_own(t);

    for (u32 i = own->bridges; i-- > 0;) {
        struct spool_frame *f = (struct spool_frame *)own->bridge[i].last;
        bool moved = stack_moved((struct spool_frame *)base_of(t->slot), f, target, behind);

        if (!moved && (return_of(f) != target || f->sp != behind - 8))
            continue;
        while (own->bridges > i)
            *last = bridge_end(t);
        if (moved)
            stack_move(t, f, behind - 8 - f->sp);
        return true;
    }
    return false;
}

// The stack that control goes on with, or NULL; it is no longer among those that were left.
static struct calls_left *left_take(u64 sp, u64 target, u64 behind, bool moved)
{
    bool exact, begins = function_of(target) == target;
    struct calls_left *l = NULL;
    u32 k;

    lock_take(&stacks.lock);
    k = moved ? stack_find_moved(target, behind) : stack_find(sp, target, behind, &exact);
    if (!moved && !exact && begins) // on another one nearby
        k = stacks.count;
    if (k < stacks.count) {
        l = stacks.left[k];
        stacks.left[k] = stacks.left[--stacks.count];
    }
    lock_drop(&stacks.lock);
    return l;
}

// Whether it goes out of a signal's handler on a stack of its own.
static bool signal_left(struct thread *t, u64 sp)
{
    const struct spool_frame *f = top_of(t);

    while (f->sp != ~0ul && !(f->key & SPOOL_FRAME_SIGNAL))
        f = below(f);
    if (!(f->key & SPOOL_FRAME_SIGNAL) || sp > t->calls_end)
        return false;
    while (top_of(t) != f)
        pop(t->counters);
    pop(t->counters);
    unwind(t, sp);
    return true;
}

// Control goes on at target without a call behind it, on the stack to which the stack pointer was
// set; it is `behind` there. Whether a function begins on it. `*last`: where from, if functions
// have been left.
static bool stack_switch(struct thread *t, u64 target, u64 behind, const struct spool_edge **last)
{
    struct thread_bridge to = *bridge_last(t), *b;
    struct calls_left *l;
    bool moved = false;

    thread_own(t)->bridges--;
    if (bridge_back(t, target, behind, last))
        return false;
    l = left_take(to.to, target, behind, false);
    if (!l && signal_left(t, behind))
        return false;
    if (!l && (l = left_take(to.to, target, behind, true)))
        moved = true;
    b = bridge_last(t);
    if (!l && b && is_near(to.to, b->from) && function_of(target) != target) {
        *last = bridge_end(t);
        return false;
    }
    if (b) {
        to.from = b->from;
        bridge_end(t);
    }
    stack_leave(t, to.from);
    if (l)
        stack_take_up(t, l);
    if (moved)
        stack_move(t, top_of(t), behind - 8 - top_of(t)->sp);
    *last = l ? unwind(t, behind) : NULL;
    if (l && (top_of(t)->sp != ~0ul || function_of(target) != target))
        return false;
    if (l) // another function, where one was that has ended
        while (t->counters[run.top] >= base_of(t->slot))
            pop(t->counters);
    stack_begin(t, behind, target);
    return true;
}

void calls_fork_child(struct thread *t)
{
    edges_fork_child();
    contexts_fork_child();
    stacks.lock.w = 0;
    if (!tb_config.calls)
        return;
    for (u32 slot = 0; slot < spool->threads_used; slot++)
        if (slot != t->slot && spooler_slot_in_use(slot))
            end_all((u64 *)(THREAD_AREA_BASE + slot * (u64)THREAD_AREA_STRIDE + TA_COUNTERS), slot);
}

static bool stack_is_left(u64 sp, bool *exact)
{
    bool is;

    lock_take(&stacks.lock);
    is = stack_find(sp, 0, 0, exact) < stacks.count;
    *exact &= is;
    lock_drop(&stacks.lock);
    return is;
}

// The stack pointer was set, and was calls_sp: the way out of functions (the last of them), or to
// another stack, or room on the same.
static const struct spool_edge *stack_set(struct thread *t)
{
    u64 from = t->calls_sp, sp = t->client_sp, end = t->calls_end;
    const struct thread_bridge *b = bridge_last(t);
    bool over = b && t->counters[run.top] > b->last, left, exact;

    if (sp == from)
        return NULL;
    if (b && !over && is_near(sp, b->from)) { // it has called something on the other stack
        thread_own(t)->bridges--;
        return unwind(t, sp);
    }
    left = stack_is_left(sp, &exact);
    if (!exact && over && sp > b->from && sp <= end) {
        const struct spool_edge *last = bridge_end(t), *more = unwind(t, sp);

        return more ? more : last;
    }
    if (over)
        end = b->to + STACK_ABOVE;
    if (!exact && sp > from && sp <= end)
        return unwind(t, sp);
    bridge_begin(t, from, sp, !left && from > sp && from - sp <= STACK_ROOM);
    return NULL;
}

// Whether the function on top has set the stack pointer, to another stack, and nothing else has
// happened since.
static bool is_elsewhere(struct thread *t, u64 sp)
{
    const struct thread_bridge *b = bridge_last(t);

    return b && !b->room && t->counters[run.top] == b->last && is_near(sp, b->to);
}

// Control has gone from site to target without a call; the stack pointer is sp. It may be a way
// back, a way within a function, or be taken for a call.
// `last`: where from, if functions have been left on the way.
static void jump(struct thread *t, u64 site, u64 target, u64 sp, const struct spool_edge *last)
{
    const struct spool_edge *more;
    struct contexts_way way;
    const struct spool_edge *e;
    struct spool_frame *f;
    u64 function, lazy = 0;

    if (is_elsewhere(t, sp) && stack_switch(t, target, sp, &last))
        return;
    more = unwind(t, sp);
    f = top_of(t);
    if (more)
        last = more;
    if ((f->key & SPOOL_FRAME_LAZY) && f->sp == sp) { // the resolver is done: who asked it calls
        const struct spool_edge *asked = edge_at(f);
        u64 key = f->key & ~SPOOL_FRAME_FLAGS;
        u32 flags = f->plt & SPOOL_FRAME_JUMP;

        way = (struct contexts_way){ asked->kind, asked->site, target, asked->len };
        if (tb_config.contexts)
            way.kind = SPOOL_EDGE_JUMP;
        pop(t->counters);
        enter(t, &way, edge_of(&way), key, sp, flags);
        return;
    }
    // what unwinds is over itself: its caller, by the call that was unwound, goes on there
    way = (struct contexts_way){ SPOOL_EDGE_JUMP, last ? last->site : site, target, 0 };
    e = edge_of(&way);
    function = e ? e->function : contexts_function_at(target);
    if (function == callee(f))
        return;
    if (function != target && jump_back(t, function))
        return;
    chain_end(t);
    f = top_of(t);
    if (!e && contexts_plt(f) && sp < f->sp) // it has left word of what is wanted
        lazy = SPOOL_FRAME_LAZY;
    enter(t, &way, e, (f->key & ~SPOOL_FRAME_FLAGS) | lazy, f->sp, SPOOL_FRAME_JUMP);
    if (e && (e->function == target || e->plt))
        note(e);
}

static void returned(struct thread *t, u64 site, u64 target, u64 sp, u64 behind,
                     const struct spool_edge *last)
{
    const struct spool_edge *more;
    bool matched = false;

    if (is_elsewhere(t, sp) && stack_switch(t, target, behind, &last))
        return;
    more = unwind(t, sp);
    while (top_of(t)->sp == sp) {
        matched |= (top_of(t)->key & ~SPOOL_FRAME_FLAGS) == sp + target;
        pop(t->counters);
    }
    if (!matched)
        jump(t, site, target, behind, more ? more : last);
}

void calls_return(struct thread *t, const u8 *ret)
{
    struct desc_calls d;

    desc_read(&d, ret, DESC_WORDS(struct desc_calls, cell));
    begin(t);
    returned(t, desc_u64(d.site), t->ibl_target, t->client_sp - d.len, t->client_sp,
             d.plt ? stack_set(t) : NULL);
    end(t);
}

void calls_returned(struct thread *t, u64 target)
{
    u64 sp = t->regs[R_RSP];

    if (!tb_config.calls)
        return;
    begin(t);
    returned(t, target, target, sp - 8, sp, NULL);
    end(t);
}

void calls_call(struct thread *t, const u8 *ret)
{
    struct contexts_way way = { .kind = SPOOL_EDGE_INDIRECT, .target = t->ibl_target };
    const struct spool_edge *e;
    struct desc_calls d;
    u64 sp = t->client_sp;

    desc_read(&d, ret, sizeof(d) / 4);
    way.site = desc_u64(d.site);
    way.len = d.len;
    begin(t);
    // The return address lies where such a frame's did; not on another stack, which may lie higher.
    if (!is_elsewhere(t, sp))
        unwind(t, sp + 1);
    e = edge_of(&way);
    if (e)
        note(e);
    enter(t, &way, e, sp + way.site + d.len, sp, 0);
    end(t);
}

void calls_called(struct thread *t, u64 site)
{
    struct contexts_way way = { .kind = SPOOL_EDGE_INDIRECT, .site = site, .target = t->pc };
    u64 sp = t->regs[R_RSP], back = 0;

    if (!tb_config.calls)
        return;
    safe_read_u64(sp, &back);
    begin(t);
    unwind(t, sp + 1);
    enter(t, &way, edge_of(&way), sp + back, sp, 0);
    end(t);
}

void calls_jump(struct thread *t, const u8 *ret)
{
    struct desc_calls d;

    desc_read(&d, ret, DESC_WORDS(struct desc_calls, cell));
    begin(t);
    jump(t, desc_u64(d.site), t->ibl_target, t->client_sp, d.plt ? stack_set(t) : NULL);
    end(t);
}

// A jump through register or memory that stays within its function.
void calls_table(struct thread *t, const u8 *ret)
{
    struct desc_calls d;
    struct spool_edge *e;

    desc_read(&d, ret, DESC_WORDS(struct desc_calls, cell));
    e = edges_of(SPOOL_EDGE_TABLE, desc_u64(d.site), 0, t->ibl_target);
    t->counters[e->counter]++;
    note(e);
}

// The way through the linkage table is the caller's, and the call begins behind it.
static void plt_left(struct thread *t, struct spool_frame *f, const struct spool_edge *through)
{
    charge(f, t->counters + through->counter + 1 + run.events, totals_of(t));
    f->plt &= SPOOL_FRAME_JUMP;
    f->key &= ~SPOOL_FRAME_FILLED;
    snapshot(f, totals_of(t), 0, run.often);
    record(t, CALLS_LEAVE, f, through->counter + 1 + run.events + run.often);
    record(t, CALLS_ENTER, f, 0);
}

void calls_leave_plt(struct thread *t, const u8 *ret)
{
    struct spool_frame *f = top_of(t);
    struct spool_edge *entry, *through, *e;
    u64 target = t->ibl_target, function;
    struct desc_calls d;
    bool within, called;

    desc_read(&d, ret, sizeof(d) / 4);
    entry = (struct spool_edge *)desc_u64(d.cell);
    called = (f->plt & SPOOL_FRAME_PLT) == d.plt;
    if (called && entry->target == target) { // there has been a miss
        plt_left(t, f, edge_at(f));
        return;
    }
    function = edges_function(target, &within);
    if (within)
        return;
    if (!(f->plt & SPOOL_FRAME_PLT) && f->sp == ~0ul && edge_at(f)->plt) {
        pop(t->counters); // counting has begun in the table: nobody is known to have called
        push_root(t, target, KEY_NONE, ~0ul);
        return;
    }
    if (!(f->plt & SPOOL_FRAME_PLT)) {
        jump(t, desc_u64(d.site), target, t->client_sp, NULL);
        return;
    }
    if (called)
        edges_plt_known(entry, target, function);
    through = edge_at(f);
    plt_left(t, f, through);
    if (called && entry->target == target)
        return;
    e = edges_of(through->kind == SPOOL_EDGE_JUMP ? SPOOL_EDGE_JUMP : SPOOL_EDGE_INDIRECT,
                 through->site, through->len, target);
    t->counters[through->counter]--;
    t->counters[e->counter]++;
    f->counter = e->counter;
    if (t->client_sp < f->sp) // it has left word of what is wanted
        f->key |= SPOOL_FRAME_LAZY;
}

void calls_stack(struct thread *t, const u8 *ret)
{
    (void)ret;
    begin(t);
    stack_set(t);
    end(t);
}

// ---- Signals ----

void calls_signal(struct thread *t)
{
    u64 sp, back = 0;

    if (!tb_config.calls)
        return;
    sp = t->regs[R_RSP];
    safe_read_u64(sp, &back);
    begin(t);
    push_root(t, back, KEY_NONE | SPOOL_FRAME_SIGNAL, sp + 8);
    enter_root(t, t->pc, sp + back, sp);
    end(t);
}

// A handler may have made the interrupted function call another (Go's runtime.sigpanic): its return
// address is where that was interrupted, or behind.
static void signal_called(struct thread *t)
{
    struct contexts_way way = { .kind = SPOOL_EDGE_INDIRECT, .target = t->pc };
    u64 sp = t->regs[R_RSP];

    if (top_of(t)->sp == sp || function_of(t->pc) == callee(top_of(t)) ||
        safe_read_u64(sp, &way.site) || function_of(way.site) != callee(top_of(t)))
        return;
    enter(t, &way, edge_of(&way), sp + way.site, sp, 0);
}

void calls_signal_return(struct thread *t)
{
    const struct spool_frame *f;

    if (!tb_config.calls)
        return;
    begin(t);
    for (f = top_of(t); f->sp != ~0ul && !(f->key & SPOOL_FRAME_SIGNAL); f = below(f))
        ;
    if (f->key & SPOOL_FRAME_SIGNAL) {
        while (top_of(t) != f)
            pop(t->counters);
        pop(t->counters);
    }
    unwind(t, t->regs[R_RSP]);
    signal_called(t);
    end(t);
}

// ---- Zero ----

static void frames_zero(u64 first, u64 end)
{
    for (; first < end; first += run.frame) {
        struct spool_frame *f = (struct spool_frame *)first;

        for (u32 i = 0; i < run.events; i++)
            f->before[i] = ~0ul;
    }
}

struct calls_kept calls_keep(const u64 *counters)
{
    struct calls_kept kept = { 0, 0 };

    if (tb_config.calls) {
        kept.top = counters[run.top];
        kept.late = tb_config.defer ? counters[run.late] : 0;
    }
    return kept;
}

void calls_zero(u64 *counters, u32 slot, struct calls_kept kept)
{
    u64 base = base_of(slot);

    if (!kept.top)
        return;
    counters[run.top] = kept.top;
    frames_zero(base, kept.top + run.frame);
    if (!kept.late)
        return;
    counters[run.late] = kept.late;
    if (kept.late - 1 != slot)
        frames_zero(base_of((u32)kept.late - 1),
                    base_of((u32)kept.late - 1) + kept.top + run.frame - base);
}

void calls_zero_left(void)
{
    for (u32 i = 0; i < stacks.count; i++) {
        struct spool_saved *s = stacks.left[i]->at;

        memset(s->totals, 0, sizeof(s->totals));
        frames_zero((u64)(s + 1), (u64)(s + 1) + s->frames);
    }
}

bool calls_toggle(struct thread *t)
{
    if (!tb_config.contexts)
        return false;
    contexts_toggle(t, base_of(t->slot), top_of(t));
    return true;
}
