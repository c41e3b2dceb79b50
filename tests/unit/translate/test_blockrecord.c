// SPDX-License-Identifier: MIT
// engine/translate/blockrecord.c: how many records are read until the right one is found. Their
// content is tested in test_translate.c.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/heap.h"
#include "engine/base/pages.h"
#include "engine/callgraph/calls.h"
#include "engine/callgraph/contexts.h"
#include "engine/codecache/vmmap.h"
#include "engine/objects/walks.h"
#include "engine/spool/config.h"
#include "engine/spool/insnids.h"
#include "engine/spool/spooler.h"
#include "engine/translate/blockrecord.h"
#include "engine/translate/pointers.h"

#define RECORDS 20000u

struct tb_config tb_config;
static struct spool_header header;
struct spool_header *spool = &header;
static struct spool_block records[RECORDS];
static u64 looked_at;

void *heap_alloc(u64 bytes)
{
    return calloc(1, bytes);
}

void heap_free(void *p, u64 bytes)
{
    assert_true(bytes > 0);
    free(p);
}

struct spool_block *spooler_block_at(u32 index)
{
    looked_at++;
    return &records[index];
}

u32 spooler_block_index(const struct spool_block *block)
{
    return (u32)(block - records);
}

// -- fakes; the records that they make do not matter here --

u32 vmmap_spool_map(u64 addr)
{
    (void)addr;
    fail();
    return 0;
}

struct spool_block *spooler_block_append(u64 pc, u32 map, u32 flags, u32 hash,
                                         const struct spool_insn *insns, u32 n, u32 n_counters,
                                         u32 *first_counter)
{
    (void)pc, (void)map, (void)flags, (void)hash, (void)insns, (void)n, (void)n_counters;
    (void)first_counter;
    fail();
    return NULL;
}

void pages_huge(u64 start, u64 bytes)
{
    (void)start, (void)bytes;
}

void contexts_block(u32 block, u32 first, u32 counters, const struct function *f)
{
    (void)block, (void)first, (void)counters, (void)f;
    fail();
}

bool insnids_on(void)
{
    return tb_config.data;
}

void insnids_note(u64 number, u32 counter)
{
    (void)number, (void)counter;
    fail();
}

void pointers_find(struct tb *b, const struct tb_block *t, struct spool_data_flow *flow)
{
    (void)b, (void)t, (void)flow;
    fail();
}

void pointers_append(struct spool_data_flow *flow, u32 block)
{
    (void)flow, (void)block;
    fail();
}

static u32 owned[8], owns; // the first counters of instructions

void calls_own(const struct spool_counters *c, u32 first)
{
    assert_true(tb_config.calls && c->count && owns < 8);
    owned[owns++] = first;
}

// The same code at one address, in new memory each time: a record is read when its 7-bit tag
// matches by chance, once more when it is noted a second time, and each time the table grows (8,192
// entries at first, half full at most: to 65,536, which is three times, at 4,096, 8,192 and 16,384
// records).
static void test_mapped_anew(void **state)
{
    (void)state;
    for (u32 i = 0; i < RECORDS; i++) {
        records[i] = (struct spool_block){ .pc = 0x401000, .hash = 0x1234, .insns = 3 };
        records[i].map = i & 0x1ffff;
        blockrecord_take(&records[i]);
    }
    assert_in_range(looked_at, 4096 + 8192 + 16384, 4096 + 8192 + 16384 + RECORDS);
    looked_at = 0;
    for (u32 i = 0; i < RECORDS; i++)
        blockrecord_take(&records[i]);
    assert_in_range(looked_at, RECORDS, 2 * RECORDS);
}

// With room for all of them the table does not grow: records are only read when their tags match by
// chance, fewer than one in 50 in a table that is less than a quarter full.
static void test_expected(void **state)
{
    (void)state;
    blockrecord_init();
    blockrecord_expect(RECORDS);
    looked_at = 0;
    for (u32 i = 0; i < RECORDS; i++)
        blockrecord_take(&records[i]);
    assert_in_range(looked_at, 0, RECORDS / 50);
    blockrecord_expect(1); // never smaller
    looked_at = 0;
    for (u32 i = 0; i < RECORDS; i++)
        blockrecord_take(&records[i]);
    assert_in_range(looked_at, RECORDS, RECORDS + RECORDS / 50);
}

// The counters of a block of an earlier run: two of a fetch, none, two of a read, one of a branch.
static void take_with_calls(u64 blocks_used, u64 counters_used, u32 own)
{
    static const struct spool_insn insns[4] = { { .len = 1, .flags = SPOOL_I_FETCH },
                                                { .len = 2 },
                                                { .len = 3, .reads = 1 },
                                                { .len = 4, .flags = SPOOL_I_BC } };

    records[0] = (struct spool_block){ .pc = 0x401000, .own = own, .insns = 4 };
    memcpy(&records[1], insns, sizeof(insns));
    header.blocks_used = blocks_used;
    header.counters_used = counters_used;
    owns = 0;
    blockrecord_take(&records[0]);
}

static void test_calls(void **state)
{
    const u32 end = 8 + 4 * 4; // of the instructions; here records are 8 bytes apart

    (void)state;
    tb_config.flags = SPOOL_F_CACHE_SIM | SPOOL_F_BRANCH_SIM | SPOOL_F_CALLS;
    take_with_calls(end, 105, 100);
    assert_int_equal(owns, 0);
    tb_config.calls = true;
    take_with_calls(end, 105, 100);
    assert_true(owns == 3 && owned[0] == 100 && owned[1] == 102 && owned[2] == 104);
    // Damaged ones.
    take_with_calls(end, 104, 100);
    assert_int_equal(owns, 2);
    take_with_calls(end, 100, 100);
    assert_int_equal(owns, 0);
    take_with_calls(end, 105, ~0u);
    assert_int_equal(owns, 0);
    take_with_calls(end - 1, 105, 100);
    assert_int_equal(owns, 0);
    tb_config = (struct tb_config){ 0 };
}

static int setup(void **state)
{
    (void)state;
    blockrecord_init();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_mapped_anew),
                                        cmocka_unit_test(test_expected),
                                        cmocka_unit_test(test_calls) };

    return cmocka_run_group_tests(tests, setup, NULL);
}
