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

void core_init(struct core *c, const struct core_machine *m)
{
    (void)c;
    assert_ptr_equal(m, &header.machine.core);
    inits++;
}

void core_run(struct core *c, const struct core_exec *e, u64 parts[CORE_CAUSES])
{
    (void)c;
    ran[runs] = *e;
    memcpy(refs[runs++], e->ref, e->refs * sizeof(*e->ref));
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
    assert_int_equal(inits, 1);
    assert_ptr_equal(one.cores, two.cores);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_when),     cmocka_unit_test(test_references),
        cmocka_unit_test(test_string),   cmocka_unit_test(test_fetch),
        cmocka_unit_test(test_branches), cmocka_unit_test(test_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
