// SPDX-License-Identifier: MIT
// Stacks (stacks.h).
#include "engine/callgraph/stacks.h"

#include "engine/base/heap.h"
#include "engine/base/lock.h"
#include "engine/base/nolibc.h"
#include "engine/callgraph/saved.h"
#include "engine/spool/spooler.h"
#include "engine/thread/threads.h"

// A program may have several stacks, and switch between them by setting the stack pointer:
// coroutines. Each stack has its own frames and totals. They are saved in the spool when the stack
// is left, and restored, by any thread, when the stack pointer returns to its old value.
//
// A function that only calls another one on a second stack stays its caller; this is a bridge: only
// control that continues there without a call belongs to the second stack. What was called over a
// bridge ends with it: when control comes back, or leaves for a third stack (Go's scheduler).

#define STACK_ROOM 16384 // this little further down may be space on the same stack
#define STACK_ARGS 128   // bytes of arguments that a call may have popped
#define STACK_NEAR 4096  // the stack pointers may differ by what the switch pushes

struct record_list {
    struct saved **left;
    u32 count, room;
};

static struct {
    struct lock lock;
    u64 used;                    // bytes of records
    struct record_list free[64]; // of each power of two
} stacks;

static u32 list_of(u64 bytes)
{
    return (u32)__builtin_ctzl(bytes);
}

// Frees a record: its frames have been restored. @holds(stacks.lock)
static void saved_free(struct saved *l)
{
    struct record_list *list = &stacks.free[list_of(l->at->bytes)];

    l->at->frames = 0;
    if (list->count == list->room) {
        u32 room = list->room ? list->room * 2 : 64;
        struct saved **more = heap_alloc(room * sizeof(*more));

        if (list->room)
            memcpy(more, list->left, list->count * sizeof(*more));
        heap_free(list->left, list->room * sizeof(*more));
        list->left = more;
        list->room = room;
    }
    list->left[list->count++] = l;
}

// A stack whose record has space for `bytes` bytes of frames; NULL when there is no memory.
// @holds(stacks.lock)
static struct saved *saved_take(u64 bytes)
{
    u64 base = frames_base(SPOOL_THREADS_MAX), need = sizeof(struct spool_saved);
    struct record_list *list;
    struct saved *l;

    while (need < sizeof(struct spool_saved) + bytes)
        need *= 2;
    list = &stacks.free[list_of(need)];
    if (list->count)
        return list->left[--list->count];
    if (spooler_stack_reach(SPOOL_THREADS_MAX, stacks.used + need + sizeof(struct spool_saved)))
        return NULL;
    l = heap_alloc(sizeof(*l));
    l->at = (struct spool_saved *)(base + stacks.used);
    l->at->bytes = need;
    stacks.used += need;
    return l;
}

static void copy_words(u64 *to, const u64 *from, u64 bytes)
{
    for (u64 i = 0; i < bytes / 8; i++)
        to[i] = from[i];
}

// The replay's totals of the frames are saved with them, and each is complete then.
static void late_save(struct thread *t, struct spool_saved *s, u64 bytes)
{
    copy_words(s->totals + frames.often, frames_late_totals(t) + frames.often,
               (frames.events - frames.often) * 8ul);
    for (u64 at = 0; at < bytes; at += frames.frame) {
        struct spool_frame *f = (struct spool_frame *)((u64)(s + 1) + at);
        const struct spool_frame *late = (const struct spool_frame *)(t->calls_late + at);

        f->key |= SPOOL_FRAME_FILLED;
        for (u32 i = frames.often; i < frames.events; i++)
            f->before[i] = late->before[i];
    }
}

static void late_take_up(struct thread *t, u64 bytes)
{
    for (u64 at = 0; at < bytes; at += frames.frame) {
        struct spool_frame *f = (struct spool_frame *)(t->calls_base + at);
        struct spool_frame *late = (struct spool_frame *)(t->calls_late + at);

        f->key &= ~SPOOL_FRAME_FILLED;
        for (u32 i = frames.often; i < frames.events; i++)
            late->before[i] = f->before[i];
    }
}

// Adds `by` to the open functions of a stack's frames.
static void adjust_depths(struct thread *t, u64 last, u64 by)
{
    u64 base = frames_base(t->slot);

    for (u64 at = base; tb_config.contexts && at <= last; at += frames.frame) {
        u32 depth = contexts_of((const struct spool_frame *)at)->depth;

        if (depth)
            t->counters[depth] += by;
    }
}

// The stack in which o's frames up to its bridge k, which it has crossed, will be saved; NULL: no
// space. @holds(stacks.lock)
static struct saved *saved_make(struct thread *o, u32 k, u64 sp)
{
    const struct thread_own *own = thread_own(o);
    u64 base = frames_base(o->slot);
    u64 bytes = own->bridge[k].last + frames.frame - base;
    struct saved *l = saved_take(bytes);

    if (!l)
        return NULL;
    *l = (struct saved){ .at = l->at, .sp = sp, .end = o->calls_end, .bridges = k };
    for (u32 i = 0; i < k; i++) {
        l->bridge[i] = own->bridge[i];
        l->bridge[i].last -= base;
    }
    copy_words((u64 *)(l->at + 1), (const u64 *)base, bytes);
    return l;
}

static void stack_put_aside(struct thread *t, u32 k)
{
    struct saved *l = saved_make(t, k, thread_own(t)->bridge[k].from);
    u64 bytes = t->counters[frames.top] + frames.frame - frames_base(t->slot);

    if (!l) {
        while (t->counters[frames.top] >= frames_base(t->slot))
            frames_pop(t->counters);
        return;
    }
    copy_words(l->at->totals, frames_totals(t), frames.events * 8ul);
    if (tb_config.recording)
        late_save(t, l->at, bytes);
    frames_late_settle(t, frames_base(t->slot) - frames.frame);
    l->at->frames = bytes;
    saved_add(l);
    adjust_depths(t, t->counters[frames.top], ~0ul);
}

// The bridge crossed before the last one; that one, if there is none.
static u32 bridge_before(const struct thread *t)
{
    const struct thread_own *own = thread_own(t);

    for (u32 k = own->bridges - 1; k-- > 0;)
        if (!own->bridge[k].maybe)
            return k;
    return own->bridges - 1;
}

// The client leaves its stack over the last bridge; what was called over the one before ends.
// Without space for the frames they end, too, and so does this thread's part in those that another
// thread has restored.
static void stack_leave(struct thread *t)
{
    struct thread_own *own = thread_own(t);
    u32 k = bridge_before(t);
    bool gone;

    while (t->counters[frames.top] > own->bridge[k].last)
        frames_pop(t->counters);
    frames_fill(t);
    if (tb_config.recording)
        frames_simulate(t);
    lock_take(&stacks.lock);
    gone = own->bridge[k].taken || own->bridge[own->bridges - 1].taken;
    if (gone)
        while (t->counters[frames.top] >= frames_base(t->slot))
            frames_end(t->counters, tb_config.recording, true);
    else
        stack_put_aside(t, k);
    own->bridges = 0;
    lock_drop(&stacks.lock);
}

// A function starts on a new stack.
static void stack_begin(struct thread *t, u64 sp, u64 target)
{
    u64 base = frames_base(t->slot);
    struct spool_frame *f;

    t->calls_end = sp + SAVED_ABOVE;
    t->counters[frames.top] = base - frames.frame;
    f = frames_enter_root(t, target, FRAMES_KEY_NONE, ~0ul);
    frames_fill_root(t, f);
}

// Whether the stack of f, its last call, with first frame `base`, has been copied elsewhere, and
// control that continues at target with stack pointer sp returns there.
static bool stack_moved(const struct spool_frame *base, const struct spool_frame *f, u64 target,
                        u64 sp)
{
    struct saved_calls calls;

    if (saved_return(f) != target)
        return false;
    calls = saved_calls_of(base, f);
    return saved_calls_moved(&calls, f->sp, target, sp);
}

// Moves all calls from f downwards that are on its stack.
static void stack_move(struct thread *t, struct spool_frame *f, u64 by)
{
    const struct spool_frame *base = (const struct spool_frame *)frames_base(t->slot);
    u64 from = f->sp;

    for (; f >= base; f = frames_below(f)) {
        if (f->sp < from || f->sp > t->calls_end)
            continue;
        f->sp += by;
        f->key = ((f->key + by) & ~SPOOL_FRAME_FLAGS) | (f->key & SPOOL_FRAME_FLAGS);
    }
    t->calls_end += by;
}

// Whether the stack has an open call, at f or after it, of this function, whose frame contains
// `sp_there`. Jumps on it have the same stack pointer.
static bool is_open(const struct spool_frame *base, const struct spool_frame *f, u64 function,
                    u64 sp_there)
{
    u64 at;

    while (f > base && f->sp < sp_there)
        f = frames_below(f);
    at = f->sp;
    for (; f >= base && f->sp == at; f = frames_below(f))
        if (frames_callee(f) == function)
            return true;
    return false;
}

// Where control goes on.
struct place {
    u64 sp;             // the value to which the stack pointer was set
    u64 target, sp_there; // and its value there
    u64 function;       // that of target
};

// Whether a saved stack has such a call at the new stack pointer.
static bool saved_is_open(const struct saved *l, const void *arg)
{
    const struct place *to = arg;

    return is_open((const struct spool_frame *)(l->at + 1), saved_top(l), to->function,
                   to->sp_there);
}

// The client continues on a saved stack, and is on none now.
static void stack_restore(struct thread *t, struct saved *l)
{
    struct thread_own *own = thread_own(t);
    u64 base = frames_base(t->slot);

    frames_reach(t, base + l->at->frames);
    copy_words((u64 *)base, (const u64 *)(l->at + 1), l->at->frames);
    copy_words(frames_totals(t), l->at->totals, frames.often * 8ul);
    copy_words((tb_config.recording ? frames_late_totals(t) : frames_totals(t)) + frames.often,
               l->at->totals + frames.often, (frames.events - frames.often) * 8ul);
    if (tb_config.recording)
        late_take_up(t, l->at->frames);
    t->counters[frames.top] = base + l->at->frames - frames.frame;
    frames_late_settle(t, t->counters[frames.top]);
    adjust_depths(t, t->counters[frames.top], 1);
    t->calls_end = l->end;
    lock_take(&stacks.lock);
    for (u32 i = 0; i < l->bridges; i++) {
        own->bridge[i] = l->bridge[i];
        own->bridge[i].last += base;
    }
    own->bridges = l->bridges;
    saved_free(l);
    lock_drop(&stacks.lock);
}

// Ends bridge k and those after it.
static void bridge_drop(struct thread *t, u32 k)
{
    lock_take(&stacks.lock);
    thread_own(t)->bridges = k;
    lock_drop(&stacks.lock);
}

// Ends the bridges whose call has ended. But if another thread has the near side of a bridge, the
// bridge lasts until this one has left it.
static void bridges_update(struct thread *t)
{
    struct thread_own *own = thread_own(t);
    u64 top = t->counters[frames.top];

    for (u32 k = own->bridges; k-- > 0 && top < own->bridge[k].last;) {
        if (own->bridge[k].taken)
            own->bridge[k].last = top;
        else
            bridge_drop(t, k);
    }
}

// The last bridge that is still open; NULL: there is none. A change that may have made space was
// not that when a call has been made there.
static struct thread_bridge *bridge_last(struct thread *t)
{
    struct thread_own *own = thread_own(t);

    bridges_update(t);
    for (u32 k = own->bridges; k-- > 0;)
        if (!own->bridge[k].maybe || t->counters[frames.top] == own->bridge[k].last)
            return &own->bridge[k];
    return NULL;
}

static u32 bridge_number(const struct thread *t, const struct thread_bridge *b)
{
    return (u32)(b - thread_own(t)->bridge);
}

static bool is_near(u64 x, u64 y)
{
    return x + STACK_NEAR >= y && x <= y + STACK_NEAR;
}

// If the table is full, drops the first bridge that may be none, or else the first one of this
// thread's own.
static u32 bridge_to_drop(const struct thread_own *own)
{
    for (u32 k = 0; k < own->bridges; k++)
        if (own->bridge[k].maybe && !own->bridge[k].taken)
            return k;
    return own->bridge[0].taken && !own->bridge[1].taken;
}

// The last one is not known to be a bridge yet: a call will tell.
static void bridge_begin(struct thread *t, u64 from, u64 to, bool maybe)
{
    struct thread_own *own = thread_own(t);
    u64 top = t->counters[frames.top];

    lock_take(&stacks.lock);
    if (own->bridges && own->bridge[own->bridges - 1].maybe &&
        own->bridge[own->bridges - 1].last == top) // it was no bridge
        own->bridges--;
    if (own->bridges == THREAD_BRIDGES) {
        own->bridges--;
        for (u32 k = bridge_to_drop(own); k < own->bridges; k++)
            own->bridge[k] = own->bridge[k + 1];
    }
    own->bridge[own->bridges++] =
        (struct thread_bridge){ .from = from, .to = to, .last = top, .maybe = maybe };
    lock_drop(&stacks.lock);
}

// What was called over bridge k ends. Returns the edge that led from the function that is on top
// then.
static const struct spool_edge *bridge_end(struct thread *t, u32 k)
{
    const struct spool_frame *last = NULL;
    u64 to = thread_own(t)->bridge[k].last;

    while (t->counters[frames.top] > to) {
        last = frames_top(t);
        frames_pop(t->counters);
    }
    bridge_drop(t, k);
    return last ? frames_edge(last) : NULL;
}

// Whether control that continues at target has come back over a bridge, or to where that stack has
// been copied; *last: as bridge_end().
static bool bridge_back(struct thread *t, u64 target, u64 sp_there, bool moved,
                        const struct spool_edge **last)
{
    struct thread_own *own = thread_own(t);

    for (u32 i = own->bridges - 1; i-- > 0 && !own->bridge[i].taken;) {
        struct spool_frame *f = (struct spool_frame *)own->bridge[i].last;

        if (moved ? !stack_moved((struct spool_frame *)frames_base(t->slot), f, target, sp_there)
                  : saved_return(f) != target || f->sp != sp_there - 8)
            continue;
        *last = bridge_end(t, i);
        if (moved)
            stack_move(t, f, sp_there - 8 - f->sp);
        return true;
    }
    return false;
}

// -- stacks that are left while their threads still work beyond a bridge --
//
// Another thread may continue on such a stack at once. Both then have its calls open, and each pays
// for its own work: the one beyond the bridge until that ends, the other from there on. So neither
// has to know what the other has counted, or simulated.

// Whether o has left, over its bridge k, the stack on which control continues.
static bool is_parked(const struct thread *o, u32 k, u64 sp, u64 target, u64 sp_there, bool moved)
{
    const struct thread_bridge *b = &thread_own(o)->bridge[k];
    const struct spool_frame *f = (const struct spool_frame *)b->last;
    u64 top = o->counters[frames.top];

    if (b->taken || b->maybe || top < b->last || f->sp < b->from)
        return false;
    // a bridge that it is about to cross does not count if others are open: what is beyond these
    // ends
    for (u32 i = 0; i < k && top == b->last; i++)
        if (!thread_own(o)->bridge[i].maybe)
            return false;
    if (moved)
        return stack_moved((const struct spool_frame *)frames_base(o->slot), f, target, sp_there);
    return b->from == sp || (f->sp == sp_there - 8 && saved_return(f) == target);
}

// Its calls start to cost now.
static struct saved *parked_take(struct thread *o, u32 k)
{
    struct thread_own *own = thread_own(o);
    u64 bytes = own->bridge[k].last + frames.frame - frames_base(o->slot);
    struct saved *l = saved_make(o, k, own->bridge[k].from);

    if (!l)
        return NULL;
    memset(l->at->totals, 0, sizeof(l->at->totals));
    frames_zero((u64)(l->at + 1), (u64)(l->at + 1) + bytes);
    l->at->frames = bytes;
    for (u32 i = 0; i <= k; i++) // the bridges before it are on that stack
        own->bridge[i].taken = true;
    return l;
}

// @holds(stacks.lock)
static struct saved *parked_find(const struct thread *t, u64 sp, u64 target, u64 sp_there,
                                 bool moved)
{
    for (u32 slot = 0; slot < spool->threads_used; slot++) {
        struct thread *o = thread_at_slot(slot);

        if (slot == t->slot || !spooler_slot_in_use(slot) || !o->own)
            continue;
        for (u32 k = thread_own(o)->bridges; k-- > 0;)
            if (is_parked(o, k, sp, target, sp_there, moved))
                return parked_take(o, k);
    }
    return NULL;
}

enum left_how {
    SAVED_THERE, // there, or by a call that returns from there
    SAVED_OPEN,  // the function has a call there
    SAVED_NEAR,
    SAVED_MOVED,
};

// The stack on which control continues, or NULL; it is removed from the saved ones.
static struct saved *find_saved(const struct thread *t, const struct place *to, enum left_how how)
{
    struct saved *l = NULL;

    lock_take(&stacks.lock);
    switch (how) {
    case SAVED_THERE:
        l = saved_called(to->target, to->sp_there);
        if (!l)
            l = saved_at(to->sp);
        break;
    case SAVED_OPEN: l = saved_around(to->sp, saved_is_open, to); break;
    case SAVED_NEAR: l = saved_near(to->sp, STACK_NEAR); break;
    case SAVED_MOVED: l = saved_moved(to->target, to->sp_there); break;
    }
    if (l)
        saved_remove(l);
    else if (how == SAVED_THERE || how == SAVED_MOVED)
        l = parked_find(t, to->sp, to->target, to->sp_there, how == SAVED_MOVED);
    lock_drop(&stacks.lock);
    return l;
}

// Whether the stack pointer is, from f downwards, where a call that was left would have returned
// to, or where a function starts.
static bool sp_fits(const struct spool_frame *f, u64 sp)
{
    const struct spool_frame *left = NULL;

    for (; f->sp < sp; f = frames_below(f))
        left = f;
    return f->sp == sp || (left && sp - 8 - left->sp <= STACK_ARGS);
}

// Whether control stays on its stack: there are frames that fit.
static bool stays(const struct thread *t, const struct spool_frame *f, const struct place *to)
{
    return sp_fits(f, to->sp_there) ||
           is_open((const struct spool_frame *)frames_base(t->slot), f, to->function, to->sp_there);
}

// Whether control leaves a signal handler on a stack of its own.
static bool signal_left(struct thread *t, const struct place *to, bool maybe)
{
    const struct spool_frame *f = frames_top(t);

    while (f->sp != ~0ul && !(f->key & SPOOL_FRAME_SIGNAL))
        f = frames_below(f);
    if (!(f->key & SPOOL_FRAME_SIGNAL) || to->sp_there > t->calls_end ||
        (maybe && !stays(t, frames_below(f), to)))
        return false;
    while (frames_top(t) != f)
        frames_pop(t->counters);
    frames_pop(t->counters);
    frames_unwind(t, to->sp_there);
    return true;
}

// Whether control is on its old stack; *l: if not, the stack on which it continues, if that is
// certain.
static bool stack_stays(struct thread *t, const struct place *to, bool direct, struct saved **l)
{
    const struct thread_bridge *b = bridge_last(t);
    bool up = b->to > b->from, maybe = b->maybe;

    *l = find_saved(t, to, SAVED_THERE);
    if (!*l && maybe && up && stays(t, frames_top(t), to))
        return true;
    if (!*l)
        *l = find_saved(t, to, SAVED_OPEN);
    return !*l && maybe && (direct || (!up && stays(t, frames_top(t), to)));
}

bool stacks_switch(struct thread *t, u64 target, u64 sp_there, bool direct,
                   const struct spool_edge **last)
{
    const struct thread_bridge *b = bridge_last(t);
    const struct place to = { b->to, target, sp_there, frames_function(target) };
    struct saved *l;
    bool moved = false, maybe = b->maybe;

    if (bridge_back(t, target, sp_there, false, last))
        return false;
    if (stack_stays(t, &to, direct, &l) || (!l && signal_left(t, &to, maybe))) {
        bridge_drop(t, thread_own(t)->bridges - 1);
        return false;
    }
    // many stacks look alike: only if none was left exactly there
    if (!l && bridge_back(t, target, sp_there, true, last))
        return false;
    if (!l && (l = find_saved(t, &to, SAVED_MOVED)))
        moved = true;
    if (!l && to.function != target)
        l = find_saved(t, &to, SAVED_NEAR);
    b = &thread_own(t)->bridge[bridge_before(t)];
    if (!l && b->last < t->counters[frames.top] && !b->taken && is_near(to.sp, b->from) &&
        to.function != target) {
        *last = bridge_end(t, bridge_number(t, b));
        return false;
    }
    stack_leave(t);
    if (l)
        stack_restore(t, l);
    if (moved)
        stack_move(t, frames_top(t), sp_there - 8 - frames_top(t)->sp);
    *last = l ? frames_unwind(t, sp_there) : NULL;
    if (l && (frames_top(t)->sp != ~0ul || to.function != target))
        return false;
    if (l) // another function, in the place of one that has ended
        while (t->counters[frames.top] >= frames_base(t->slot))
            frames_pop(t->counters);
    stack_begin(t, sp_there, target);
    return true;
}

void stacks_fork_child(const struct thread *t)
{
    stacks.lock.w = 0;
    for (u32 slot = 0; slot < spool->threads_used; slot++) {
        struct thread *o = thread_at_slot(slot);

        if (slot != t->slot && spooler_slot_in_use(slot) && o->own)
            o->own->bridges = 0;
    }
}

void stacks_thread(struct thread *t)
{
    lock_take(&stacks.lock);
    thread_own(t)->bridges = 0;
    lock_drop(&stacks.lock);
}

// Whether a stack was left at sp.
static bool is_left_at(u64 sp)
{
    bool is;

    lock_take(&stacks.lock);
    is = saved_at(sp) != NULL;
    lock_drop(&stacks.lock);
    return is;
}

static bool any(const struct saved *l, const void *arg)
{
    (void)l, (void)arg;
    return true;
}

// Whether sp, below `from`, is known to be on another stack: a saved one has calls there, or
// between the two.
static bool is_left_around(u64 sp, u64 from)
{
    bool is;

    lock_take(&stacks.lock);
    is = saved_around(sp, any, NULL) || saved_between(sp, from);
    lock_drop(&stacks.lock);
    return is;
}

// Whether sp is in the frame of the function that started bridge b.
static bool is_back(const struct thread *t, const struct thread_bridge *b, u64 sp)
{
    u64 end = ((const struct spool_frame *)b->last)->sp;

    return sp >= b->from && sp <= (end == ~0ul ? t->calls_end : end);
}

const struct spool_edge *stacks_set(struct thread *t, enum stacks_then then)
{
    u64 from = t->calls_sp, sp = t->client_sp, end = t->calls_end;
    const struct thread_bridge *b = bridge_last(t);
    bool over = b && t->counters[frames.top] > b->last, there;

    if (sp == from)
        return NULL;
    if (b && !over && !b->taken && is_back(t, b, sp)) { // it has called something there
        bridge_drop(t, bridge_number(t, b));
        return frames_unwind(t, sp);
    }
    // back within its own frame; saved stacks there are dead
    if (then != STACKS_LEAVES && sp > from && sp <= frames_top(t)->sp && frames_top(t)->sp <= end)
        return NULL;
    there = is_left_at(sp);
    if (!there && over && !b->taken && sp > b->from && sp <= end) {
        const struct spool_edge *last = bridge_end(t, bridge_number(t, b)),
                                *more = frames_unwind(t, sp);

        return more ? more : last;
    }
    if (over)
        end = b->to + SAVED_ABOVE;
    if (there || sp > end || (sp < from && (from - sp > STACK_ROOM || is_left_around(sp, from)))) {
        bridge_begin(t, from, sp, false);
        return NULL;
    }
    // up: functions are left; the jump tells the target
    if (sp > from && (then == STACKS_CALLS || (then == STACKS_STAYS && sp_fits(frames_top(t), sp))))
        return frames_unwind(t, sp);
    bridge_begin(t, from, sp, true);
    return NULL;
}

// Frames below a bridge are not on sp's stack, unless sp is back already, by a frame pointer.
const struct spool_edge *stacks_unwind(struct thread *t, u64 sp)
{
    const struct thread_bridge *b = bridge_last(t);
    const struct spool_frame *last = NULL;
    u64 floor = 0;

    if (b && !b->maybe && (b->taken || !is_back(t, b, sp)))
        floor = b->last;
    while (t->counters[frames.top] > floor && frames_top(t)->sp < sp) {
        last = frames_top(t);
        frames_pop(t->counters);
    }
    return last ? frames_edge(last) : NULL;
}

bool stacks_elsewhere(struct thread *t, u64 sp, bool calls)
{
    const struct thread_bridge *b = bridge_last(t);

    if (!b || t->counters[frames.top] != b->last || !is_near(sp, b->to))
        return false;
    return !b->maybe || (!calls && (b->to > b->from ? sp > b->from : sp < b->from));
}

void stacks_zero(void)
{
    for (struct saved *l = saved_next(NULL); l; l = saved_next(l)) {
        struct spool_saved *s = l->at;

        memset(s->totals, 0, sizeof(s->totals));
        frames_zero((u64)(s + 1), (u64)(s + 1) + s->frames);
    }
}
