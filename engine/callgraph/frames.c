// SPDX-License-Identifier: MIT
// Frames of open calls (frames.h).
#include "engine/callgraph/frames.h"

#include "engine/base/nolibc.h"
#include "engine/callgraph/edges.h"
#include "engine/callgraph/patterns.h"
#include "engine/codecache/restore.h"
#include "engine/spool/spooler.h"
#include "engine/thread/stop.h"
#include "engine/thread/threads.h"

struct frames frames;

struct spool_edge *frames_edge(const struct spool_frame *f)
{
    return edges_at(f->counter);
}

u64 frames_function(u64 addr)
{
    bool plt;

    return tb_config.contexts ? contexts_function_at(addr) : edges_function(addr, &plt);
}

// The function that made f's call; for a call through a linkage table, the entry's target.
u64 frames_callee(const struct spool_frame *f)
{
    const struct spool_edge *e;

    if (tb_config.contexts)
        return contexts_function(f);
    e = frames_edge(f);
    if (e->plt && !(f->plt & SPOOL_FRAME_PLT))
        e = edges_of(SPOOL_EDGE_PLT, e->target, 0, 0);
    return e->function;
}

// -- totals of replays --

void (*frames_record)(struct thread *t, enum frames_late what, const struct spool_frame *f,
                      u32 counter);
void (*frames_simulate)(struct thread *t);

// The counters of a replay: another slot's area if another processor replays.
u32 frames_late_slot(const struct thread *t)
{
    u64 offset;

    return slotmem_slot_of((u64)t->misses, &offset);
}

void frames_thread_init(struct thread *t)
{
    t->calls_base = frames_base(t->slot);
    t->calls_late = frames_base(frames_late_slot(t));
    t->late_top = t->late_last = t->late_was = t->calls_base - frames.frame;
}

// The counter after frames.late is the first frame that has not noted the replay's totals, for who
// reads the spool after a SIGKILL of all processes.
static void late_last(struct thread *t, u64 last)
{
    t->late_last = last;
    if (tb_config.calls_lazy)
        t->misses[frames.late + 1] = last + frames.frame;
}

void frames_late_settle(struct thread *t, u64 top)
{
    if (!tb_config.calls_lazy)
        return;
    t->late_top = t->late_was = top;
    late_last(t, top);
}

static struct spool_frame *late_frame(const struct thread *t, const struct spool_frame *f)
{
    return (struct spool_frame *)((u64)f - t->calls_base + t->calls_late);
}

static void late_note(struct thread *t, struct spool_frame *late)
{
    for (u32 i = frames.often; i < frames.events; i++)
        late->before[i] = ~frames_late_totals(t)[i];
}

void frames_late_fill(struct thread *t)
{
    if (t->late_last == t->late_top)
        return;
    for (u64 at = t->late_last + frames.frame; at <= t->late_top; at += frames.frame)
        late_note(t, late_frame(t, (const struct spool_frame *)at));
    late_last(t, t->late_top);
}

static void late_leave(struct thread *t, const struct spool_frame *late, u32 counter)
{
    for (u32 i = frames.often; i < frames.events; i++)
        t->misses[counter + i - frames.often] += frames_late_totals(t)[i] + late->before[i] + 1;
}

static void late_back(struct thread *t, const struct spool_frame *late)
{
    for (u32 i = frames.often; i < frames.events; i++)
        frames_late_totals(t)[i] = ~late->before[i];
}

// The same as the code of routine.c. A replay may be killed anywhere and do it again.
static void replay_lazily(struct thread *t, enum frames_late what, u64 at, u32 counter)
{
    struct spool_frame *late = (struct spool_frame *)(at - t->calls_base + t->calls_late);

    switch (what) {
    case FRAMES_ENTER: t->late_top = at; break;
    case FRAMES_LEAVE:
        t->late_was = t->late_last;
        if (at <= t->late_last) {
            late_last(t, at - frames.frame);
            late_leave(t, late, counter);
        }
        t->late_top = at - frames.frame;
        break;
    case FRAMES_BACK:
        if (at <= t->late_was)
            late_back(t, late);
        break;
    }
}

void frames_replay(struct thread *t, enum frames_late what, u32 frame, u32 counter)
{
    u64 offset = (u32)(frame - (u32)t->calls_base);
    struct spool_frame *late = (struct spool_frame *)(t->calls_late + offset);

    if (tb_config.calls_lazy) {
        replay_lazily(t, what, t->calls_base + offset, counter);
        return;
    }
    switch (what) {
    case FRAMES_ENTER: late_note(t, late); break;
    case FRAMES_LEAVE: late_leave(t, late, counter); break;
    case FRAMES_BACK: late_back(t, late); break;
    }
}

void frames_tell(struct thread *t, enum frames_late what, const struct spool_frame *f, u32 counter)
{
    if (tb_config.recording)
        frames_record(t, what, f, counter);
}

void frames_snapshot(struct spool_frame *f, const u64 *totals, u32 from, u32 to)
{
    for (u32 i = from; i < to; i++)
        f->before[i] = ~totals[i];
}

// Something is about to be counted that frames do not note when they are opened: frames that have
// not noted it do so now.
void frames_fill(struct thread *t)
{
    if (frames.often == frames.events || tb_config.recording)
        return;
    for (struct spool_frame *f = frames_top(t); !(f->key & SPOOL_FRAME_FILLED);
         f = frames_below(f)) {
        frames_snapshot(f, frames_totals(t), frames.often, frames.events);
        f->key |= SPOOL_FRAME_FILLED;
        if (f->plt & SPOOL_FRAME_PLT)
            f->plt |= SPOOL_FRAME_PLT_FILLED;
    }
}

// Adds the cost of f since it was opened to `to`.
void frames_charge(const struct spool_frame *f, u64 *to, const u64 *totals)
{
    u32 n = f->key & SPOOL_FRAME_FILLED ? frames.events : frames.often;

    for (u32 i = 0; i < n; i++)
        to[i] += totals[i] + f->before[i] + 1;
}

// A hidden function pays for its own code: until it calls, and again after the call. If the thread
// is killed here, something is lost rather than counted twice.
static void begin_anew(struct spool_frame *f, const u64 *totals)
{
    frames_snapshot(f, totals, 0, frames.events);
}

static void charge_hidden(struct spool_frame *f, u64 *to, const u64 *totals)
{
    u32 n = f->key & SPOOL_FRAME_FILLED ? frames.events : frames.often;

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

// f is about to end, and its caller becomes the top.
static void uncover(u64 *counters, const struct spool_frame *f)
{
    const struct spool_frame_context *m = contexts_of(f);

    if (m->depth)
        counters[m->depth]--;
    if (!is_first(f) && is_hidden(frames_below(f)))
        begin_anew(frames_below(f), counters + frames.top + 1);
}

// ---- Functions with actions at entry or exit ----

// The thread's current block, or the one it returns to, is its last before the dispatcher.
static void leave_fragment(struct thread *t)
{
    u64 *ret = (u64 *)t->engine_sp - 1;

    stop_set(t, STOP_CONTROL);
    if (t->state == TS_HELPER)
        restore_leave(t, ret);
}

static void note_due(struct thread *t, struct thread_due *due, const struct spool_frame *f)
{
    *due = (struct thread_due){ true, contexts_map(f), contexts_function(f) };
    leave_fragment(t);
}

// As Callgrind, only for the outermost of a function's open calls.
static void entered(struct thread *t, const struct spool_frame *f)
{
    const struct patterns *r;
    u32 depth = contexts_of(f)->depth;

    if (!frames.begins)
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
    struct thread *t = frames_thread(counters);
    u32 depth = contexts_of(f)->depth;

    if (frames.ends && contexts_rules(f)->after && depth && counters[depth] == 0)
        note_due(t, &thread_own(t)->dump_after, f);
}

// simulated: all records have been replayed, so that the replay's totals are current.
void frames_end(u64 *counters, bool simulated, bool elsewhere)
{
    struct spool_frame *f = (struct spool_frame *)counters[frames.top];
    u64 *totals = counters + frames.top + 1;
    u32 own = tb_config.recording ? frames.often : frames.events;

    if (tb_config.contexts && is_hidden(f))
        charge_hidden(f, counters + f->counter + 1, totals);
    else
        frames_charge(f, counters + f->counter + 1, totals);
    if (f->key & SPOOL_FRAME_SIGNAL) // the handler's cost is not the interrupted function's
        for (u32 i = 0; i < own; i++)
            totals[i] = ~f->before[i];
    if (tb_config.contexts) {
        uncover(counters, f);
        if (!elsewhere)
            left(counters, f);
    }
    counters[frames.top] = (u64)frames_below(f);
    if (simulated) {
        late_leave(frames_thread(counters), late_frame(frames_thread(counters), f),
                   f->counter + 1 + frames.often);
        frames_late_settle(frames_thread(counters), counters[frames.top]);
    } else {
        frames_tell(frames_thread(counters), FRAMES_LEAVE, f, f->counter + 1 + frames.often);
    }
    if (f->key & SPOOL_FRAME_SIGNAL)
        frames_tell(frames_thread(counters), FRAMES_BACK, f, 0);
}

void frames_pop(u64 *counters)
{
    frames_end(counters, false, false);
}

void frames_reach(struct thread *t, u64 end)
{
    u64 base = frames_base(t->slot);
    long ret = spooler_stack_reach(t->slot, end - base);

    if (ret == 0 && t->calls_late != t->calls_base)
        ret = spooler_stack_reach(frames_late_slot(t), end - base);
    if (ret == -ENOSPC)
        engine_die("more than %lu calls are open in one thread (docs/limits.md)",
                   spool_stack_size(t->slot) / frames.frame);
    if (ret)
        engine_die("no memory for the calls that are open: error %ld", -ret);
}

static struct spool_frame *push(struct thread *t, const struct spool_edge *e, u64 key, u64 sp,
                                u32 flags)
{
    u64 at = t->counters[frames.top] + frames.frame;
    struct spool_frame *f = (struct spool_frame *)at;

    // mapped memory ends between such pieces, no frame is in two, and this may be the first of one
    if ((at - CALLS_BASE) % SPOOLER_STACK_PIECE == 0)
        frames_reach(t, at + frames.frame);
    f->counter = e->counter;
    f->plt = e->plt | flags;
    f->key = key;
    f->sp = sp;
    frames_snapshot(f, frames_totals(t), 0, frames.often);
    t->counters[e->counter]++;
    frames_tell(t, FRAMES_ENTER, f, 0);
    t->counters[frames.top] = at;
    return f;
}

// With contexts the edge depends on them, and is found when the call is made: NULL.
struct spool_edge *frames_edge_of(const struct contexts_way *w)
{
    return tb_config.contexts ? NULL : edges_of(w->kind, w->site, w->len, w->target);
}

// Opens a call by w; `e`: its frames_edge_of().
struct spool_frame *frames_enter(struct thread *t, const struct contexts_way *w,
                                 const struct spool_edge *e, u64 key, u64 sp, u32 flags)
{
    u64 base = frames_base(t->slot);
    u64 at = t->counters[frames.top] + frames.frame;
    struct spool_frame *from = at > base ? frames_top(t) : NULL, *f;
    struct spool_frame_context context;

    if (e)
        return push(t, e, key, sp, flags);
    e = contexts_enter(t, from, w, (u32)((at - base) / frames.frame), &context);
    if (from && is_hidden(from))
        charge_hidden(from, t->counters + from->counter + 1, frames_totals(t));
    f = push(t, e, key, sp, flags);
    *contexts_of(f) = context;
    entered(t, f);
    return f;
}

struct spool_frame *frames_enter_root(struct thread *t, u64 target, u64 key, u64 sp)
{
    struct contexts_way w = { .kind = SPOOL_EDGE_ROOT, .target = target };

    return frames_enter(t, &w, frames_edge_of(&w), key, sp, 0);
}

// Closes frames whose stack is gone. Returns the edge of the last one, which led from the function
// that is on top now; NULL: there was none.
const struct spool_edge *frames_unwind(struct thread *t, u64 sp)
{
    const struct spool_frame *last = NULL;

    while (frames_top(t)->sp < sp) {
        last = frames_top(t);
        frames_pop(t->counters);
    }
    return last ? frames_edge(last) : NULL;
}

void frames_fill_root(struct thread *t, struct spool_frame *f)
{
    if (tb_config.recording)
        return;
    frames_snapshot(f, frames_totals(t), frames.often, frames.events);
    f->key |= SPOOL_FRAME_FILLED;
}

void frames_zero(u64 first, u64 end)
{
    for (; first < end; first += frames.frame) {
        struct spool_frame *f = (struct spool_frame *)first;

        for (u32 i = 0; i < frames.events; i++)
            f->before[i] = ~0ul;
    }
}
