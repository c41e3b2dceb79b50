// SPDX-License-Identifier: MIT
// engine/count/vtsc.c: how many instructions a thread has executed, from the counters of blocks
// that are added over time, and a thread's random numbers.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/heap.h"
#include "engine/count/vtsc.h"
#include "engine/spool/spooler.h"

// -- fakes of what it calls --

static struct spool_header header;
struct spool_header *spool = &header;

static u64 area[1 << 18]; // blocks, as in the spool

struct spool_block *spooler_block_at(u32 block)
{
    return (struct spool_block *)&area[block];
}

void *heap_alloc(u64 bytes)
{
    return calloc(1, bytes);
}

void heap_free(void *p, u64 bytes)
{
    memset(p, 0xee, bytes);
    free(p);
}

static u64 counters[2][8192];
static struct thread thread[2] = { { .counters = counters[0] }, { .counters = counters[1] } };

static void add_block(u32 counter, u32 insns, bool is_sum)
{
    struct spool_block *b = spooler_block_at((u32)(header.blocks_used / 8));
    u32 described = is_sum ? 1 : insns; // a sum has its number in `map`

    b->counter = counter;
    b->insns = described;
    b->map = is_sum ? insns : 3;
    b->flags = is_sum ? SPOOL_B_SUM : 0;
    header.blocks_used += (sizeof(*b) + described * sizeof(struct spool_insn) + 7) & ~7ul;
}

static void test_executed(void **state)
{
    (void)state;
    header.flags = SPOOL_F_COUNTED;
    assert_int_equal(vtsc_now(&thread[0]), 0);
    add_block(5, 4, false);
    counters[0][5] = 3;
    counters[1][5] = 100;
    assert_int_equal(vtsc_now(&thread[0]), 12);
    thread[0].partial_insns = 2; // of a block that was left half-way
    assert_int_equal(vtsc_now(&thread[0]), 14);
    add_block(6, 70000, true);
    add_block(7, 1, false);
    counters[0][6] = 2;
    counters[0][7] = 9;
    assert_int_equal(vtsc_now(&thread[0]), 14 + 140000 + 9);
    // More than fit the list at first: 4096.
    for (u32 i = 8; i < 5008; i++) {
        add_block(i, 2, false);
        counters[0][i] = 1;
    }
    assert_int_equal(vtsc_now(&thread[0]), 14 + 140000 + 9 + 10000);
}

// A thread's time continues from its parent's, in a slot with another thread's counters; and it
// continues when counters are cleared.
static void test_base(void **state)
{
    u64 now = vtsc_now(&thread[0]);

    (void)state;
    thread[1].vtsc_base = 0;
    vtsc_thread_init(&thread[1], &thread[0]);
    assert_int_equal(vtsc_now(&thread[1]), now);
    counters[1][5]++;
    assert_int_equal(vtsc_now(&thread[1]), now + 4);
    vtsc_before_clear(&thread[0]);
    memset(counters[0], 0, sizeof(counters[0]));
    assert_int_equal(vtsc_now(&thread[0]), now);
    header.flags = 0;
    counters[0][5] = 1;
    vtsc_before_clear(&thread[0]);
    assert_int_equal(vtsc_now(&thread[0]), now + 4);
}

// The generator's first three numbers for state 0, as its authors' program prints them.
static void test_random(void **state)
{
    (void)state;
    thread[0].random = 0;
    assert_true(vtsc_random(&thread[0]) == 0xe220a8397b1dcdaf);
    assert_true(vtsc_random(&thread[0]) == 0x6e789e6aa1b965f4);
    assert_true(vtsc_random(&thread[0]) == 0x06c45d188009454f);
    // A thread's sequence starts from its parent's next number.
    thread[0].random = 0;
    header.flags = SPOOL_F_REPRODUCIBLE;
    vtsc_thread_init(&thread[1], &thread[0]);
    assert_true(thread[1].random == 0xe220a8397b1dcdaf);
    header.flags = 0;
    vtsc_thread_init(&thread[1], &thread[0]);
    assert_true(thread[1].random == 0xe220a8397b1dcdaf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_executed),
        cmocka_unit_test(test_base),
        cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests_name("engine ticks", tests, NULL, NULL);
}
