// SPDX-License-Identifier: MIT
// Stacks that were left (left.h). They lie in two trees: by where they were left, with the highest
// end below each entry, so that those around an address are found without looking at the others;
// and by the call that they wait in. What has been copied elsewhere is found by what was called,
// and the calls before that: stacks that are alike in this are one group, of which one is looked
// at.
//
// Before, each search went through all stacks: 16,000 coroutines, each of which ran once, took
// 2.2 s instead of 0.17, and it grew with the square.
#include "engine/count/left.h"

#include "engine/base/heap.h"
#include "engine/base/mini.h"
#include "engine/base/safemem.h"

struct left_group {
    struct left_calls calls;
    struct left *newest;
    RB_ENTRY(left_group) node;
};

u64 left_looks;

static u64 turns;

static int by(u64 a, u64 b)
{
    return a < b ? -1 : a > b;
}

// Of several at one place the newest comes first.
static int by_place(const struct left *a, const struct left *b)
{
    left_looks++;
    return a->sp != b->sp ? by(a->sp, b->sp) : by(b->turn, a->turn);
}

static int by_call(const struct left *a, const struct left *b)
{
    left_looks++;
    if (a->top_sp != b->top_sp)
        return by(a->top_sp, b->top_sp);
    return a->back != b->back ? by(a->back, b->back) : by(b->turn, a->turn);
}

static int by_calls(const struct left_group *a, const struct left_group *b)
{
    left_looks++;
    return a->calls.back != b->calls.back ? by(a->calls.back, b->calls.back)
                                          : memcmp(&a->calls, &b->calls, sizeof(a->calls));
}

static void see(struct left *l);

#undef RB_AUGMENT
#define RB_AUGMENT(l) see(l)
RB_HEAD(left_places, left);
RB_PROTOTYPE(left_places, left, place, by_place)
RB_GENERATE(left_places, left, place, by_place)
#undef RB_AUGMENT
#define RB_AUGMENT(l) (void)(l)
RB_HEAD(left_ways, left);
RB_PROTOTYPE(left_ways, left, call, by_call)
RB_GENERATE(left_ways, left, call, by_call)
RB_HEAD(left_groups, left_group);
RB_PROTOTYPE(left_groups, left_group, node, by_calls)
RB_GENERATE(left_groups, left_group, node, by_calls)

static struct left_places places;
static struct left_ways ways;
static struct left_groups groups;

static void see(struct left *l)
{
    struct left *lower = RB_LEFT(l, place), *upper = RB_RIGHT(l, place);

    l->highest = l->end;
    if (lower && lower->highest > l->highest)
        l->highest = lower->highest;
    if (upper && upper->highest > l->highest)
        l->highest = upper->highest;
}

static void see_upwards(struct left *l)
{
    for (; l; l = RB_PARENT(l, place))
        see(l);
}

// ---- Last calls ----

const struct spool_frame *left_top(const struct left *l)
{
    return (const struct spool_frame *)((u64)(l->at + 1) + l->at->frames - frames.frame);
}

struct left_calls left_calls_of(const struct spool_frame *base, const struct spool_frame *f)
{
    struct left_calls calls = { .back = left_return(f) };
    u64 top = f->sp;

    for (; calls.n < LEFT_ALIKE; calls.n++) {
        u64 at = f->sp;

        while (f > base && f->sp == at)
            f = frames_below(f);
        if (!left_return(f) || (f->key & SPOOL_FRAME_SIGNAL))
            break;
        calls.from[calls.n] = f->sp - top;
        calls.to[calls.n] = left_return(f);
    }
    return calls;
}

// Jumps on a stack, and a longjmp within it, are no copies of it.
static bool is_elsewhere(u64 top_sp, u64 behind)
{
    return behind - 8 - top_sp + LEFT_ABOVE > 2ul * LEFT_ABOVE;
}

static bool are_there(const struct left_calls *calls, u64 behind)
{
    u64 back;

    for (u32 i = 0; i < calls->n; i++)
        if (safe_read_u64(behind - 8 + calls->from[i], &back) || back != calls->to[i])
            return false;
    return true;
}

bool left_calls_moved(const struct left_calls *calls, u64 top_sp, u64 target, u64 behind)
{
    return calls->back == target && is_elsewhere(top_sp, behind) && are_there(calls, behind);
}

// ---- Groups ----

static void group_add(struct left *l, const struct left_calls *calls)
{
    struct left_group key = { .calls = *calls }, *g = RB_FIND(left_groups, &groups, &key);

    if (!g) {
        g = heap_alloc(sizeof(*g));
        *g = key;
        RB_INSERT(left_groups, &groups, g);
    }
    l->group = g;
    l->newer = NULL;
    l->older = g->newest;
    if (g->newest)
        g->newest->newer = l;
    g->newest = l;
}

static void group_remove(struct left *l)
{
    struct left_group *g = l->group;

    if (l->newer)
        l->newer->older = l->older;
    else
        g->newest = l->older;
    if (l->older)
        l->older->newer = l->newer;
    if (g->newest)
        return;
    RB_REMOVE(left_groups, &groups, g);
    heap_free(g, sizeof(*g));
}

// ---- All of it ----

void left_add(struct left *l)
{
    const struct spool_frame *top = left_top(l);
    struct left_calls calls = left_calls_of((const struct spool_frame *)(l->at + 1), top);

    l->turn = ++turns;
    l->highest = l->end;
    l->top_sp = top->sp;
    l->back = calls.back;
    RB_INSERT(left_places, &places, l);
    see_upwards(l);
    RB_INSERT(left_ways, &ways, l);
    group_add(l, &calls);
}

void left_remove(struct left *l)
{
    u64 end = l->end;

    l->end = 0; // the tree looks at those alone that it moves
    see_upwards(l);
    RB_REMOVE(left_places, &places, l);
    l->end = end;
    RB_REMOVE(left_ways, &ways, l);
    group_remove(l);
}

struct left *left_called(u64 target, u64 behind)
{
    struct left key = { .top_sp = behind - 8, .back = target, .turn = ~0ul };
    struct left *l = target ? RB_NFIND(left_ways, &ways, &key) : NULL;

    return l && l->top_sp == key.top_sp && l->back == target ? l : NULL;
}

// The first one at sp or above.
static struct left *above(u64 sp)
{
    struct left key = { .sp = sp, .turn = ~0ul };

    return RB_NFIND(left_places, &places, &key);
}

struct left *left_at(u64 sp)
{
    struct left *l = above(sp);

    return l && l->sp == sp ? l : NULL;
}

struct left *left_near(u64 sp, u64 far)
{
    struct left *l = above(sp > far ? sp - far : 0), *near = NULL;
    u64 least = far + 1;

    for (; l && l->sp <= sp + far; l = RB_NEXT(left_places, &places, l)) {
        u64 by = sp > l->sp ? sp - l->sp : l->sp - sp;

        left_looks++;
        if (sp <= l->end && (by < least || (by == least && l->turn > near->turn))) {
            near = l;
            least = by;
        }
    }
    return near;
}

static struct left *around(struct left *l, u64 sp,
                           bool (*is)(const struct left *l, const void *arg), const void *arg)
{
    struct left *found;

    if (!l || l->highest < sp)
        return NULL;
    left_looks++;
    if (l->sp > sp)
        return around(RB_LEFT(l, place), sp, is, arg);
    found = around(RB_RIGHT(l, place), sp, is, arg);
    if (found)
        return found;
    if (l->end >= sp && is(l, arg))
        return l;
    return around(RB_LEFT(l, place), sp, is, arg);
}

struct left *left_around(u64 sp, bool (*is)(const struct left *l, const void *arg), const void *arg)
{
    return around(RB_ROOT(&places), sp, is, arg);
}

bool left_between(u64 sp, u64 from)
{
    struct left *l = above(sp + 1);

    return l && l->sp < from;
}

// Of a group the newest that was left elsewhere.
static struct left *moved_of(const struct left_group *g, u64 behind)
{
    struct left *l = are_there(&g->calls, behind) ? g->newest : NULL;

    for (left_looks++; l && !is_elsewhere(l->top_sp, behind); l = l->older)
        left_looks++;
    return l;
}

struct left *left_moved(u64 target, u64 behind)
{
    struct left_group key = { .calls = { .back = target } };
    struct left_group *g = target ? RB_NFIND(left_groups, &groups, &key) : NULL;
    struct left *newest = NULL;

    for (; g && g->calls.back == target; g = RB_NEXT(left_groups, &groups, g)) {
        struct left *l = moved_of(g, behind);

        if (l && (!newest || l->turn > newest->turn))
            newest = l;
    }
    return newest;
}

struct left *left_next(struct left *l)
{
    return l ? RB_NEXT(left_places, &places, l) : RB_MIN(left_places, &places);
}
