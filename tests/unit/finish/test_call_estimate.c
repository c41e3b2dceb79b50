// SPDX-License-Identifier: MIT
//
// Inclusive costs of calls from samples: small call graphs by hand. Width 2, so a cycle is two
// parts; only the first cause and Bcm are set.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <string.h>

#include "finish/sums/call_estimate.h"

enum { BCM = SPOOL_SAMPLED_CAUSES };

// All instructions together: 3 cycles for each, a misprediction for each 10.
static const struct spool_sampled all = { .insns = 100, .cycles = { 600 }, .missed = { 10 } };

static uint64_t self[6][CALL_ESTIMATES];

static void costs(const uint64_t *cycles, size_t functions)
{
    memset(self, 0, sizeof(self));
    for (size_t f = 0; f < functions; f++)
        self[f][0] = cycles[f];
}

static struct call_estimate call(uint32_t from, uint32_t to, uint64_t insns, uint64_t timed,
                                 uint64_t parts)
{
    return (struct call_estimate){
        .from = from, .to = to, .insns = insns, .timed = timed, .seen = { parts }
    };
}

// 0 calls 1, that calls 2: whatever the windows saw, each call costs what is below it.
static void test_chain(void **state)
{
    const uint64_t cycles[] = { 5, 70, 300 };
    struct call_estimate c[] = { call(1, 2, 30, 1, 9), call(0, 1, 40, 0, 0),
                                 call(CALL_ESTIMATE_NOBODY, 0, 45, 7, 7) };

    (void)state;
    costs(cycles, 3);
    self[2][BCM] = 8;
    call_estimate(c, 3, self, 3, &all, 2);
    assert_int_equal(c[0].cost[0], 300);
    assert_int_equal(c[1].cost[0], 370);
    assert_int_equal(c[2].cost[0], 375);
    assert_int_equal(c[0].cost[BCM], 8);
    assert_int_equal(c[2].cost[BCM], 8);
}

// Two callers of 2: in the windows a call of the first took 4 cycles an instruction, one of the
// second 1, and each executed 100 in all. So the first has four fifths of 1001 cycles, and what is
// left by rounding is the second's.
static void test_shared(void **state)
{
    const uint64_t cycles[] = { 0, 0, 1001 };
    struct call_estimate c[] = { call(1, 2, 100, 10, 20), call(0, 2, 100, 10, 80) };

    (void)state;
    costs(cycles, 3);
    call_estimate(c, 2, self, 3, &all, 2);
    assert_int_equal(c[1].cost[0], 800);
    assert_int_equal(c[0].cost[0], 201);
}

// A call that no window saw has the average of all: 3 cycles an instruction; the other one has 1.
static void test_unseen(void **state)
{
    const uint64_t cycles[] = { 0, 0, 800 };
    struct call_estimate c[] = { call(0, 2, 50, 0, 0), call(1, 2, 50, 10, 20) };

    (void)state;
    costs(cycles, 3);
    call_estimate(c, 2, self, 3, &all, 2);
    assert_int_equal(c[0].cost[0], 600);
    assert_int_equal(c[1].cost[0], 200);
    // Nobody has seen anything, nothing was executed: the last one has it all.
    c[0] = call(0, 2, 0, 0, 0);
    c[1] = call(1, 2, 0, 0, 0);
    call_estimate(c, 2, self, 3, &all, 2);
    assert_int_equal(c[0].cost[0] + c[1].cost[0], 800);
}

// 1 and 2 call each other; 0 calls both, and 2 calls 3. What leads into the recursion costs what is
// in it and below; a call within it what the windows saw, no more than that.
static void test_recursion(void **state)
{
    const uint64_t cycles[] = { 1, 40, 60, 100 };
    struct call_estimate c[] = {
        call(0, 1, 90, 9, 18),  call(0, 2, 10, 1, 2),   // 1 cycle an instruction, each
        call(1, 2, 50, 10, 40), call(2, 1, 500, 1, 20), // 2 and 10
        call(2, 3, 20, 0, 0),
    };

    (void)state;
    costs(cycles, 4);
    call_estimate(c, 5, self, 4, &all, 2);
    assert_int_equal(c[4].cost[0], 100);
    assert_int_equal(c[0].cost[0], 180); // of 40 + 60 + 100
    assert_int_equal(c[1].cost[0], 20);
    assert_int_equal(c[2].cost[0], 100);
    assert_int_equal(c[3].cost[0], 200); // not 5000
}

// The order of the calls changes nothing.
static void test_order(void **state)
{
    const uint64_t cycles[] = { 0, 0, 0, 1000 };
    struct call_estimate c[3], d[3];

    (void)state;
    for (uint32_t i = 0; i < 3; i++)
        c[i] = d[2 - i] = call(i, 3, 7 + i, 3, 11 + i);
    costs(cycles, 4);
    call_estimate(c, 3, self, 4, &all, 2);
    call_estimate(d, 3, self, 4, &all, 2);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(c[i].cost[0], d[2 - i].cost[0]);
    assert_int_equal(c[0].cost[0] + c[1].cost[0] + c[2].cost[0], 1000);
}

// A chain of calls may be as long as the memory allows.
static void test_long(void **state)
{
    enum { N = 200000 };
    struct call_estimate *c = calloc(N, sizeof(*c));
    uint64_t(*cost)[CALL_ESTIMATES] = calloc(N, sizeof(*cost));

    (void)state;
    for (uint32_t i = 0; i < N; i++) {
        cost[i][0] = 1;
        c[i] = call(i ? i - 1 : CALL_ESTIMATE_NOBODY, i, 1, 1, 2);
    }
    call_estimate(c, N, cost, N, &all, 2);
    assert_int_equal(c[0].cost[0], N);
    assert_int_equal(c[N - 1].cost[0], 1);
    free(c);
    free(cost);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chain),  cmocka_unit_test(test_shared),
        cmocka_unit_test(test_unseen), cmocka_unit_test(test_recursion),
        cmocka_unit_test(test_order),  cmocka_unit_test(test_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
