// SPDX-License-Identifier: MIT
//
// sim/branch.c: sequences counted by hand, and random ones against a second predictor that keeps
// its history as text. Run by `make check-sim`.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/branch.h"

static struct sim_branch b; // 20 KiB; each test forgets first

static int run_cond(uint64_t addr, const char *outcomes)
{
    int misses = 0;

    for (; *outcomes; outcomes++)
        misses += sim_branch_cond(&b, addr, *outcomes == 'T');
    return misses;
}

// Never taken is what an empty predictor predicts.
static void never_taken(void **state)
{
    (void)state;
    sim_branch_init(&b);
    assert_int_equal(run_cond(0x401000, "NNNNNNNNNNNNNNNNNNNN"), 0);
}

// Always taken: the history goes 0, 1, 11, .. 1111111, seven new counters, each wrong once; the
// eighth is then met again and again: wrong at 0 and at 1, right from 2 on. 7 + 2 = 9.
static void always_taken(void **state)
{
    (void)state;
    sim_branch_init(&b);
    assert_int_equal(run_cond(0x401000, "TTTTTTT"), 7);
    assert_int_equal(run_cond(0x401000, "T"), 1);
    assert_int_equal(run_cond(0x401000, "T"), 1);
    assert_int_equal(run_cond(0x401000, "TTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTT"), 0);
    assert_int_equal(b.counter[127 << 7], 3); // saturated: 0x401000 & 127 is 0
    assert_int_equal(b.counter[63 << 7], 1);
    assert_int_equal(b.history, 127);
}

// The counter at history 127 is 3; one N is wrong and makes it 2. Seven Ts bring history 127 back:
// six new counters, 126 125 123 119 111 95, and then 63, which goes from 1 to 2 and is wrong once
// more.
static void one_exception(void **state)
{
    (void)state;
    sim_branch_init(&b);
    run_cond(0, "TTTTTTTTTTTTTTTTTTTT");
    assert_int_equal(run_cond(0, "N"), 1);
    assert_int_equal(b.counter[127 << 7], 2);
    assert_int_equal(b.history, 126);
    assert_int_equal(run_cond(0, "T"), 1); // 126 -> 125
    assert_int_equal(run_cond(0, "T"), 1); // 125 -> 123
    assert_int_equal(run_cond(0, "T"), 1); // 123 -> 119
    assert_int_equal(run_cond(0, "T"), 1); // 119 -> 111
    assert_int_equal(run_cond(0, "T"), 1); // 111 -> 95
    assert_int_equal(run_cond(0, "T"), 1); // 95 -> 63
    assert_int_equal(run_cond(0, "T"), 1); // 63: 1 -> 2, history 127
    assert_int_equal(b.history, 127);
    assert_int_equal(run_cond(0, "T"), 0); // 127: 2 -> 3
}

// Taken and not taken in turn is learnt: each history that occurs has one outcome.
static void alternating(void **state)
{
    (void)state;
    sim_branch_init(&b);
    run_cond(0x55, "TNTNTNTNTNTNTNTNTN");
    assert_int_equal(run_cond(0x55, "TNTNTNTNTNTNTNTNTNTN"), 0);
}

// A loop of four with one exit, TTTN again and again, is learnt too: the history is longer than the
// loop.
static void short_loop(void **state)
{
    (void)state;
    sim_branch_init(&b);
    run_cond(0x10, "TTTNTTTNTTTNTTTNTTTN");
    assert_int_equal(run_cond(0x10, "TTTNTTTNTTTNTTTN"), 0);
}

// Addresses 128 apart share counters; those that differ in the low seven bits do not; the history
// is everybody's.
static void addresses(void **state)
{
    (void)state;
    sim_branch_init(&b);
    assert_true(sim_branch_cond(&b, 0x1000, true));
    b.history = 0;
    assert_true(sim_branch_cond(&b, 0x1080, true)); // the same counter: 1 -> 2
    b.history = 0;
    assert_false(sim_branch_cond(&b, 0x7f1234561000, true));
    b.history = 0;
    assert_true(sim_branch_cond(&b, 0x1001, true)); // another one
    assert_int_equal(b.history, 1);
    assert_false(sim_branch_cond(&b, 0x2000, false));
    assert_int_equal(b.history, 2);
}

static void indirect(void **state)
{
    (void)state;
    sim_branch_init(&b);
    assert_true(sim_branch_indirect(&b, 0x401000, 0x402000));
    assert_false(sim_branch_indirect(&b, 0x401000, 0x402000));
    assert_true(sim_branch_indirect(&b, 0x401000, 0x402010));
    assert_true(sim_branch_indirect(&b, 0x401000, 0x402000));
    assert_true(sim_branch_indirect(&b, 0x401001, 0x402000));  // another entry
    assert_false(sim_branch_indirect(&b, 0x401200, 0x402000)); // 512 apart: the same entry
    assert_true(sim_branch_indirect(&b, 0x401200, 0x403000));
    assert_true(sim_branch_indirect(&b, 0x401000, 0x402000));
    assert_false(sim_branch_indirect(&b, 0x401002, 0)); // an empty entry predicts address 0
}

// The second predictor: its history is a string of the last seven outcomes.
static void random_against_plain(void **state)
{
    static int8_t level[128][128]; // how often right in a row, as -2 -1 0 1
    char history[8] = "NNNNNNN";
    uint64_t seed = 42, last[512] = { 0 };
    int misses = 0, hits = 0;

    (void)state;
    sim_branch_init(&b);
    memset(level, -2, sizeof(level));
    for (int n = 0; n < 400000; n++) {
        uint64_t addr, target;
        bool taken, want;
        int8_t *l;
        int row = 0;

        seed = seed * 6364136223846793005u + 1442695040888963407u;
        addr = 0x400000 + (seed >> 33) % 300;
        // Outcomes with a pattern, so that both predictions are often right and often wrong.
        taken = (seed >> 45) % 8 ? (addr + (unsigned)n / 3) % 5 < 3 : (seed >> 50) & 1;
        for (int i = 0; i < 7; i++)
            row = row * 2 + (history[i] == 'T');
        l = &level[row][addr % 128];
        want = (*l >= 0) != taken;
        assert_int_equal(sim_branch_cond(&b, addr, taken), want);
        want ? misses++ : hits++;
        if (taken && *l < 1)
            ++*l;
        if (!taken && *l > -2)
            --*l;
        memmove(history, history + 1, 6);
        history[6] = taken ? 'T' : 'N';

        addr = 0x500000 + (seed >> 20) % 700;
        target = (seed >> 52) % 3;
        want = last[addr % 512] != target;
        last[addr % 512] = target;
        assert_int_equal(sim_branch_indirect(&b, addr, target), want);
    }
    assert_true(misses > 40000 && hits > 40000);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_taken),   cmocka_unit_test(always_taken),
        cmocka_unit_test(one_exception), cmocka_unit_test(alternating),
        cmocka_unit_test(short_loop),    cmocka_unit_test(addresses),
        cmocka_unit_test(indirect),      cmocka_unit_test(random_against_plain),
    };

    return cmocka_run_group_tests_name("sim/branch", tests, NULL, NULL);
}
