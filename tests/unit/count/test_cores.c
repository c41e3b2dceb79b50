// SPDX-License-Identifier: MIT
// engine/count/cores.c: what an instruction's execution is told to the core as (references, where
// they were found, the branch), when, and where its cycles are counted. The core is a fake here:
// sim/core.c has tests of its own.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/heap.h"
#include "engine/callgraph/calls.h"
#include "engine/count/cores.h"
#include "engine/count/levels.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"

struct tb_config tb_config;
static struct spool_header header;
struct spool_header *spool = &header;
static struct thread one, two;
static u64 counted[100];
static struct levels_found found;

// The executions.
static struct core_exec ran[10];
static struct core_ref refs[10][64];
static u32 runs, aheads, inits;

void *heap_large(u64 bytes)
{
    u64 size = PAGE_UP(bytes);

    return memset(aligned_alloc(4096, size), 0, size); // pages of its own
}

void calls_counted(struct thread *t, u32 counter, u64 n)
{
    (void)t, (void)counter, (void)n;
    fail();
}

const struct levels_found *levels_found(const struct thread *t)
{
    (void)t;
    return &found;
}

// Pages from 0x100000 on are in no TLB of the first level.
u8 levels_translation(struct thread *t, u64 addr, u32 size, bool missed)
{
    (void)t, (void)size;
    return missed ? found.translation : addr < 0x100000 ? CORE_TLB_HIT : CORE_TLB_SECOND;
}

void core_init(struct core *c, const struct core_machine *m)
{
    (void)c;
    assert_ptr_equal(m, &header.machine.core);
    inits++;
}

void core_run(struct core *c, const struct core_exec *e, u64 parts[CORE_CAUSES])
{
    (void)c;
    ran[runs % 10] = *e;
    memcpy(refs[runs++ % 10], e->ref, e->refs * sizeof(*e->ref));
    for (u32 i = 0; i < CORE_CAUSES; i++)
        parts[i] = i;
}

void core_cycles(struct core *c, const u64 parts[CORE_CAUSES], u64 cycles[CORE_CAUSES])
{
    (void)c;
    for (u32 i = 0; i < CORE_CAUSES; i++)
        cycles[i] = parts[i] * 10;
}

void core_ahead(struct core *c, u64 addr, enum core_level level)
{
    (void)c;
    assert_int_equal(addr, 0x9000);
    assert_int_equal(level, CORE_AT_LL);
    aheads++;
}

static u64 learnt[4];
static u32 learns;

void core_learn_line(struct core *c, uint64_t addr)
{
    (void)c;
    learnt[learns++ % 4] = addr;
}

void core_learn_branch(struct core *c, uint32_t pc)
{
    (void)c;
    learnt[learns++ % 4] = pc;
}

static void begin(u64 flags)
{
    tb_config = (struct tb_config){ .core = true };
    header = (struct spool_header){ .flags = flags };
    one = (struct thread){ .misses = counted, .cores = one.cores };
    two = (struct thread){ .misses = counted, .cores = two.cores };
    memset(counted, 0, sizeof(counted));
    memset(&found, 0, sizeof(found));
    runs = aheads = inits = 0;
    cores_thread_init(&one);
    cores_thread_init(&two);
}

// An instruction whose cycles are counted from 20 on, and whose writes from 40 on.
static struct cores_insn insn(u32 flags, bool writes)
{
    return (struct cores_insn){
        .pc = 0x1000, .counter = 20, .writes = writes ? 40 : ~0u, .op = { .flags = (u16)flags }
    };
}

static void is_ref(u32 run, u32 i, u64 addr, bool reads, bool writes, u32 level)
{
    assert_true(i < ran[run].refs);
    assert_int_equal(refs[run][i].addr, addr);
    assert_int_equal(refs[run][i].size, 8);
    assert_int_equal(refs[run][i].reads, reads);
    assert_int_equal(refs[run][i].writes, writes);
    assert_int_equal(refs[run][i].level, level);
}

// It runs when the next one begins, and its cycles go to its counters.
static void test_when(void **state)
{
    struct cores_insn first = insn(0, false), second = insn(0, false);

    (void)state;
    second.counter = 60;
    begin(0);
    cores_end(&one); // none has begun
    cores_begin(&one, &first);
    assert_int_equal(runs, 0);
    cores_begin(&one, &second);
    assert_int_equal(runs, 1);
    assert_int_equal(ran[0].pc, 0x1000);
    assert_int_equal(counted[20], 150); // Cy: all causes
    for (u32 i = 0; i < CORE_CAUSES; i++)
        assert_int_equal(counted[21 + i], i * 10);
    assert_int_equal(counted[60], 0);
    cores_end(&one);
    cores_end(&one);
    assert_int_equal(runs, 2);
    assert_int_equal(counted[60], 150);
}

static void test_references(void **state)
{
    struct cores_insn load = insn(CORE_F_LOAD, false), store = insn(CORE_F_STORE, true);
    struct cores_insn change = insn(CORE_F_LOAD | CORE_F_STORE, false);
    struct cores_insn push = insn(CORE_F_LOAD | CORE_F_STORE, true);

    (void)state;
    begin(0);
    cores_ref(&one, 0x2000, 8, 30, false); // of no instruction
    found = (struct levels_found){ .level = CORE_AT_MEMORY, .translation = CORE_TLB_WALK, .n = 1 };
    found.ahead[0].addr = 0x9000;
    found.ahead[0].level = CORE_AT_LL;
    cores_begin(&one, &load);
    cores_ref(&one, 0x2000, 8, 30, false);
    cores_ref(&one, 0x3000, 8, 30, true);
    assert_int_equal(aheads, 0);
    cores_begin(&one, &store);
    assert_int_equal(aheads, 1); // after the execution that caused it
    cores_ref(&one, 0x2000, 8, 40, false);
    cores_begin(&one, &change);
    cores_ref(&one, 0x2000, 8, 30, false);
    cores_begin(&one, &push);
    cores_ref(&one, 0x2000, 8, 30, false);
    cores_ref(&one, 0x3000, 8, 40, false);
    cores_begin(&one, &load);
    cores_ref(&one, 0x100000, 8, 30, false); // L1 has it
    cores_end(&one);
    assert_int_equal(ran[0].refs, 2);
    is_ref(0, 0, 0x2000, true, false, CORE_AT_L1);
    is_ref(0, 1, 0x3000, true, false, CORE_AT_MEMORY);
    assert_int_equal(refs[0][0].translation, CORE_TLB_HIT);
    assert_int_equal(refs[0][1].translation, CORE_TLB_WALK);
    is_ref(1, 0, 0x2000, false, true, CORE_AT_L1);
    is_ref(2, 0, 0x2000, true, true, CORE_AT_L1); // read and written
    is_ref(3, 0, 0x2000, true, false, CORE_AT_L1);
    is_ref(3, 1, 0x3000, false, true, CORE_AT_L1);
    is_ref(4, 0, 0x100000, true, false, CORE_AT_L1);
    assert_int_equal(refs[4][0].translation, CORE_TLB_SECOND);
    assert_int_equal(aheads, 1);
}

// A string instruction: a line that it has just had is one reference, and 64 at a time.
static void test_string(void **state)
{
    struct cores_insn movs = insn(CORE_F_LOAD | CORE_F_STORE, true);

    (void)state;
    movs.op.class = CORE_C_STRING;
    begin(0);
    cores_begin(&one, &movs);
    for (u64 i = 0; i < 40 * 8; i++) {
        cores_ref(&one, 0x2000 + i * 8, 8, 30, false);
        cores_ref(&one, 0x8000 + i * 8, 8, 40, false);
    }
    assert_int_equal(runs, 1);
    cores_end(&one);
    assert_int_equal(runs, 2);
    assert_int_equal(ran[0].refs, 64);
    assert_int_equal(ran[1].refs, 16);
    is_ref(0, 0, 0x2000, true, false, CORE_AT_L1);
    is_ref(0, 1, 0x8000, false, true, CORE_AT_L1);
    is_ref(0, 2, 0x2040, true, false, CORE_AT_L1);
    is_ref(1, 15, 0x8000 + 39 * 64, false, true, CORE_AT_L1);
    assert_int_equal(counted[20], 300);
}

static void test_fetch(void **state)
{
    struct cores_insn plain = insn(0, false);

    (void)state;
    begin(0);
    cores_fetch(&one, true); // of no instruction
    found = (struct levels_found){ .level = CORE_AT_LL, .translation = CORE_TLB_SECOND };
    cores_begin(&one, &plain);
    cores_fetch(&one, true);
    cores_begin(&one, &plain);
    cores_fetch(&one, false);
    cores_begin(&one, &plain);
    cores_end(&one);
    assert_true(ran[0].fetches && ran[1].fetches && !ran[2].fetches);
    assert_int_equal(ran[0].level, CORE_AT_LL);
    assert_int_equal(ran[0].translation, CORE_TLB_SECOND);
    assert_int_equal(ran[1].level, CORE_AT_L1);
    assert_int_equal(ran[1].translation, CORE_TLB_HIT);
}

// A jump is taken and foreseen unless something else is said; a conditional branch ends with its
// outcome.
static void test_branches(void **state)
{
    struct cores_insn jump = insn(CORE_F_BRANCH, false);
    struct cores_insn cond = insn(CORE_F_BRANCH | CORE_F_COND, false);

    (void)state;
    begin(0);
    cores_branch(&one, true, true); // of no instruction
    cores_begin(&one, &jump);
    cores_begin(&one, &jump);
    cores_branch(&one, true, true);
    assert_int_equal(runs, 2);
    cores_begin(&one, &cond);
    cores_branch(&one, true, false);
    cores_begin(&one, &cond);
    cores_branch(&one, false, true);
    cores_begin(&one, &cond); // its outcome is never known
    cores_end(&one);
    assert_int_equal(runs, 5);
    assert_true(ran[0].taken && !ran[0].mispredicted);
    assert_true(ran[1].taken && ran[1].mispredicted);
    assert_true(ran[2].taken && !ran[2].mispredicted);
    assert_true(!ran[3].taken && ran[3].mispredicted);
    assert_true(!ran[4].taken && !ran[4].mispredicted);
}

// Last: from then on all threads have one core.
static void test_threads(void **state)
{
    struct cores *before;

    (void)state;
    begin(0);
    assert_int_equal(inits, 2);
    assert_ptr_not_equal(one.cores, two.cores);
    before = one.cores;
    cores_thread_init(&one); // another thread has its slot: the same memory, and a new core
    assert_ptr_equal(one.cores, before);
    assert_int_equal(inits, 3);
    one.cores = two.cores = NULL;
    begin(SPOOL_F_SERIALIZE);
    assert_int_equal(inits, 1); // of the core of both
    cores_thread_init(&two);    // another thread has its slot: the core goes on
    assert_int_equal(inits, 1);
}

// The first 10,000; then of each 1000 a window of 20 behind 5 and 100, at places that are random,
// but the same ones each time. An instruction of a window stands for 1000 / 20 others.
static void test_sampling(void **state)
{
    static u8 phase[2][10000 + 4000];
    u32 begun[4];
    struct cores_insn plain = insn(0, false);

    (void)state;
    for (u32 again = 0; again < 2; again++) {
        begin(0);
        tb_config.sampled = tb_config.learns = true;
        header.machine.sampling = (struct spool_sampling){
            .first = 10000, .interval = 1000, .window = 20, .run_in = 5, .learn = 100
        };
        cores_thread_init(&one);
        memset(begun, 0, sizeof(begun));
        for (u32 i = 0; i < sizeof(phase[0]); i++) {
            runs = 0;
            for (u32 bits = cores_begin(&one, &plain); bits; bits &= bits - 1)
                begun[__builtin_ctz(bits)]++;
            phase[again][i] = (u8)one.core_phase;
            assert_int_equal(runs, i && phase[again][i - 1] >= CORES_RUN_IN);
            assert_int_equal(cores_predicted(&one), one.core_phase != CORES_OFF);
        }
    }
    assert_memory_equal(phase[0], phase[1], sizeof(phase[0]));
    for (u32 i = 0; i < 10000; i++)
        assert_int_equal(phase[0][i], CORES_TIMED);
    for (u32 k = 0; k < 4; k++) {
        const u8 *p = phase[0] + 10000 + 1000 * k;
        u32 n = 0;

        while (p[n] == CORES_OFF)
            n++;
        for (u32 i = 0; i < 100; i++)
            assert_int_equal(p[n++], CORES_LEARN);
        for (u32 i = 0; i < 5; i++)
            assert_int_equal(p[n++], CORES_RUN_IN);
        for (u32 i = 0; i < 20; i++)
            assert_int_equal(p[n++], CORES_TIMED);
        while (n < 1000)
            assert_int_equal(p[n++], CORES_OFF);
    }
    assert_int_equal(begun[CORES_OFF], 5); // the last one is not over
    assert_int_equal(begun[CORES_LEARN], 4);
    assert_int_equal(begun[CORES_RUN_IN], 4);
    assert_int_equal(begun[CORES_TIMED], 4);
    // Parts 0 to 5 of each: the first ones once, the others 50 times.
    assert_int_equal(counted[20], 10000 + 4 * 20 * 50);
    for (u32 i = 0; i < CORE_CAUSES; i++)
        assert_int_equal(counted[21 + i], i * (10000 + 4 * 20 * 50));
    assert_int_equal(header.sampled.timed, 10000 + 4 * 20);
    assert_int_equal(header.sampled.insns, 10000 + 4 * 20 * 50);
    assert_int_equal(header.sampled.cycles[2], 2 * (10000 + 4 * 20 * 50));
}

// The front end learns the lines of an instruction, taken branches, and where the phase begins.
static void test_learning(void **state)
{
    struct cores_insn plain = insn(0, false);

    (void)state;
    begin(0);
    tb_config.sampled = tb_config.learns = true;
    header.machine.sampling = (struct spool_sampling){ .interval = 10, .window = 2, .learn = 8 };
    cores_thread_init(&one);
    learns = 0;
    assert_int_equal(cores_begin(&one, &plain), 1u << CORES_OFF | 1u << CORES_LEARN);
    assert_int_equal(learns, 1);
    assert_int_equal(learnt[0], 0x1000);
    cores_learn_fetch(&one, 0x103e, 5);
    cores_learn_branch(&one, 0x1040);
    assert_int_equal(learns, 4);
    assert_int_equal(learnt[1], 0x103e);
    assert_int_equal(learnt[2], 0x1042);
    assert_int_equal(learnt[3], 0x1040);
}

// Mispredictions count where instructions do.
static void test_sampled_branches(void **state)
{
    struct cores_insn plain = insn(0, false);

    (void)state;
    begin(0);
    cores_count_branch(&one, 70, CORES_BIM, true);
    cores_count_branch(&one, 70, CORES_BIM, false);
    assert_int_equal(counted[70], 1);
    tb_config.sampled = tb_config.learns = true;
    header.machine.sampling =
        (struct spool_sampling){ .first = 1, .interval = 10, .window = 2, .run_in = 3, .learn = 5 };
    cores_thread_init(&one);
    for (u32 i = 0; i < 11; i++) {
        cores_begin(&one, &plain);
        cores_count_branch(&one, 70, CORES_BRM, true);
        cores_count_branch(&one, 71, CORES_BCM, false);
    }
    assert_int_equal(counted[70], 1 + 1 + 2 * 5);
    assert_int_equal(counted[71], 0);
    cores_begin(&one, &plain); // the window has ended
    assert_int_equal(header.sampled.branches[CORES_BRM], 1 + 2 * 5);
    assert_int_equal(header.sampled.missed[CORES_BRM], 1 + 2 * 5);
    assert_int_equal(header.sampled.branches[CORES_BCM], 1 + 2 * 5);
    assert_int_equal(header.sampled.missed[CORES_BCM], 0);
}

// The first intervals are a tenth of what has been executed: 100 after 1000, in whole windows of
// 10.
static void test_growing(void **state)
{
    struct cores_insn plain = insn(0, false);

    (void)state;
    begin(0);
    tb_config.sampled = tb_config.learns = true;
    header.machine.sampling =
        (struct spool_sampling){ .first = 1000, .interval = 200, .window = 10 };
    cores_thread_init(&one);
    for (u32 i = 0; i < 1000 + 100 + 110; i++)
        cores_begin(&one, &plain);
    cores_end(&one);
    // The windows of both intervals, each with the weight of its own: 10 and 11.
    assert_int_equal(counted[20], 1000 + 10 * 10 + 10 * 11);
    for (u32 i = 0; i < 20000; i++)
        cores_begin(&one, &plain);
    // In the end one in 20.
    assert_in_range(counted[20], 1000 + 210 + 20000 - 200, 1000 + 210 + 20000 + 200);
}

// Instructions in the interval that begins after n of them; windows are of one instruction.
static u32 interval_after(u32 n)
{
    struct cores_insn plain = insn(0, false);
    u64 before;

    cores_thread_init(&one);
    for (u32 i = 0; i < n; i++)
        cores_begin(&one, &plain);
    before = counted[20];
    for (u32 i = 0; i < 10000 && counted[20] == before; i++)
        cores_begin(&one, &plain);
    return (u32)(counted[20] - before);
}

// With growth 50 an interval of 100 is longer from 5000 instructions on: a 50th part of what has
// been executed, but not more than 32 of 100.
static void test_farther_apart(void **state)
{
    static const struct {
        u32 after, growth, insns;
    } cases[] = { { 5000, 50, 100 },    { 5050, 50, 101 },    { 10000, 50, 200 },
                  { 160000, 50, 3200 }, { 200000, 50, 3200 }, { 200000, 0, 100 },
                  { 2500, 50, 100 } };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        begin(0);
        tb_config.sampled = tb_config.learns = true;
        header.machine.sampling = (struct spool_sampling){
            .first = cases[i].after, .interval = 100, .window = 1, .growth = cases[i].growth
        };
        assert_int_equal(interval_after(cases[i].after), cases[i].insns);
    }
}

// Routines may go on while no instruction of their records can be beyond the phase.
static void test_routines(void **state)
{
    struct cores_insn plain = insn(0, false);

    (void)state;
    begin(0);
    assert_true(cores_interpreted(&one)); // all are timed
    tb_config.sampled = tb_config.learns = true;
    header.machine.sampling = (struct spool_sampling){
        .first = 30000, .interval = 3000, .window = 1, .run_in = 0, .learn = 0
    };
    cores_thread_init(&one);
    assert_true(cores_interpreted(&one));
    for (u32 i = 0; i < 30000; i++)
        cores_begin(&one, &plain);
    assert_true(cores_interpreted(&one)); // it is timed
    cores_begin(&one, &plain);
    assert_int_equal(one.core_phase, CORES_OFF);
    assert_false(cores_interpreted(&one));
    while (one.core_left >= 0)
        cores_skip(&one, 1);
    assert_true(cores_interpreted(&one));
    for (u32 i = 0; i < CORES_MARGIN - 1; i++) {
        cores_begin(&one, &plain);
        assert_int_equal(one.core_phase, CORES_OFF);
    }
    cores_begin(&one, &plain);
    assert_int_equal(one.core_phase, CORES_TIMED);
}

// A second state (count/ahead.h) sees no core, and counts its instructions alone.
static void test_ahead(void **state)
{
    static struct thread second = { .misses = counted };
    struct cores_insn i = insn(0, false);

    (void)state;
    begin(0);
    tb_config.sampled = true;
    for (u32 k = 0; k < 2; k++) {
        cores_ahead_begin(&second);
        assert_int_equal(second.core_phase, CORES_OFF);
        assert_false(cores_interpreted(&second));
        cores_skip(&second, 70);
        assert_int_equal(cores_begin(&second, &i), 0);
        cores_ref(&second, 0x9000, 8, 30, true);
        cores_branch(&second, true, true);
        cores_end(&second);
        assert_int_equal(cores_ahead_insns(&second), 71);
    }
    assert_int_equal(runs, 0);
    one.core_phase = CORES_OFF;
    one.core_left = 72;
    assert_true(cores_stays_off(&one, 71));
    assert_false(cores_stays_off(&one, 72));
    one.core_phase = CORES_LEARN;
    assert_false(cores_stays_off(&one, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_when),
        cmocka_unit_test(test_references),
        cmocka_unit_test(test_string),
        cmocka_unit_test(test_fetch),
        cmocka_unit_test(test_branches),
        cmocka_unit_test(test_sampling),
        cmocka_unit_test(test_sampled_branches),
        cmocka_unit_test(test_farther_apart),
        cmocka_unit_test(test_routines),
        cmocka_unit_test(test_growing),
        cmocka_unit_test(test_learning),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_ahead),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
