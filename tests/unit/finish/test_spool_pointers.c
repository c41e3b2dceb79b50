// SPDX-License-Identifier: MIT
//
// finish/spool/spool_pointers.c: addresses that come from memory, by the flows of blocks.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "finish/spool/spool_pointers.h"

enum { RAX, RBX = 3, RDI = 7 };

#define REG(r) (SPOOL_FROM_REGISTER | (r))
#define BLOCKS 8u

// Each block has two instructions of 4 bytes that read; block i is at 0x1000 * (i + 1), has been
// executed 10 times, and the counters 10 i to 10 i + 9: executions, then for each instruction D1mr
// and DLmr.
static struct {
    struct spool_block block;
    struct spool_insn in[2];
} code[BLOCKS];

static struct spool_data_flow flow[BLOCKS];
static uint64_t counters[10 * BLOCKS];

static uint64_t pc(uint32_t i)
{
    return 0x1000 * (i + 1);
}

static void reset(void)
{
    memset(counters, 0, sizeof(counters));
    for (uint32_t i = 0; i < BLOCKS; i++) {
        code[i].block =
            (struct spool_block){ .pc = pc(i), .counter = 10 * i, .own = 10 * i + 1, .insns = 2 };
        code[i].in[0] = code[i].in[1] = (struct spool_insn){ .len = 4, .reads = 1 };
        flow[i] = (struct spool_data_flow){ .block = (uint32_t)(i * sizeof(code[0]) / 8) };
        for (uint8_t r = 0; r < 16; r++)
            flow[i].reg[r] = REG(r);
        counters[10 * i] = 10;
    }
}

static bool brings(uint32_t block, uint32_t insn, uint64_t misses)
{
    const struct spool_header h = { .flags = SPOOL_F_CACHE_SIM };
    const struct spool_file s = { .h = &h,
                                  .blocks = (const char *)code,
                                  .blocks_used = sizeof(code),
                                  .counters = counters,
                                  .counters_used = 10 * BLOCKS };
    struct spool_pointers *p = spool_pointers_new(&s, flow, BLOCKS);
    bool yes = spool_pointers_bring(p, &code[block].block, insn, misses);

    spool_pointers_free(p);
    return yes;
}

static void jumps(uint32_t from, uint32_t to, enum spool_flow_end end)
{
    flow[from].end = end;
    flow[from].target = pc(to);
}

// p = p->next in one block, and in two: the first one compares, the second one loads.
static void loops(void **state)
{
    (void)state;
    reset();
    code[0].in[0].from = code[0].in[1].from = REG(RDI);
    flow[0].reg[RDI] = 2;
    assert_false(brings(0, 0, 10)); // nothing leads to it again
    jumps(0, 0, SPOOL_FLOW_MAY_JUMP);
    assert_true(brings(0, 0, 10));
    assert_true(brings(0, 1, 10));
    reset();
    code[0].in[0].from = REG(RDI);
    code[1].in[0].from = REG(RDI);
    flow[1].reg[RDI] = 1;
    jumps(0, 1, SPOOL_FLOW_JUMPS);
    jumps(1, 0, SPOOL_FLOW_MAY_JUMP);
    assert_true(brings(0, 0, 10));
    // what leads there more often decides: an inner loop that adds
    jumps(2, 0, SPOOL_FLOW_MAY_JUMP);
    flow[2].reg[RDI] = SPOOL_FROM_NOWHERE;
    assert_true(brings(0, 0, 10));
    counters[20] = 11;
    assert_false(brings(0, 0, 10));
    // a register that nothing changes in the loop
    reset();
    code[0].in[0].from = REG(RDI);
    jumps(0, 0, SPOOL_FLOW_MAY_JUMP);
    assert_false(brings(0, 0, 10));
}

// The load before it misses as often, or at least half as often.
static void missing_load(void **state)
{
    (void)state;
    reset();
    code[0].in[1].from = 1;
    assert_false(brings(0, 1, 10));
    counters[1] = 4;
    assert_false(brings(0, 1, 10));
    counters[1] = 5;
    assert_true(brings(0, 1, 10));
    assert_false(brings(0, 1, 11));
    assert_false(brings(0, 0, 10)); // its own address is not loaded
    code[0].in[1].from = 3;         // there is no such instruction
    assert_false(brings(0, 1, 10));
}

// A block that just ends goes on behind itself, and nowhere else, whatever target it has.
static void goes_on(void **state)
{
    (void)state;
    reset();
    code[1].block.pc = pc(0) + 8;
    code[1].in[0].from = REG(RDI);
    code[2].in[0].from = REG(RDI);
    flow[0].reg[RDI] = 2;
    flow[0].end = SPOOL_FLOW_GOES_ON;
    flow[0].target = pc(2);
    counters[3] = 10; // misses of the second load
    assert_true(brings(1, 0, 10));
    assert_false(brings(2, 0, 10));
    jumps(0, 2, SPOOL_FLOW_JUMPS);
    assert_false(brings(1, 0, 10));
    assert_true(brings(2, 0, 10));
    jumps(0, 2, SPOOL_FLOW_ENDS);
    assert_false(brings(1, 0, 10));
    assert_false(brings(2, 0, 10));
}

// A call keeps rbx and not rax; the function gets all registers.
static void calls(void **state)
{
    (void)state;
    reset();
    code[1].block.pc = pc(0) + 8; // behind the first one
    jumps(0, 3, SPOOL_FLOW_CALLS);
    code[0].in[0].from = REG(RBX);
    code[1].in[0].from = REG(RBX);
    flow[1].reg[RBX] = 1;
    flow[1].reg[RAX] = 1;
    jumps(1, 0, SPOOL_FLOW_JUMPS);
    assert_true(brings(1, 0, 10));
    assert_true(brings(0, 0, 10));
    code[1].in[0].from = REG(RAX);
    assert_false(brings(1, 0, 10));
    // recursion: f(p->left)
    reset();
    code[3].in[0].from = REG(RDI);
    code[4].in[0].from = REG(RDI);
    jumps(3, 4, SPOOL_FLOW_JUMPS);
    flow[4].reg[RDI] = 1;
    jumps(4, 3, SPOOL_FLOW_CALLS);
    assert_true(brings(3, 0, 10));
}

// Flows of a damaged spool: of no block, not in order, with other registers.
static void damaged(void **state)
{
    (void)state;
    reset();
    code[0].in[0].from = 200;
    assert_false(brings(0, 0, 10));
    flow[0].block = 12345;
    assert_false(brings(0, 0, 10));
    reset();
    code[7].in[0].from = REG(RDI);
    jumps(6, 7, SPOOL_FLOW_JUMPS);
    flow[6].reg[RDI] = 99;
    assert_false(brings(7, 0, 10));
    flow[6].block = 3;
    assert_false(brings(7, 0, 10));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops), cmocka_unit_test(goes_on), cmocka_unit_test(missing_load),
        cmocka_unit_test(calls), cmocka_unit_test(damaged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
