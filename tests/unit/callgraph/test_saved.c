// SPDX-License-Identifier: MIT
// engine/callgraph/saved.c: which saved stack is found, against a plain search of all, and how many
// a search visits, however many there are.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/clientmem.h"
#include "engine/base/heap.h"
#include "engine/callgraph/saved.h"

struct frames frames = { .frame = 32 };

static u64 allocated;

void *heap_alloc(u64 size)
{
    allocated += size;
    return malloc(size);
}

void heap_free(void *p, u64 size)
{
    allocated -= size;
    free(p);
}

// The client's memory: the return addresses of a stack that has been copied.
static u64 memory_at, memory[8];

int clientmem_read_u64(u64 addr, u64 *out)
{
    if (addr < memory_at || addr >= memory_at + sizeof(memory))
        return -14; // EFAULT
    *out = memory[(addr - memory_at) / 8];
    return 0;
}

// -- stacks --

enum { MOST = 100000, CALLS = 4 };

struct copy {
    struct spool_saved head;
    u64 frame[1 + CALLS][4];
};

static struct saved *stack; // MOST of them
static struct copy *copies;
static bool is_there[MOST];

// Stack i: left at sp; its calls return to back[], the last one first, from a word further up each.
static void leave(u32 i, u64 sp, u64 end, const u64 *back, u32 calls)
{
    struct copy *s = &copies[i];

    s->head.frames = (1 + calls) * sizeof(s->frame[0]);
    for (u32 k = 0; k <= calls; k++) {
        struct spool_frame *f = (struct spool_frame *)s->frame[calls - k];
        u64 at = sp + 16 + k * 8;

        *f = (struct spool_frame){ .sp = k == calls ? ~0ul : at,
                                   .key = k == calls ? FRAMES_KEY_NONE : at + back[k] };
    }
    stack[i] = (struct saved){ .at = &s->head, .sp = sp, .end = end };
    saved_add(&stack[i]);
    is_there[i] = true;
}

static void take(u32 i)
{
    saved_remove(&stack[i]);
    is_there[i] = false;
}

static u32 number(const struct saved *l)
{
    return l ? (u32)(l - stack) : ~0u;
}

static int make(void **state)
{
    (void)state;
    stack = calloc(MOST, sizeof(*stack));
    copies = calloc(MOST, sizeof(*copies));
    return !stack || !copies;
}

// -- the same, by a plain search --

static u64 order[MOST], last; // when each was left

static bool even(const struct saved *l, const void *arg)
{
    return !arg || number(l) % 2 == 0;
}

static u32 newest(u32 a, u32 b)
{
    return a == ~0u || (b != ~0u && order[b] > order[a]) ? b : a;
}

static u32 plain_at(u32 n, u64 sp)
{
    u32 found = ~0u;

    for (u32 i = 0; i < n; i++)
        if (is_there[i] && stack[i].sp == sp)
            found = newest(found, i);
    return found;
}

static u32 plain_called(u32 n, u64 target, u64 behind)
{
    u32 found = ~0u;

    for (u32 i = 0; i < n; i++)
        if (is_there[i] && saved_top(&stack[i])->sp == behind - 8 &&
            saved_return(saved_top(&stack[i])) == target)
            found = newest(found, i);
    return found;
}

static u64 distance(u64 a, u64 b)
{
    return a > b ? a - b : b - a;
}

static u32 plain_near(u32 n, u64 sp)
{
    u32 found = ~0u;

    for (u32 i = 0; i < n; i++) {
        u64 by = distance(sp, stack[i].sp);

        if (!is_there[i] || by > 4096 || sp > stack[i].end)
            continue;
        if (found == ~0u || by < distance(sp, stack[found].sp))
            found = i;
        else if (by == distance(sp, stack[found].sp))
            found = newest(found, i);
    }
    return found;
}

// Its place; several may have the same.
static u64 plain_around(u32 n, u64 sp, bool all)
{
    u64 found = 0;

    for (u32 i = 0; i < n; i++)
        if (is_there[i] && stack[i].sp <= sp && sp <= stack[i].end && (all || i % 2 == 0) &&
            stack[i].sp > found)
            found = stack[i].sp;
    return found;
}

static bool plain_between(u32 n, u64 sp, u64 from)
{
    for (u32 i = 0; i < n; i++)
        if (is_there[i] && stack[i].sp > sp && stack[i].sp < from)
            return true;
    return false;
}

static u64 seed = 1;

static u64 any(u64 below)
{
    seed = seed * 6364136223846793005ul + 1442695040888963407ul;
    return (seed >> 33) % below;
}

static u64 any_place(void)
{
    return 0x100000 + any(512) * 256;
}

static void compare(u32 n)
{
    u64 sp = any_place(), back = 0x1000 * (1 + any(3));
    struct saved *l;

    assert_int_equal(number(saved_at(sp)), plain_at(n, sp));
    assert_int_equal(number(saved_called(back, sp + 24)), plain_called(n, back, sp + 24));
    assert_int_equal(number(saved_near(sp + 8, 4096)), plain_near(n, sp + 8));
    for (u32 all = 0; all < 2; all++) {
        l = saved_around(sp + 4, even, all ? NULL : &seed);
        assert_int_equal(l ? l->sp : 0, plain_around(n, sp + 4, all));
        assert_true(!l || (l->end >= sp + 4 && (all || number(l) % 2 == 0)));
    }
    assert_int_equal(saved_between(sp, sp + 2048), plain_between(n, sp, sp + 2048));
}

static void test_same_answers(void **state)
{
    const u32 n = 200;
    u32 there = 0, seen = 0;

    (void)state;
    for (u32 round = 0; round < 20000; round++) {
        u32 i = (u32)any(n);
        u64 back[] = { 0x1000 * (1 + any(3)), 0x7000, 0x8000, 0x9000 };
        u64 sp = any_place();

        if (is_there[i])
            take(i);
        else
            leave(i, sp, sp + 256 * (1 + any(any(40) + 1)), back, CALLS);
        order[i] = ++last;
        compare(n);
    }
    for (u32 i = 0; i < n; i++)
        there += is_there[i];
    for (struct saved *l = saved_next(NULL); l; l = saved_next(l))
        seen += is_there[number(l)];
    assert_int_equal(seen, there);
    for (u32 i = 0; i < n; i++)
        if (is_there[i])
            take(i);
    assert_null(saved_next(NULL));
    assert_int_equal(allocated, 0);
}

static void test_nothing(void **state)
{
    const u64 back[] = { 0x1000 };

    (void)state;
    assert_null(saved_at(0x5000));
    assert_null(saved_moved(0x1000, 0x5018));
    // The return address of its only function is unknown.
    leave(0, 0x5000, 0x6000, back, 0);
    assert_null(saved_called(0, 0));
    assert_null(saved_moved(0, 0x9000));
    // A stack near it may be below address 4096, and is not above its end.
    assert_int_equal(number(saved_near(0x4000, 4096)), 0);
    assert_null(saved_near(0x3fff, 4096));
    take(0);
    leave(0, 0x10, 0x20, back, 1);
    assert_int_equal(number(saved_near(0x20, 4096)), 0);
    assert_null(saved_near(0x21, 4096));
    take(0);
}

// Copied elsewhere: three further calls have the same return addresses and distances.
static void test_moved(void **state)
{
    const u64 a[] = { 0x1000, 0x2000, 0x3000, 0x4000 }, b[] = { 0x1000, 0x2000, 0x3000, 0x5000 };

    (void)state;
    leave(0, 0x10000, 0x11000, a, 4);
    leave(1, 0x20000, 0x21000, a, 4);
    leave(2, 0x30000, 0x31000, b, 4);
    // A copy of the first two at 0x50000: the last of them.
    memory_at = 0x50010;
    memset(memory, 0, sizeof(memory));
    assert_null(saved_moved(0x1000, 0x50018));
    memcpy(memory, a, sizeof(a));
    assert_int_equal(number(saved_moved(0x1000, 0x50018)), 1);
    assert_null(saved_moved(0x2000, 0x50018));
    memory[3] = 0x5000;
    assert_int_equal(number(saved_moved(0x1000, 0x50018)), 2);
    memory[3] = 0x6000;
    assert_null(saved_moved(0x1000, 0x50018));
    memory[3] = 0x4000;
    take(1);
    assert_int_equal(number(saved_moved(0x1000, 0x50018)), 0);
    // Within 256 bytes it is the same stack.
    memory_at = 0x10010 + 0x100;
    assert_null(saved_moved(0x1000, 0x10018 + 0x100));
    memory_at += 8;
    assert_int_equal(number(saved_moved(0x1000, 0x10018 + 0x108)), 0);
    take(0);
    take(2);
    // With no call below, nothing contradicts it.
    leave(0, 0x10000, 0x11000, a, 1);
    assert_int_equal(number(saved_moved(0x1000, 0x90018)), 0);
    take(0);
    assert_int_equal(allocated, 0);
}

static u64 looks(void)
{
    u64 n = saved_visits;

    saved_visits = 0;
    return n;
}

// Many stacks of 32 KiB, all left by the same call, as coroutines are: how many stacks the start,
// end and return of a coroutine visit at most. A tree of n entries is at most 2 log2(n + 1) deep.
static u64 most_visits(u32 n)
{
    const u64 back[] = { 0x1000, 0x2000, 0x3000, 0x4000 };
    u64 most = 0, now;

    memory_at = 0;
    looks();
    for (u32 i = 0; i < n; i++) {
        u64 sp = 0x100000000 + i * 0x8000ul;

        // A place where no stack was left: all searches, in the order of stacks.c.
        assert_null(saved_at(sp));
        assert_false(saved_around(sp, even, NULL) || saved_between(sp - 0x1000, sp));
        assert_null(saved_called(0x1000, sp + 24));
        assert_null(saved_moved(0x1000, sp + 24));
        assert_null(saved_near(sp, 4096));
        leave(i, sp, sp + 0x1000, back, 4);
        now = looks();
        most = now > most ? now : most;
    }
    for (u32 i = 0; i < n; i++) {
        u32 which = (u32)(i * 7919ul % n); // each once: it divides none of these

        assert_int_equal(number(saved_called(0x1000, stack[which].sp + 24)), which);
        assert_int_equal(number(saved_at(stack[which].sp)), which);
        take(which);
        now = looks();
        most = now > most ? now : most;
    }
    assert_int_equal(allocated, 0);
    return most;
}

static void test_visits(void **state)
{
    u64 few = most_visits(10), many = most_visits(1000), most = most_visits(MOST);

    (void)state;
    // Ten ways through trees of at most 7, 20 and 34 entries in depth, and the entries at their
    // ends.
    assert_in_range(few, 1, 10 * 7 + 10);
    assert_in_range(many, 1, 10 * 20 + 10);
    assert_in_range(most, 1, 10 * 34 + 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_answers),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_moved),
        cmocka_unit_test(test_visits),
    };

    return cmocka_run_group_tests(tests, make, NULL);
}
