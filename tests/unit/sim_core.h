// SPDX-License-Identifier: MIT
//
// What the tests of sim/core.c share: a machine of small numbers, and instructions on it. A cost is
// that of each further instruction of a loop that has run for a while, in quarters of a cycle
// (width is 4), by hand.
#ifndef QUERN_TESTS_SIM_CORE_H
#define QUERN_TESTS_SIM_CORE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/core.h"

#define P(n) (1u << (n))

// clang-format off
static const struct core_machine machine = {
    .width = 4, .rob = 64, .scheduler = 40, .loads = 32, .stores = 16, .queue = 16,
    .decode = 4, .decode_bytes = 16, .cached = 4, .cached_lines = 16, .ahead = 2,
    .targets = 16, .target_miss = 5, .near_targets = 16, .taken = 1, .depth = 2, .resteer = 10,
    .l2 = 14, .ll = 50, .memory = 200, .l2_line = 2, .back_line = 2, .code_line = 2, .ll_line = 8,
    .memory_line = 20, .l1_buffers = 4, .l2_buffers = 8, .stlb = 7, .walk = 30, .walkers = 2,
    .forward = 5, .forward_fail = 12, .commits = 1, .commit_lines = 1, .near_places = 8,
    .eliminate = 1, .same_place = 1,
    .cost = {
        [CORE_C_LOAD] = { 4, 1, { { 1, P(2) | P(3) } } },
        [CORE_C_STORE_ADDRESS] = { 1, 1, { { 1, P(4) } } },
        [CORE_C_STORE_DATA] = { 1, 1, { { 1, P(5) } } },
        [CORE_C_STORE_VECTOR] = { 1, 1, { { 1, P(5) } } },
        [CORE_C_ALU] = { 1, 1, { { 1, P(0) | P(1) } } },
        [CORE_C_MOVE] = { 1, 1, { { 1, P(0) | P(1) } } },
        [CORE_C_MUL] = { 3, 1, { { 1, P(1) } } },
        [CORE_C_MUL_WIDE] = { 4, 1, { { 1, P(1) }, { 1, P(0) } } },
        [CORE_C_DIV32] = { 12, 6, { { 1, P(0) } } },
        [CORE_C_FDIV64] = { 10, 4, { { 1, P(0) } } },
        [CORE_C_BRANCH] = { 1, 1, { { 1, P(0) } } },
        [CORE_C_JUMP] = { 1, 1, { { 1, P(0) } } },
        [CORE_C_LOCK] = { 15, 1, { { 2, 0 } } },
        [CORE_C_SERIALIZE] = { 20, 1, { { 1, 0 } } },
        [CORE_C_VALU] = { 1, 1, { { 1, P(0) | P(1) } } },
    },
};
// clang-format on

static struct core *core;
static uint64_t sum[CORE_CAUSES];

// A core that the previous test has not used.
static inline void begin_with(const struct core_machine *m)
{
    free(core);
    core = calloc(1, sizeof(*core));
    assert_non_null(core);
    core_init(core, m);
}

static inline void begin(void)
{
    begin_with(&machine);
}

// In parts of a cycle.
static inline uint64_t retired(void)
{
    return core->retired * core->m->width + core->retired_parts;
}

static inline void run(const struct core_exec *e)
{
    uint64_t parts[CORE_CAUSES], before = retired(), all = 0;

    core_run(core, e, parts);
    for (int i = 0; i < CORE_CAUSES; i++) {
        sum[i] += parts[i];
        all += parts[i];
    }
    assert_int_equal(all, retired() - before); // all that retirement grows by has a cause
}

static inline void execute(struct core_op op)
{
    struct core_exec e = { .op = &op, .pc = 0x1000 };

    op.bytes = 1;
    run(&e);
}

static inline void refer(struct core_op op, struct core_ref ref)
{
    struct core_exec e = { .op = &op, .pc = 0x1000, .ref = &ref, .refs = 1 };

    op.bytes = 1;
    run(&e);
}

static inline void forget_sum(void)
{
    memset(sum, 0, sizeof(sum));
}

static inline uint64_t all(void)
{
    uint64_t n = 0;

    for (int i = 0; i < CORE_CAUSES; i++)
        n += sum[i];
    return n;
}

static inline void expect(uint64_t base, uint64_t front, uint64_t bad, uint64_t mem, uint64_t tlb,
                          uint64_t units)
{
    assert_int_equal(sum[CORE_BASE], base);
    assert_int_equal(sum[CORE_FRONT], front);
    assert_int_equal(sum[CORE_BAD], bad);
    assert_int_equal(sum[CORE_MEM], mem);
    assert_int_equal(sum[CORE_TLB], tlb);
    assert_int_equal(sum[CORE_CORE], units);
}

// rax = rax op rax
static inline struct core_op chain(enum core_class class)
{
    return (struct core_op){ .class = (uint8_t) class, .sources = 1, .results = 1 };
}

// rax = [rax]
static const struct core_op chase = {
    .class = CORE_C_NONE, .flags = CORE_F_LOAD, .results = 1, .addresses = 1
};
// rax = [rbx]
static const struct core_op get = {
    .class = CORE_C_NONE, .flags = CORE_F_LOAD, .results = 1, .addresses = 1, .address = { 3 }
};

#endif
