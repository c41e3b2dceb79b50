// SPDX-License-Identifier: MIT
//
// Estimates of instructions from samples: a spool of a few blocks, made here.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <string.h>

#include "finish/spool/spool.h"

#define FLAGS (SPOOL_F_BRANCH_SIM | SPOOL_F_PREDICTOR | SPOOL_F_CORE)

// A block of one instruction, which may be a conditional branch.
struct one {
    struct spool_block block;
    struct spool_insn insn;
    uint32_t pad;
};

bool spool_counters_wanted(const struct spool_file *s, uint64_t slot)
{
    (void)s, (void)slot;
    return true;
}

static struct spool_file file;
static struct spool_map map[1];
static uint64_t counters[200];
static struct one blocks[8];
static uint32_t used;

static void begin(void)
{
    memset(&file, 0, sizeof(file));
    memset(counters, 0, sizeof(counters));
    used = 0;
    file.head.flags = FLAGS;
    file.head.machine.core.width = 4;
    file.head.machine.sampling.interval = 1000;
    file.h = &file.head;
    file.maps = map;
    file.maps_used = 1;
    file.blocks = (const char *)blocks;
    file.counters = file.counters_area = counters;
    file.counters_used = file.sums = 200;
    file.slot = SPOOL_ALL_THREADS;
}

// Its counters: executions; mispredictions of a branch; instructions that its timed executions
// stand for, and parts of two causes. Returns that of the cycles.
static uint64_t *add(uint64_t pc, uint64_t executed, bool branch, uint64_t missed, uint64_t timed,
                     uint64_t first, uint64_t last)
{
    uint32_t at = used * 20;
    uint64_t *own = counters + at + 1;

    blocks[used++] = (struct one){
        .block = { .pc = pc, .counter = at, .own = at + 1, .hash = 1, .insns = 1 },
        .insn = { .len = 2, .flags = branch ? SPOOL_I_BC : 0 },
    };
    counters[at] = executed;
    file.blocks_used = used * sizeof(struct one);
    if (branch)
        *own++ = missed;
    own[0] = timed;
    own[1] = first;
    own[6] = last;
    return own;
}

// Of counters that are as they were read.
static void estimate(void)
{
    file.estimated = false;
    spool_estimate(&file);
}

static void test_plain(void **state)
{
    uint64_t *a, *b;

    (void)state;
    begin();
    // 1000 executions. Those that were timed stand for 500: 2000 parts, 500 cycles; 4000, 1000.
    a = add(0x1000, 1000, false, 0, 500, 2000, 4000);
    b = add(0x2000, 10, true, 40, 100, 400, 0); // of 100: 40 mispredictions, 100 cycles
    estimate();
    assert_int_equal(a[1], 1000);
    assert_int_equal(a[6], 2000);
    assert_int_equal(a[0], 3000);
    assert_int_equal(b[1], 10);
    assert_int_equal(b[0], 10);
    assert_int_equal(b[-1], 4);
    assert_true(file.guessed == 0);
    spool_estimate(&file); // they are estimates
    assert_int_equal(a[0], 3000);
    assert_int_equal(a[1], 1000);
}

// Two blocks have the address: the first one gets the cycles of both.
static void test_overlap(void **state)
{
    uint64_t *a, *b;

    (void)state;
    begin();
    a = add(0x1000, 300, false, 0, 100, 400, 0);
    b = add(0x1000, 700, false, 0, 300, 1200, 0);
    estimate();
    assert_int_equal(a[0], 1000);
    assert_int_equal(b[0], 0);
}

// No window saw it: it costs as much as the code around it, 2 cycles each; else as all code, which
// is that here. A string instruction, which took 1000 cycles, is no measure.
static void test_unseen(void **state)
{
    uint64_t *near, *far;

    (void)state;
    begin();
    file.head.sampled = (struct spool_sampled){
        .insns = 100, .cycles = { 1200 }, .branches = { 50 }, .missed = { 10 }
    };
    add(0x1000, 30, false, 0, 30, 240, 0);
    add(0x1002, 1, false, 0, 1, 4000, 0);
    blocks[1].insn.flags = SPOOL_I_REP;
    near = add(0x1010, 10, false, 0, 0, 0, 0);
    far = add(0x9000, 20, true, 0, 0, 0, 0);
    estimate();
    assert_int_equal(near[0], 20);
    assert_int_equal(far[0], 40);
    assert_int_equal(far[-1], 4); // a fifth of the branches
    assert_true(file.guessed > 59.0 / 1120 && file.guessed < 61.0 / 1120);
    // No window since the last part: 3 cycles, as the process so far.
    counters[1] = counters[2] = counters[21] = counters[22] = 0;
    counters[0] = 30;
    memset(near, 0, 8 * sizeof(*near));
    memset(far - 1, 0, 8 * sizeof(*far));
    estimate();
    assert_int_equal(counters[1], 90);
    assert_int_equal(near[0], 30);
    assert_int_equal(far[0], 60);
}

// Waiting for data, of machines with L2 14, LL 50 and memory 300 cycles away. 100 references miss
// D1, of which 10 miss L2, of which 1 misses LL: 90 * 14 + 9 * 50 + 300 = 2010 cycles.
static void test_latency(void **state)
{
    uint64_t *own;

    (void)state;
    begin();
    file.head.flags = FLAGS | SPOOL_F_CACHE_SIM | SPOOL_F_L2;
    file.head.machine.core.l2 = 14;
    file.head.machine.core.ll = 50;
    file.head.machine.core.memory = 300;
    // Timed ones had 201 of latency, and waited 100.5 cycles: so half of 2010.
    own = add(0x1000, 1000, false, 0, 0, 0, 0);
    blocks[0].insn.reads = 1;
    own[0] = 100, own[1] = 10, own[2] = 1;
    own[3] = 500, own[3 + 4] = 402, own[3 + 7] = 201;
    estimate();
    assert_int_equal(own[3 + 4], 1005);
    assert_int_equal(own[3], 1005);
    // They waited 251 cycles: the latency, and 50 for other instructions, 1000 / 500 times.
    own[3] = 500, own[3 + 4] = 1004, own[3 + 7] = 201;
    estimate();
    assert_int_equal(own[3 + 4], 2010 + 100);
    // Another one, whose misses were in no window: half of its latency, too.
    own[3] = 500, own[3 + 4] = 402, own[3 + 7] = 201;
    own = add(0x9000, 4, false, 0, 0, 0, 0);
    blocks[1].insn.reads = 1;
    own[0] = 4, own[1] = own[2] = 4;
    estimate();
    assert_int_equal(own[3], 600);
}

// Fractions: of 512 instructions, each executed once, with half a cycle each, about half get one.
static void test_rounding(void **state)
{
    uint64_t sum = 0;

    (void)state;
    for (uint64_t pc = 0x1000; pc < 0x1000 + 512; pc++) {
        uint64_t *a, once;

        begin();
        a = add(pc, 1, false, 0, 1, 2, 0);
        estimate();
        once = a[0];
        assert_in_range(once, 0, 1);
        sum += once;
        begin();
        a = add(pc, 1, false, 0, 1, 2, 0);
        estimate();
        assert_int_equal(a[0], once); // always alike
    }
    assert_in_range(sum, 240, 272);
}

// All are timed: the counters are cycles already.
static void test_exact(void **state)
{
    uint64_t *a;

    (void)state;
    begin();
    file.head.machine.sampling.interval = 0;
    a = add(0x1000, 1000, false, 0, 500, 2000, 4000);
    estimate();
    assert_int_equal(a[0], 500);
    assert_int_equal(a[1], 2000);
}

// What no engine writes: no part of a cycle is lost beyond 64 bits, and nothing is divided by 0.
static void test_damaged(void **state)
{
    uint64_t *a;

    (void)state;
    begin();
    file.head.machine.core.width = 0;
    a = add(0x1000, UINT64_MAX / 2, false, 0, 1, UINT64_MAX, 5);
    add(0x3000, UINT64_MAX, true, UINT64_MAX, 0, 0, 0);
    estimate();
    assert_true(a[1] <= UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),    cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_unseen),   cmocka_unit_test(test_latency),
        cmocka_unit_test(test_rounding), cmocka_unit_test(test_exact),
        cmocka_unit_test(test_damaged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
