// SPDX-License-Identifier: MIT
//
// sim/predict.c, by patterns whose mispredictions are known: constant branches, patterns that are
// learnt and then never wrong, loops, random outcomes, targets by turns, returns.
// Run by `make check-sim`.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/predict.h"

static struct sim_predict *p;

static int setup(void **state)
{
    (void)state;
    free(p);
    p = calloc(1, sizeof(*p));
    return 0;
}

static uint64_t next_random(uint64_t *s)
{
    *s = *s * 6364136223846793005u + 1442695040888963407u;
    return *s >> 33;
}

// The first guess is "taken" (a counter of 0).
static void test_constant(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++)
        assert_false(sim_predict_cond(p, 0x401000, true));
    assert_true(sim_predict_cond(p, 0x402004, false));
    for (int i = 0; i < 1000; i++)
        assert_false(sim_predict_cond(p, 0x402004, false));
}

// Mispredictions of the second half of `times` repetitions of a pattern of n outcomes.
static unsigned late(uint64_t pc, const char *pattern, unsigned times)
{
    unsigned n = (unsigned)strlen(pattern), missed = 0;

    for (unsigned k = 0; k < times; k++)
        for (unsigned i = 0; i < n; i++)
            missed += sim_predict_cond(p, pc, pattern[i] == 'T') && k >= times / 2;
    return missed;
}

static void test_patterns(void **state)
{
    (void)state;
    assert_int_equal(late(0x1000, "TN", 200), 0);
    assert_int_equal(late(0x2000, "TTN", 200), 0);
    assert_int_equal(late(0x3000, "TTTTTTTN", 200), 0);
    assert_int_equal(late(0x4000, "TNNTTTNTNNNTTNTTTTNN", 200), 0);
    assert_int_equal(late(0x5000, "NNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNT", 200), 0);
}

// Another branch's outcome decides: the same branch as a fair coin for every other predictor.
static void test_correlated(void **state)
{
    uint64_t s = 1;
    unsigned first = 0, second = 0;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        bool coin = next_random(&s) & 1;
        bool missed = sim_predict_cond(p, 0x1000, coin);

        first += missed && i >= 10000;
        missed = sim_predict_cond(p, 0x1010, !coin);
        second += missed && i >= 10000;
    }
    assert_in_range(first, 4500, 5500);
    assert_in_range(second, 0, 20);
}

// Loops of a constant number of iterations with a coin in the body, which no history sees through:
// the loop predictor knows when they end.
static void test_loops(void **state)
{
    uint64_t s = 1;
    unsigned ends = 0;

    (void)state;
    for (int k = 0; k < 400; k++)
        for (int i = 0; i < 100; i++) {
            bool missed = sim_predict_cond(p, 0x3000, i < 99);

            ends += missed && k >= 200;
            sim_predict_cond(p, 0x2000, next_random(&s) & 1);
        }
    assert_int_equal(ends, 0);
    // a loop that ends otherwise once is wrong twice, and is known again after three times
    for (int i = 0; i < 50; i++)
        ends += sim_predict_cond(p, 0x3000, i < 49);
    assert_in_range(ends, 1, 2);
}

// What a loop's entry becomes, and what is said, step by step. guess: TAGE's.
static bool model_loop(struct sim_tage_loop *l, uint32_t pc, bool taken, bool guess)
{
    bool said = guess;

    if (l->tag != pc || !l->age) {
        if (guess == taken)
            return guess;
        if (l->age)
            l->age--;
        else
            *l = (struct sim_tage_loop){ .tag = pc, .age = 31, .on = !taken };
        return guess;
    }
    if (l->sure == 3)
        said = (l->now != l->count) == l->on;
    if (taken == l->on) {
        if (l->now == UINT16_MAX || (l->sure && l->now == l->count))
            l->sure = 0;
        else
            l->now++;
    } else {
        if (l->now != l->count || l->count < 3)
            l->sure = 0;
        else if (l->sure < 3)
            l->sure++;
        if (l->now < 3 && l->age)
            l->age--;
        l->count = l->now;
        l->now = 0;
    }
    if (said == taken && guess != taken)
        l->age = 255;
    return said;
}

// Loops of a constant length, of two lengths, of lengths at random, and coins, 64 branches at
// random of which some share an entry; then one loop that is longer than can be counted. What TAGE
// alone guesses is known from a predictor whose loops are forgotten before each branch.
static void test_loops_by_model(void **state)
{
    static struct sim_tage_loop model[SIM_TAGE_LOOPS];
    struct sim_predict *alone = calloc(1, sizeof(*alone));
    uint32_t left[64] = { 0 };
    uint64_t s = 1;

    (void)state;
    for (uint32_t i = 0; i < 400000; i++) {
        uint32_t k = i < 300000 ? (uint32_t)(next_random(&s) / 1024 % 64) : 0, turns;
        uint32_t pc = 0x1000 + k * 5 + (k % 8 == 7) * 0x10100, at = (pc ^ pc >> 8) % SIM_TAGE_LOOPS;
        bool taken, guess, said;

        turns = k % 4 == 0 ? 3 + k : k % 4 == 1 ? 5 + (i >> 12 & 1) : (uint32_t)next_random(&s) % 9;
        if (i >= 300000)
            turns = 1u << 20;
        taken = k % 4 == 3 ? next_random(&s) & 1 : left[k] != 0;
        left[k] = left[k] ? left[k] - 1 : turns;
        memset(alone->loop, 0, sizeof(alone->loop));
        guess = sim_predict_cond(alone, pc, taken) != taken;
        said = model_loop(&model[at], pc, taken, guess);
        assert_int_equal(sim_predict_cond(p, pc, taken), said != taken);
        assert_memory_equal(&p->loop[at], &model[at], sizeof(model[at]));
    }
    free(alone);
}

static void test_random(void **state)
{
    uint64_t s = 1;
    unsigned missed = 0;

    (void)state;
    for (int i = 0; i < 100000; i++)
        missed += sim_predict_cond(p, 0x1000, next_random(&s) & 1);
    assert_in_range(missed, 48000, 52000);
}

static void test_targets(void **state)
{
    static const uint64_t targets[] = { 0x5000, 0x5100, 0x5200, 0x5000, 0x5300, 0x5400, 0x5100 };
    unsigned missed = 0;

    (void)state;
    assert_true(sim_predict_indirect(p, 0x1000, 0x5000));
    for (int i = 0; i < 100; i++)
        assert_false(sim_predict_indirect(p, 0x1000, 0x5000));
    for (int k = 0; k < 200; k++)
        for (int i = 0; i < 7; i++) {
            bool wrong = sim_predict_indirect(p, 0x2000, targets[i]);

            missed += wrong && k >= 100;
        }
    assert_int_equal(missed, 0);
}

// The folds of the path are those of its last branches, computed anew.
static void test_path(void **state)
{
    static const unsigned lengths[SIM_ITTAGE_TABLES] = { 0, 9, 64 };
    uint64_t s = 5, fold;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        sim_predict_indirect(p, next_random(&s), next_random(&s));
        if (i % 3 == 0)
            sim_predict_cond(p, next_random(&s), i % 2);
    }
    for (unsigned k = 0; k < SIM_ITTAGE_TABLES; k++) {
        fold = 0;
        for (unsigned ago = lengths[k]; ago > 0; ago--)
            fold = (fold << 5 | fold >> 59) ^ p->path[(p->taken - ago) % SIM_PATH];
        assert_true(p->path_fold[k] == fold);
    }
}

// Mispredicted, in thousandths, of the second half of 400,000 jumps by as many tables as there are
// targets, nine, through `period` targets drawn at random; now and then one is left out, in so many
// thousandths of the steps.
static unsigned mispredicted(unsigned period, unsigned left_out)
{
    static uint8_t target[4096];
    uint64_t s = 88172645463325252, missed = 0;
    unsigned at = 0, from = 0;

    for (unsigned i = 0; i < period; i++)
        target[i] = next_random(&s) % 9;
    memset(p, 0, sizeof(*p));
    for (int i = 0; i < 400000; i++) {
        at = (at + 1 + (next_random(&s) % 1000 < left_out)) % period;
        missed +=
            sim_predict_indirect(p, 0x1028 + from * 64, 0x1000 + target[at] * 64) && i >= 200000;
        from = target[at];
    }
    return (unsigned)(missed / 200);
}

// As a Golden Cove core was measured to predict them (docs/design/072): 0, 0, 520 and 780; 40 and
// 120; 160 and 290.
static void test_many_targets(void **state)
{
    (void)state;
    assert_int_equal(mispredicted(512, 0), 0);
    assert_in_range(mispredicted(1024, 0), 0, 10);
    assert_in_range(mispredicted(2048, 0), 300, 600);
    assert_in_range(mispredicted(4096, 0), 700, 889);
    assert_in_range(mispredicted(32, 50), 40, 80);
    assert_in_range(mispredicted(128, 50), 80, 160);
    assert_in_range(mispredicted(32, 111), 110, 200);
    assert_in_range(mispredicted(128, 111), 200, 350);
}

static void test_returns(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < SIM_RETURNS; i++)
        sim_predict_call(p, 0x1000 + i);
    for (uint64_t i = SIM_RETURNS; i-- > 0;)
        assert_false(sim_predict_return(p, 0x500, 0x1000 + i));
    // deeper than the stack: the outermost are wrong
    for (uint64_t i = 0; i < SIM_RETURNS + 3; i++)
        sim_predict_call(p, 0x2000 + i);
    for (uint64_t i = SIM_RETURNS + 3; i-- > 0;)
        assert_int_equal(sim_predict_return(p, 0x500, 0x2000 + i), i < 3);
    sim_predict_call(p, 0x3000);
    assert_true(sim_predict_return(p, 0x500, 0x3001)); // longjmp
}

// Functions of which each calls the next, 40 deep, again and again: the returns that the stack has
// lost are learnt as indirect jumps are.
static void test_deep_returns(void **state)
{
    enum { DEEP = SIM_RETURNS + 8 };
    uint32_t missed;

    (void)state;
    for (int deep = 0; deep < 2; deep++) {
        p->deep_returns = deep;
        for (int round = 0; round < 20; round++) {
            missed = 0;
            for (uint64_t i = 0; i < DEEP; i++)
                sim_predict_call(p, 0x1000 + 16 * i);
            for (uint64_t i = DEEP; i-- > 0;)
                missed += sim_predict_return(p, 0x8000 + 64 * i, 0x1000 + 16 * i);
        }
        assert_int_equal(missed, deep ? 0 : 8);
    }
}

// Mispredictions, in thousandths, of the last of three rounds of `period` outcomes drawn at random.
static unsigned drawn(uint32_t period, uint32_t large)
{
    unsigned missed = 0;

    memset(p, 0, sizeof(*p));
    p->large = large;
    for (int round = 0; round < 3; round++) {
        uint64_t s = 7;

        for (uint32_t i = 0; i < period; i++)
            missed += sim_predict_cond(p, 0x1000, next_random(&s) >> 8 & 1) && round == 2;
    }
    return missed * 1000 / period;
}

// Of 8 tables of 2048 entries a period of 2,000 takes an eighth, one of 40,000 is more than all
// have. Four times as many have 65,536.
static void test_large(void **state)
{
    (void)state;
    assert_in_range(drawn(2000, 0), 0, 20);
    assert_in_range(drawn(40000, 0), 300, 500);
    assert_in_range(drawn(40000, 2), 0, 150);
    assert_true(drawn(20000, 1) < drawn(20000, 0));
}

// Mispredictions, in thousandths, of the last of ten rounds of n jumps, each to the next in an
// order
// that is drawn, at places `apart` bytes apart.
static unsigned sequence(uint32_t n, uint64_t apart)
{
    static uint32_t order[4096];
    unsigned missed = 0;
    uint64_t s = 3;

    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (uint32_t i = n - 1; i > 0; i--) {
        uint32_t k = next_random(&s) % (i + 1), was = order[i];

        order[i] = order[k];
        order[k] = was;
    }
    memset(p, 0, sizeof(*p));
    p->large_indirect = 1;
    p->path_less = ~UINT64_C(63);
    for (int round = 0; round < 10; round++)
        for (uint32_t i = 0; i < n; i++)
            missed += sim_predict_indirect(p, 0x1000, 0x400000 + order[i] * apart) && round == 9;
    return missed * 1000 / n;
}

// By their low six bits places 256 bytes apart are all the same: a sequence of jumps from one place
// is not known, but for one as short as the table that has all bits. By odd ones it is.
static void test_path_bits(void **state)
{
    (void)state;
    assert_int_equal(sequence(32, 256), 0);
    assert_in_range(sequence(512, 256), 900, 1000);
    assert_in_range(sequence(512, 257), 0, 5);
}

// The folded histories are those of the history, after a million outcomes.
static void test_folds(void **state)
{
    static const unsigned lengths[SIM_TAGE_TABLES] = { 4, 8, 14, 24, 42, 76, 140, 256 };
    uint64_t s = 5;

    (void)state;
    for (int i = 0; i < 1000003; i++)
        sim_predict_cond(p, 0x1000 + next_random(&s) % 64, next_random(&s) % 3 == 0);
    for (unsigned k = 0; k < SIM_TAGE_TABLES; k++) {
        uint32_t fold = 0;

        for (unsigned ago = 1; ago <= lengths[k]; ago++) {
            fold ^= (uint32_t)p->history[(p->time - ago) % SIM_TAGE_HISTORY] << (ago - 1) % 22;
        }
        assert_int_equal(p->fold[k], fold);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_constant, setup),
        cmocka_unit_test_setup(test_patterns, setup),
        cmocka_unit_test_setup(test_correlated, setup),
        cmocka_unit_test_setup(test_loops, setup),
        cmocka_unit_test_setup(test_loops_by_model, setup),
        cmocka_unit_test_setup(test_random, setup),
        cmocka_unit_test_setup(test_targets, setup),
        cmocka_unit_test_setup(test_path, setup),
        cmocka_unit_test_setup(test_many_targets, setup),
        cmocka_unit_test_setup(test_returns, setup),
        cmocka_unit_test_setup(test_deep_returns, setup),
        cmocka_unit_test_setup(test_large, setup),
        cmocka_unit_test_setup(test_path_bits, setup),
        cmocka_unit_test_setup(test_folds, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
