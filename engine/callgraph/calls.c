// SPDX-License-Identifier: MIT
// The call graph (calls.h).
//
// Lock order: translation lock, then that of stacks or of edges, then the spool's. Helpers run with
// signals open and hold no lock when they get here; a thread that waits for a lock here is not
// parked, and no holder of one waits for stopping the world.
#include "engine/callgraph/calls.h"

#include "engine/base/clientmem.h"
#include "engine/base/heap.h"
#include "engine/base/nolibc.h"
#include "engine/callgraph/contexts.h"
#include "engine/callgraph/edges.h"
#include "engine/callgraph/patterns.h"
#include "engine/callgraph/stacks.h"
#include "engine/codecache/helperdesc.h"
#include "engine/spool/spooler.h"
#include "engine/thread/threads.h"

#define CHAIN_MAX 32 // jumps from function to function that stay open after one call

// ---- Edges in the table of translated code ----

u64 calls_known[CALLS_KNOWN];
const struct spool_edge calls_unknown;

// A bit for each 64 entries of the table that may be in use: a program that maps code all the time
// uses few each time.
#define KNOWN_PIECE 64
static u8 known_pieces[CALLS_KNOWN / KNOWN_PIECE];

// For each counter of a block the index of its event. One byte for each possible counter; memory is
// allocated when touched.
static u8 *owner;

// Another module may now be mapped where an edge's module was.
void calls_forget_unmapped(void)
{
    static u64 maps;

    if (spooler_maps_named == maps)
        return;
    maps = spooler_maps_named;
    for (u32 i = 0; i < ARRAY_SIZE(known_pieces); i++) {
        if (!__atomic_load_n(&known_pieces[i], __ATOMIC_ACQUIRE))
            continue;
        __atomic_store_n(&known_pieces[i], 0, __ATOMIC_SEQ_CST);
        for (u32 k = i * KNOWN_PIECE; k < (i + 1) * KNOWN_PIECE; k++)
            calls_known[k] = 0;
    }
}

void calls_init(void)
{
    if (!tb_config.calls)
        return;
    frames.events = tb_config.calls_events;
    frames.often = tb_config.calls_often;
    frames.frame = tb_config.calls_frame;
    for (u32 e = 0; e < SPOOL_EVENTS; e++)
        frames.place[e] = (u8)spool_event_index((enum spool_event)e, tb_config.flags);
    frames.top = tb_config.calls_top =
        spooler_counters(tb_config.contexts ? 2 * (1 + frames.events) : 3 + frames.events);
    frames.late = frames.top + 1 + frames.events;
    spool->calls = frames.top;
    edges_init();
    contexts_init();
    frames.begins = patterns_has("bz");
    frames.ends = patterns_has("a");
    owner = heap_pages(SPOOL_COUNTERS_MAX);
}

const u8 *calls_owner(u64 *totals)
{
    *totals = frames.top + 1;
    return owner;
}

static void jumps_end(struct thread *t)
{
    while (frames_top(t)->plt & SPOOL_FRAME_JUMP)
        frames_pop(t->counters);
}

// Brackets the work in C.
static void begin(struct thread *t)
{
    if (tb_config.contexts)
        contexts_thaw(t->counters);
}

static void end(struct thread *t)
{
    if (tb_config.contexts)
        contexts_settle(t, frames_top(t));
}

static void chain_end(struct thread *t)
{
    const struct spool_frame *f = frames_top(t);
    u32 n = 0;

    for (; (f->plt & SPOOL_FRAME_JUMP) && n < CHAIN_MAX; f = frames_below(f))
        n++;
    if (n == CHAIN_MAX)
        jumps_end(t);
}

// A long chain of jumps ends where the stack of most threads would: a program may extend it
// forever.
bool calls_full(struct thread *t, u64 addr, u64 *frame)
{
    u64 base = frames_base(t->slot);

    if (!tb_config.calls || addr - base >= spool_stack_size(t->slot))
        return false;
    if (*frame + frames.frame - base > SPOOL_STACK_SIZE - SPOOLER_STACK_GUARD) {
        chain_end(t);
        *frame = t->counters[frames.top] + frames.frame;
    }
    frames_reach(t, *frame + frames.frame);
    return true;
}

// ---- Threads ----

// Opens the first frame, or a signal's: frames that have not noted all totals do so now.
static void push_root(struct thread *t, u64 target, u64 key, u64 sp)
{
    struct spool_frame *f = frames_enter_root(t, target, key, sp);

    frames_fill_root(t, f);
    f->plt = 0; // also if counting starts in a linkage table
}

void calls_thread_start(struct thread *t)
{
    if (!tb_config.calls)
        return;
    t->calls_end = thread_sp(t);
    stacks_thread(t);
    if (tb_config.recording)
        t->counters[frames.late] = frames_late_slot(t) + 1;
    t->counters[frames.top] = frames_base(t->slot) - frames.frame;
    frames_late_settle(t, t->counters[frames.top]);
    push_root(t, t->pc, FRAMES_KEY_NONE, ~0ul);
    end(t);
}

static void end_all(u64 *counters, u32 slot)
{
    u64 base = frames_base(slot);

    if (!counters[frames.top])
        return;
    if (tb_config.contexts)
        contexts_thaw(counters);
    if (tb_config.recording)
        frames_simulate(frames_thread(counters));
    while (counters[frames.top] >= base)
        frames_end(counters, tb_config.recording, false);
    counters[frames.top] = 0;
}

void calls_thread_end(struct thread *t)
{
    if (!tb_config.calls)
        return;
    stacks_thread(t);
    end_all(t->counters, t->slot);
}

void calls_borrow_begin(struct thread *t, struct calls_save *save)
{
    if (!tb_config.calls)
        return;
    save->top = t->counters[frames.top];
    save->key = frames_top(t)->key;
    save->sp = frames_top(t)->sp;
    save->counter = frames_top(t)->counter;
    save->plt = frames_top(t)->plt;
    if (tb_config.contexts)
        save->context = *contexts_of(frames_top(t));
}

// The child has returned from the function that made it, as the parent will: the cost so far is
// noted, and the parent's share starts now.
void calls_borrow_end(struct thread *t, const struct calls_save *save)
{
    struct spool_frame *f = (struct spool_frame *)save->top;

    if (!tb_config.calls)
        return;
    begin(t);
    while (t->counters[frames.top] > save->top)
        frames_pop(t->counters);
    if (t->counters[frames.top] == save->top) {
        if (f->key == save->key) {
            end(t);
            return;
        }
        frames_pop(t->counters); // of a function that called exec
    }
    t->counters[frames.top] = save->top;
    f->counter = save->counter;
    f->plt = save->plt;
    f->key = save->key & ~SPOOL_FRAME_FILLED;
    f->sp = save->sp;
    frames_snapshot(f, frames_totals(t), 0, frames.often);
    frames_tell(t, FRAMES_ENTER, f, 0);
    if (tb_config.contexts) {
        *contexts_of(f) = save->context;
        if (save->context.depth)
            t->counters[save->context.depth]++;
    }
    end(t);
}

// ---- Counting ----

static void own(u32 counter, enum spool_event e)
{
    owner[counter] = frames.place[e];
}

static void own_group(u32 counter, enum spool_ref kind)
{
    for (const u8 *e = spool_ref_events(kind); *e != SPOOL_EVENTS; e++)
        if (spool_event_counted((enum spool_event) * e, tb_config.flags))
            own(counter++, (enum spool_event) * e);
}

void calls_own(const struct spool_counters *c, u32 first)
{
    static const struct {
        u8 field, event;
    } rows[] = {
#define ROW(f, e) { offsetof(struct spool_counters, f), SPOOL_E_##e }
        ROW(rep_ir, IR), ROW(rep_bc, BC), ROW(dyn_r, DR), ROW(dyn_w, DW),
        ROW(bcm, BCM),   ROW(bim, BIM),   ROW(brm, BRM),
#undef ROW
    };
    const u32 groups[SPOOL_REFS] = { c->i1mr, c->d1mr, c->d1mw };

    if (!tb_config.calls)
        return;
    for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
        u32 at = *(const u32 *)((const u8 *)c + rows[i].field);

        if (at != ~0u)
            own(first + at, (enum spool_event)rows[i].event);
    }
    for (u32 kind = 0; kind < SPOOL_REFS; kind++)
        if (groups[kind] != ~0u)
            own_group(first + groups[kind], (enum spool_ref)kind);
    for (u32 i = 0; c->cy != ~0u && i < SPOOL_CY_EVENTS; i++)
        own(first + c->cy + i, (enum spool_event)(SPOOL_E_CY + i));
}

void calls_counted(struct thread *t, u32 counter, u64 n)
{
    u32 place = owner[counter];

    if (tb_config.recording) {
        if (place >= frames.often) // else calls_elements() has counted it
            frames_late_totals(t)[place] += n;
        return;
    }
    if (place >= frames.often)
        frames_fill(t);
    frames_totals(t)[place] += n;
}

static void add_total(struct thread *t, enum spool_event e, u64 n)
{
    if (n && spool_event_counted(e, tb_config.flags))
        frames_totals(t)[frames.place[e]] += n;
}

void calls_elements(struct thread *t, enum spool_event e, u64 n)
{
    if (tb_config.calls && tb_config.recording)
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
        e = edges_record(&mine, 1 + frames.events);
    }
    frames_fill(t);
    for (u32 i = SPOOL_E_SYSCOUNT; i < SPOOL_EVENTS; i++) {
        if (!spool_event_counted((enum spool_event)i, tb_config.flags))
            continue;
        frames_totals(t)[frames.place[i]] += by[i - SPOOL_E_SYSCOUNT];
        t->counters[e->counter + 1 + frames.place[i]] += by[i - SPOOL_E_SYSCOUNT];
    }
}

void calls_miss(struct thread *t, const u8 *ret)
{
    u32 counter;

    helperdesc_read(&counter, ret, 1);
    calls_count(t, counter, 1);
}

// ---- Control ----

// Lets translated code make the next such call itself.
static void note(const struct spool_edge *e)
{
    u32 place = calls_place(e->site, e->target);

    __atomic_store_n(&calls_known[place], (u64)e - (u64)&calls_unknown, __ATOMIC_RELEASE);
    __atomic_store_n(&known_pieces[place / KNOWN_PIECE], 1, __ATOMIC_RELEASE);
}

// In a chain of jumps after one call: the jump that came from function g, if this is the way back.
static bool jump_back(struct thread *t, u64 g)
{
    for (struct spool_frame *f = frames_top(t); f->plt & SPOOL_FRAME_JUMP; f = frames_below(f)) {
        bool plt;

        if ((tb_config.contexts ? contexts_function(frames_below(f))
                                : edges_function(frames_edge(f)->site, &plt)) != g)
            continue;
        while (frames_top(t) != f)
            frames_pop(t->counters);
        frames_pop(t->counters);
        return true;
    }
    return false;
}

void calls_fork_child(struct thread *t)
{
    edges_fork_child();
    contexts_fork_child();
    if (!tb_config.calls)
        return;
    stacks_fork_child(t);
    for (u32 slot = 0; slot < spool->threads_used; slot++)
        if (slot != t->slot && spooler_slot_in_use(slot))
            end_all(slotmem_counters(slot), slot);
}

// A jump from site to target; sp: the stack pointer. It may be a way back, stay within a function,
// or count as a call. last: its source, if functions have been left on the way. direct: it has no
// other target. own: its edge, if that is known.
static void jump(struct thread *t, u64 site, u64 target, u64 sp, bool direct,
                 const struct spool_edge *own, const struct spool_edge *last)
{
    const struct spool_edge *more;
    struct contexts_way way;
    const struct spool_edge *e;
    struct spool_frame *f;
    u64 function, lazy = 0;

    if (stacks_elsewhere(t, sp, false) && stacks_switch(t, target, sp, direct, &last))
        return;
    more = stacks_unwind(t, sp);
    f = frames_top(t);
    if (more)
        last = more;
    if ((f->key & SPOOL_FRAME_LAZY) &&
        f->sp == sp) { // the resolver is done: its caller makes the call
        const struct spool_edge *asked = frames_edge(f);
        u64 key = f->key & ~SPOOL_FRAME_FLAGS;
        u32 flags = f->plt & SPOOL_FRAME_JUMP;

        way = (struct contexts_way){ asked->kind, asked->site, target, asked->len };
        if (tb_config.contexts)
            way.kind = SPOOL_EDGE_JUMP;
        frames_pop(t->counters);
        frames_enter(t, &way, frames_edge_of(&way), key, sp, flags);
        return;
    }
    // the unwinder has ended, too: its caller, by the call that was unwound, continues there
    way = (struct contexts_way){ SPOOL_EDGE_JUMP, last ? last->site : site, target, 0 };
    e = own && !last ? own : frames_edge_of(&way);
    function = e ? e->function : contexts_function_at(target);
    if (function == frames_callee(f))
        return;
    if (function != target && jump_back(t, function))
        return;
    chain_end(t);
    f = frames_top(t);
    if (!e && contexts_plt(f) && sp < f->sp) // the table's entry has pushed what it wants
        lazy = SPOOL_FRAME_LAZY;
    frames_enter(t, &way, e, (f->key & ~SPOOL_FRAME_FLAGS) | lazy, f->sp, SPOOL_FRAME_JUMP);
    if (e && (e->function == target || e->plt))
        note(e);
}

static void returned(struct thread *t, u64 site, u64 target, u64 sp, u64 behind,
                     const struct spool_edge *last)
{
    const struct spool_edge *more;
    bool matched = false;

    if (stacks_elsewhere(t, sp, false) && stacks_switch(t, target, behind, false, &last))
        return;
    more = stacks_unwind(t, sp);
    while (frames_top(t)->sp == sp) {
        matched |= (frames_top(t)->key & ~SPOOL_FRAME_FLAGS) == sp + target;
        more = frames_edge(frames_top(t));
        frames_pop(t->counters);
    }
    // The function has put another address in the place of its own, and has ended, too: as if it
    // had been unwound, its caller continues there. A handler has none.
    if (more && more->kind == SPOOL_EDGE_ROOT)
        more = NULL;
    if (!matched)
        jump(t, site, target, behind, false, NULL, more ? more : last);
}

void calls_return(struct thread *t, const u8 *ret)
{
    struct helperdesc_calls d;

    helperdesc_read(&d, ret, HELPERDESC_WORDS(struct helperdesc_calls, cell));
    begin(t);
    returned(t, helperdesc_u64(d.site), t->ibl_target, t->client_sp - d.len, t->client_sp,
             d.plt ? stacks_set(t, STACKS_LEAVES) : NULL);
    end(t);
}

void calls_returned(struct thread *t, u64 target)
{
    u64 sp = thread_sp(t);

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
    struct helperdesc_calls d;
    u64 sp = t->client_sp;

    helperdesc_read(&d, ret, sizeof(d) / 4);
    way.site = helperdesc_u64(d.site);
    way.len = d.len;
    begin(t);
    // The return address is where such a frame has it, and not on another stack, which may be
    // higher.
    if (!stacks_elsewhere(t, sp, true))
        stacks_unwind(t, sp + 1);
    e = frames_edge_of(&way);
    if (e)
        note(e);
    frames_enter(t, &way, e, sp + way.site + d.len, sp, 0);
    end(t);
}

void calls_called(struct thread *t, u64 site)
{
    struct contexts_way way = { .kind = SPOOL_EDGE_INDIRECT, .site = site, .target = t->pc };
    u64 sp = thread_sp(t), back = 0;

    if (!tb_config.calls)
        return;
    clientmem_read_u64(sp, &back);
    begin(t);
    stacks_unwind(t, sp + 1);
    frames_enter(t, &way, frames_edge_of(&way), sp + back, sp, 0);
    end(t);
}

void calls_jump(struct thread *t, const u8 *ret)
{
    struct helperdesc_calls d;

    helperdesc_read(&d, ret, sizeof(d) / 4);
    begin(t);
    jump(t, helperdesc_u64(d.site), t->ibl_target, t->client_sp, d.len,
         (const struct spool_edge *)helperdesc_u64(d.cell),
         d.plt ? stacks_set(t, STACKS_LEAVES) : NULL);
    end(t);
}

// A jump through register or memory within its function.
void calls_table(struct thread *t, const u8 *ret)
{
    struct helperdesc_calls d;
    struct spool_edge *e;

    helperdesc_read(&d, ret, HELPERDESC_WORDS(struct helperdesc_calls, cell));
    e = edges_of(SPOOL_EDGE_TABLE, helperdesc_u64(d.site), 0, t->ibl_target);
    t->counters[e->counter]++;
    note(e);
}

// The way through the linkage table belongs to the caller; the call starts after it.
static void plt_left(struct thread *t, struct spool_frame *f, const struct spool_edge *through)
{
    frames_charge(f, t->counters + through->counter + 1 + frames.events, frames_totals(t));
    f->plt &= SPOOL_FRAME_JUMP;
    f->key &= ~SPOOL_FRAME_FILLED;
    frames_snapshot(f, frames_totals(t), 0, frames.often);
    frames_tell(t, FRAMES_LEAVE, f, through->counter + 1 + frames.events + frames.often);
    frames_tell(t, FRAMES_ENTER, f, 0);
}

void calls_leave_plt(struct thread *t, const u8 *ret)
{
    struct spool_frame *f = frames_top(t);
    struct spool_edge *entry, *through, *e;
    u64 target = t->ibl_target, function;
    struct helperdesc_calls d;
    bool within, called;

    helperdesc_read(&d, ret, sizeof(d) / 4);
    entry = (struct spool_edge *)helperdesc_u64(d.cell);
    called = (f->plt & SPOOL_FRAME_PLT) == d.plt;
    if (called && entry->target == target) { // a branch was mispredicted
        plt_left(t, f, frames_edge(f));
        return;
    }
    function = edges_function(target, &within);
    if (within)
        return;
    if (!(f->plt & SPOOL_FRAME_PLT) && f->sp == ~0ul && frames_edge(f)->plt) {
        frames_pop(t->counters); // counting started in the table: the caller is unknown
        push_root(t, target, FRAMES_KEY_NONE, ~0ul);
        return;
    }
    if (!(f->plt & SPOOL_FRAME_PLT)) {
        jump(t, helperdesc_u64(d.site), target, t->client_sp, false, NULL, NULL);
        return;
    }
    if (called)
        edges_plt_known(entry, target, function);
    through = frames_edge(f);
    plt_left(t, f, through);
    if (called && entry->target == target)
        return;
    e = edges_of(through->kind == SPOOL_EDGE_JUMP ? SPOOL_EDGE_JUMP : SPOOL_EDGE_INDIRECT,
                 through->site, through->len, target);
    t->counters[through->counter]--;
    t->counters[e->counter]++;
    f->counter = e->counter;
    if (t->client_sp < f->sp) // the table's entry has pushed what it wants
        f->key |= SPOOL_FRAME_LAZY;
}

void calls_stack(struct thread *t, const u8 *ret)
{
    struct helperdesc_calls d;

    helperdesc_read(&d, ret, HELPERDESC_WORDS(struct helperdesc_calls, cell));
    begin(t);
    stacks_set(t, d.len ? STACKS_CALLS : STACKS_STAYS);
    end(t);
}

// ---- Signals ----

void calls_signal(struct thread *t)
{
    u64 sp, back = 0;

    if (!tb_config.calls)
        return;
    sp = thread_sp(t);
    clientmem_read_u64(sp, &back);
    begin(t);
    push_root(t, back, FRAMES_KEY_NONE | SPOOL_FRAME_SIGNAL, sp + 8);
    frames_enter_root(t, t->pc, sp + back, sp);
    end(t);
}

// A handler may have made the interrupted function call another one (Go's runtime.sigpanic): its
// return address is where that was interrupted, or after it.
static void signal_called(struct thread *t)
{
    struct contexts_way way = { .kind = SPOOL_EDGE_INDIRECT, .target = t->pc };
    u64 sp = thread_sp(t);

    if (frames_top(t)->sp == sp || frames_function(t->pc) == frames_callee(frames_top(t)) ||
        clientmem_read_u64(sp, &way.site) ||
        frames_function(way.site) != frames_callee(frames_top(t)))
        return;
    frames_enter(t, &way, frames_edge_of(&way), sp + way.site, sp, 0);
}

void calls_signal_return(struct thread *t)
{
    const struct spool_frame *f;

    if (!tb_config.calls)
        return;
    begin(t);
    for (f = frames_top(t); f->sp != ~0ul && !(f->key & SPOOL_FRAME_SIGNAL); f = frames_below(f))
        ;
    if (f->key & SPOOL_FRAME_SIGNAL) {
        while (frames_top(t) != f)
            frames_pop(t->counters);
        frames_pop(t->counters);
    }
    stacks_unwind(t, thread_sp(t));
    signal_called(t);
    end(t);
}

// ---- Zero ----

struct calls_kept calls_keep(const u64 *counters)
{
    struct calls_kept kept = { 0, 0 };

    if (tb_config.calls) {
        kept.top = counters[frames.top];
        kept.late = tb_config.recording ? counters[frames.late] : 0;
    }
    return kept;
}

void calls_zero(u64 *counters, u32 slot, struct calls_kept kept)
{
    u64 base = frames_base(slot);

    if (!kept.top)
        return;
    counters[frames.top] = kept.top;
    frames_zero(base, kept.top + frames.frame);
    if (!kept.late)
        return;
    counters[frames.late] = kept.late;
    if (kept.late - 1 != slot)
        frames_zero(frames_base((u32)kept.late - 1),
                    frames_base((u32)kept.late - 1) + kept.top + frames.frame - base);
}

void calls_zero_left(void)
{
    stacks_zero();
}

bool calls_toggle(struct thread *t)
{
    if (!tb_config.contexts)
        return false;
    contexts_toggle(t, frames_base(t->slot), frames_top(t));
    return true;
}
