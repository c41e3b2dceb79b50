// SPDX-License-Identifier: MIT
// engine/callgraph/stacks.c and frames.c: which calls are open after a program has set its stack
// pointer, and what each has cost. Functions are a letter each, 0x1000 bytes from 'A' on; open
// calls are compared as text, outermost first. A function adds to `cost` when its call ends.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/clientmem.h"
#include "engine/base/heap.h"
#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/callgraph/edges.h"
#include "engine/callgraph/stacks.h"
#include "engine/codecache/restore.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/thread/threads.h"
#include "tests/unit/thread/waiter.h"

enum { TOP = 8, EDGES = 32, EVENTS = 2, ROOM = 0x100000 };

// -- fakes of what they call --

static struct spool_header header;
struct spool_header *spool = &header;
struct tb_config tb_config;

static struct thread *t; // slot 0's
static struct spool_edge edge[64];
static u32 edges;
static void (*in_lock)(void); // done once while it is asked which slots are in use

struct spool_edge *edges_of(enum spool_edge_kind kind, u64 site, u32 len, u64 target)
{
    for (u32 i = 0; i < edges; i++)
        if (edge[i].kind == kind && edge[i].site == site && edge[i].target == target)
            return &edge[i];
    assert_true(edges < sizeof(edge) / sizeof(*edge));
    edge[edges] = (struct spool_edge){ .target = target,
                                       .counter = EDGES + edges * (EVENTS + 1),
                                       .site = site,
                                       .function = target & ~0xffful,
                                       .kind = (u8)kind,
                                       .len = (u8)len };
    return &edge[edges++];
}

struct spool_edge *edges_at(u32 counter)
{
    return &edge[(counter - EDGES) / (EVENTS + 1)];
}

u64 edges_function(u64 addr, bool *plt)
{
    *plt = false;
    return addr & ~0xffful;
}

bool spooler_slot_in_use(u32 slot)
{
    void (*what)(void) = in_lock;

    in_lock = NULL;
    if (what)
        what();
    return slot < spool->threads_used;
}

long spooler_stack_reach(u32 slot, u64 bytes)
{
    (void)slot;
    return bytes > ROOM ? -28 : 0; // ENOSPC
}

void *heap_alloc(u64 size)
{
    return calloc(1, size);
}

void heap_free(void *p, u64 size)
{
    (void)size;
    free(p);
}

int clientmem_read_u64(u64 addr, u64 *out)
{
    memcpy(out, (const void *)addr, sizeof(*out));
    return 0;
}

struct spool_edge *contexts_enter(struct thread *of, const struct spool_frame *top,
                                  const struct contexts_way *w, u32 number,
                                  struct spool_frame_context *out)
{
    (void)of, (void)top, (void)w, (void)number, (void)out;
    abort();
}

u64 contexts_function(const struct spool_frame *f)
{
    (void)f;
    abort();
}

u64 contexts_function_at(u64 addr)
{
    (void)addr;
    abort();
}

u32 contexts_map(const struct spool_frame *f)
{
    (void)f;
    abort();
}

const struct patterns *contexts_rules(const struct spool_frame *f)
{
    (void)f;
    abort();
}

void restore_leave(struct thread *of, u64 *ret)
{
    (void)of, (void)ret;
    abort();
}

// -- actions of the client --

#define CODE(letter) ((u64)((letter) - 'A' + 1) * 0x1000)

static struct thread_own own[2];

static void map(u64 at, u64 size)
{
    long got = sys_mmap(at, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

    assert_true((u64)got == at);
}

static int map_all(void **state)
{
    (void)state;
    for (u32 slot = 0; slot < 2; slot++) {
        map((u64)thread_at_slot(slot), TA_COUNTERS + 0x1000);
        map(frames_base(slot), ROOM);
    }
    map(frames_base(SPOOL_THREADS_MAX), ROOM);
    return 0;
}

static void begin_thread(u32 slot, u64 end)
{
    struct thread *of = thread_at_slot(slot);

    memset(of, 0, sizeof(*of));
    own[slot] = (struct thread_own){ 0 };
    of->slot = slot;
    of->own = &own[slot];
    of->counters = (u64 *)((u64)of + TA_COUNTERS);
    memset(of->counters, 0, 0x1000);
    of->misses = of->counters;
    frames_thread_init(of);
    of->calls_end = end;
    of->counters[TOP] = of->calls_base - frames.frame;
}

// `often` of two events are noted by each frame, the other one when it is first counted.
static void begin(u32 often)
{
    frames = (struct frames){ .top = TOP, .events = EVENTS, .often = often, .frame = 64 };
    tb_config = (struct tb_config){ .calls_events = EVENTS };
    header = (struct spool_header){ .threads_used = 1 };
    edges = 0;
    begin_thread(0, 0x100000);
    t = thread_at_slot(0);
    frames_fill_root(t, frames_enter_root(t, CODE('A'), FRAMES_KEY_NONE, ~0ul));
}

static const char *open_calls(const struct thread *of)
{
    static char text[32];
    u32 n = 0;

    for (u64 at = frames_base(of->slot); at <= of->counters[TOP]; at += frames.frame)
        text[n++] = (char)('A' - 1 + (frames_callee((struct spool_frame *)at) >> 12));
    text[n] = '\0';
    return text;
}

// The top function calls another one; the return address, 0x10 bytes after the caller's start, is
// at sp.
static void call(struct thread *of, char callee, u64 sp)
{
    u64 from = frames_callee(frames_top(of));
    struct contexts_way w = {
        .kind = SPOOL_EDGE_CALL, .site = from + 0xb, .len = 5, .target = CODE(callee)
    };

    frames_enter(of, &w, frames_edge_of(&w), from + 0x10 + sp, sp, 0);
}

static void works(struct thread *of, u64 n)
{
    frames_fill(of);
    frames_totals(of)[0] += n;
    frames_totals(of)[1] += 10 * n;
}

// The stack pointer becomes sp, and control goes to target, where it is `behind`. Returns whether a
// function starts there.
static bool goes(struct thread *of, u64 from, u64 sp, u64 target, u64 behind, bool direct)
{
    const struct spool_edge *last;

    of->calls_sp = from;
    of->client_sp = sp;
    assert_null(stacks_set(of, STACKS_LEAVES));
    return stacks_switch(of, target, behind, direct, &last);
}

// The cost and number of calls of the function by that caller.
static void expect_cost(const struct thread *of, char caller, char callee, u64 calls, u64 cost)
{
    const u64 *c =
        of->counters + edges_of(SPOOL_EDGE_CALL, CODE(caller) + 0xb, 5, CODE(callee))->counter;

    assert_int_equal(c[0], calls);
    assert_int_equal(c[1], cost);
    assert_int_equal(c[2], 10 * cost);
}

// -- tests --

// A calls S, which switches to a stack of its own, on which B calls C; C leaves it, and returns
// later. S costs its work before it left, 3, and after, 4; C 5 and 6.
static void coroutine(u32 often)
{
    begin(often);
    works(t, 1);
    call(t, 'S', 0xff000);
    works(t, 3);
    assert_true(goes(t, 0xfeff0, 0x50000, CODE('B'), 0x50000, false));
    assert_string_equal(open_calls(t), "B");
    works(t, 2);
    call(t, 'C', 0x4ff00);
    works(t, 5);
    // back to where S was called: it has returned
    assert_false(goes(t, 0x4fe00, 0xfeff0, CODE('A') + 0x10, 0xff008, false));
    assert_string_equal(open_calls(t), "A");
    expect_cost(t, 'A', 'S', 1, 3);
    expect_cost(t, 'B', 'C', 1, 0); // it is open
    call(t, 'S', 0xff000);
    works(t, 4);
    assert_false(goes(t, 0xfeff0, 0x4fe00, CODE('C') + 0x40, 0x4fe08, false));
    assert_string_equal(open_calls(t), "BC");
    works(t, 6);
    frames_pop(t->counters);
    expect_cost(t, 'B', 'C', 1, 11);
    works(t, 7);
    assert_false(goes(t, 0x4ff08, 0xfeff0, CODE('A') + 0x10, 0xff008, false));
    assert_string_equal(open_calls(t), "A");
    expect_cost(t, 'A', 'S', 2, 7);
    assert_int_equal(frames_totals(t)[0], 8); // A's stack: 1 and 3 and 4
}

static void test_coroutine(void **state)
{
    (void)state;
    coroutine(2);
    coroutine(1);
}

static void simulates(struct thread *of)
{
    (void)of;
}

static void records(struct thread *of, enum frames_late what, const struct spool_frame *f,
                    u32 counter)
{
    (void)of, (void)what, (void)f, (void)counter;
}

// The replay's totals are in another slot's area: the second event of each frame is saved with its
// stack, and restored.
static void test_late(void **state)
{
    struct spool_frame *late;

    (void)state;
    begin(1);
    begin_thread(1, 0);
    tb_config.recording = true;
    frames_simulate = simulates;
    frames_record = records;
    t->misses = thread_at_slot(1)->counters;
    t->counters[TOP] = frames_base(0) - frames.frame;
    frames_thread_init(t);
    assert_true(t->calls_late == frames_base(1));
    frames_enter_root(t, CODE('A'), FRAMES_KEY_NONE, ~0ul);
    call(t, 'B', 0xff100);
    call(t, 'S', 0xff000);
    frames_late_totals(t)[1] = 77;
    for (u32 i = 0; i < 3; i++) {
        late = (struct spool_frame *)(frames_base(1) + i * frames.frame);
        late->before[1] = ~(u64)(i + 40);
    }
    assert_true(goes(t, 0xfeff0, 0x50000, CODE('C'), 0x50000, false));
    for (u32 i = 0; i < 3; i++) {
        late = (struct spool_frame *)(frames_base(1) + i * frames.frame);
        late->before[1] = 0; // another stack's now
    }
    frames_late_totals(t)[1] = 5;
    assert_false(goes(t, 0x4fff0, 0xfeff0, CODE('S') + 0x40, 0xfeff8, false));
    assert_string_equal(open_calls(t), "ABS");
    assert_int_equal(frames_late_totals(t)[1], 77);
    for (u32 i = 0; i < 3; i++) {
        late = (struct spool_frame *)(frames_base(1) + i * frames.frame);
        assert_int_equal(~late->before[1], i + 40);
    }
}

// A little further down may be space on the same stack, or another stack. A jump with several
// targets to a function that has no call there is on another stack.
static void test_near_below(void **state)
{
    (void)state;
    begin(2);
    call(t, 'S', 0xff000);
    assert_true(goes(t, 0xfeff0, 0xfe000, CODE('B'), 0xfe000, false));
    assert_string_equal(open_calls(t), "B");
    // A direct jump is one within S, which has made space.
    begin(2);
    call(t, 'S', 0xff000);
    assert_false(goes(t, 0xfeff0, 0xfe000, CODE('B'), 0xfe000, true));
    assert_string_equal(open_calls(t), "AS");
    // So is any jump into S.
    begin(2);
    call(t, 'S', 0xff000);
    assert_false(goes(t, 0xfeff0, 0xfe000, CODE('S') + 0x80, 0xfe000, false));
    assert_string_equal(open_calls(t), "AS");
}

// A saved stack is copied elsewhere, and continues there: the last of its calls is found by its
// return address, and all moved by the same distance. Not the calls of a handler in between, which
// has another stack.
static void test_moved(void **state)
{
    static u64 copy[0x40];
    const u64 by = (u64)copy + 0x80 - 0x4ff00, handler = 0x10000000000;
    struct spool_frame *f;

    (void)state;
    begin(2);
    call(t, 'S', 0xff000);
    assert_true(goes(t, 0xfeff0, 0x50000, CODE('B'), 0x50000, false));
    call(t, 'C', 0x4ff80);
    call(t, 'H', handler);
    frames_top(t)->key |= SPOOL_FRAME_SIGNAL;
    call(t, 'D', 0x4ff00);
    assert_false(goes(t, 0x4fe00, 0xfeff0, CODE('A') + 0x10, 0xff008, false));
    assert_string_equal(open_calls(t), "A");
    call(t, 'S', 0xff000);
    // D returns at its new place, to H, which called it
    assert_false(goes(t, 0xfeff0, (u64)copy + 0x70, CODE('H') + 0x10, (u64)copy + 0x88, false));
    assert_string_equal(open_calls(t), "BCH");
    f = frames_top(t);
    assert_true(f->sp == handler);
    f = frames_below(f);
    assert_true(f->sp == 0x4ff80 + by);
    assert_true((f->key & ~SPOOL_FRAME_FLAGS) == CODE('B') + 0x10 + 0x4ff80 + by);
    assert_true(t->calls_end == 0x50000 + 256 + by); // what a new stack has above its start
}

static u64 waits_for;

static void asks(void)
{
    // 0x4000 below, where no stack was left: is one there, or between the two?
    struct thread *of = thread_at_slot(1);

    of->calls_sp = 0x1ff000;
    of->client_sp = 0x1fe000;
    stacks_set(of, STACKS_STAYS);
    waits_for = own[1].bridges;
}

static bool waited;

static void another_asks(void)
{
    waited = waiter_waits(asks);
}

// While one thread searches the saved stacks, another one does not read what may be moved.
static void test_locked(void **state)
{
    (void)state;
    begin(2);
    begin_thread(1, 0x200000);
    frames_fill_root(thread_at_slot(1),
                     frames_enter_root(thread_at_slot(1), CODE('E'), FRAMES_KEY_NONE, ~0ul));
    header.threads_used = 2;
    call(t, 'S', 0xff000);
    in_lock = another_asks;
    assert_true(goes(t, 0xfeff0, 0x50000, CODE('B'), 0x50000, false));
    waiter_end();
    assert_true(waited);
    assert_int_equal(waits_for, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_coroutine),  cmocka_unit_test(test_late),
        cmocka_unit_test(test_near_below), cmocka_unit_test(test_moved),
        cmocka_unit_test(test_locked),
    };

    return cmocka_run_group_tests_name("engine stacks", tests, map_all, NULL);
}
