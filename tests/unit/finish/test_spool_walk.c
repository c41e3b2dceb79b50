// SPDX-License-Identifier: MIT
//
// finish/spool/spool_walk.c with the sums of counters, contexts and open calls: spools of a few
// blocks, by hand, in a file.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "finish/spool/spool.h"

enum { COUNTERS = 64, BYTES = 4096 };

static struct spool_header header;
static struct spool_file spool;
static uint64_t blocks[BYTES / 8]; // aligned
static struct spool_partial partial[8];
static struct spool_edge edge[8];
static uint32_t owner[SPOOL_THREADS_MAX];

static int begin(void **state)
{
    (void)state;
    memset(blocks, 0, sizeof(blocks));
    memset(partial, 0, sizeof(partial));
    memset(edge, 0, sizeof(edge));
    memset(owner, 0, sizeof(owner));
    header = (struct spool_header){ .threads_used = 1 };
    spool = (struct spool_file){ .h = &header,
                                 .maps_used = 1,
                                 .blocks = (const char *)blocks,
                                 .partial = partial,
                                 .edges = edge,
                                 .counters_used = COUNTERS,
                                 .sums = COUNTERS,
                                 .slot = SPOOL_ALL_THREADS,
                                 .owner = owner,
                                 .fd = memfd_create("spool", 0) };
    return 0;
}

static int end(void **state)
{
    (void)state;
    spool_counters_drop(&spool);
    close(spool.fd);
    return 0;
}

// A block of n instructions of 4 bytes, each with these flags. Returns its place in units of 8
// bytes.
static uint32_t block(uint64_t pc, uint32_t counter, uint32_t own, uint32_t n, uint8_t flags)
{
    struct spool_block *b = (struct spool_block *)(void *)((char *)blocks + spool.blocks_used);
    struct spool_insn *in = (struct spool_insn *)(b + 1);
    uint32_t at = (uint32_t)spool.blocks_used / 8;

    *b = (struct spool_block){ .pc = pc, .counter = counter, .own = own, .insns = n };
    for (uint32_t i = 0; i < n; i++)
        in[i] = (struct spool_insn){ .len = 4, .flags = flags };
    spool.blocks_used += (sizeof(*b) + n * sizeof(*in) + 7) & ~7ul;
    return at;
}

static struct spool_block *at(uint32_t place)
{
    return (struct spool_block *)(void *)&blocks[place];
}

static void counter(uint32_t slot, uint32_t number, uint64_t value)
{
    assert_int_equal(pwrite(spool.fd, &value, 8, (off_t)(spool_counters_at(slot) + number * 8)), 8);
}

static void read_counters(void)
{
    uint64_t size = spool_counters_at(SPOOL_THREADS_MAX);

    assert_int_equal(spool_counters_read(&spool, size), 0);
}

static char text[2048];

// "PC*EXECUTED/Ir[/Bcm][@context]" of each.
static void tell(void *ctx, const struct spool_walk_insn *in)
{
    size_t n = strlen(text);

    (void)ctx;
    n += (size_t)sprintf(text + n, "%s%llx*%llu/%llu", n ? " " : "", (unsigned long long)in->pc,
                         (unsigned long long)in->executed,
                         (unsigned long long)in->counts[FINISH_IR]);
    if (in->counts[FINISH_BCM])
        n += (size_t)sprintf(text + n, "/%llu", (unsigned long long)in->counts[FINISH_BCM]);
    if (in->context)
        sprintf(text + n, "@%u", in->context);
}

static void walks(uint64_t bad, const char *expected)
{
    text[0] = '\0';
    assert_int_equal(spool_walk_counts(&spool, tell, NULL), bad);
    assert_string_equal(text, expected);
}

// Blocks of two and of one instruction, and one that was never executed.
static void test_blocks(void **state)
{
    struct spool_walk_block b = { 0 };
    uint32_t second;

    (void)state;
    block(0x1000, 0, COUNTERS, 2, 0);
    second = block(0x2000, 1, COUNTERS, 1, 0);
    block(0x3000, 63, COUNTERS, 1, 0);
    at(second)->flags = SPOOL_B_PLT;
    at(second)->hash = 9;
    counter(0, 0, 5);
    counter(0, 1, 7);
    read_counters();
    walks(0, "1000*5/5 1004*5/5 2000*7/7");
    spool_counters_blocks(&spool);
    assert_int_equal(spool.blocks_executed, 12);
    assert_true(spool_walk_block(&spool, &b));
    assert_int_equal(b.bytes, 8);
    assert_int_equal(b.insns, 2);
    assert_true(spool_walk_block(&spool, &b));
    assert_int_equal(b.pc, 0x2000);
    assert_int_equal(b.hash, 9);
    assert_int_equal(b.bytes, 4);
    assert_true(spool_walk_block(&spool, &b));
    assert_false(spool_walk_block(&spool, &b));
}

// Left after 1 and after 2 of 3 instructions: 4 + 3 and 3 executions more. A record of no
// instruction says nothing; one of more than there are is of all.
static void test_partial(void **state)
{
    uint32_t first = block(0x1000, 0, COUNTERS, 3, 0), second = block(0x2000, 1, COUNTERS, 2, 0);

    (void)state;
    counter(0, 0, 10);
    counter(0, 1, 20);
    partial[0] = (struct spool_partial){ second, 1, 2, 0, 0 };
    partial[1] = (struct spool_partial){ first, 2, 3, 0, 0 };
    partial[2] = (struct spool_partial){ first, 1, 4, 0, 0 };
    partial[3] = (struct spool_partial){ first, 0, 100, 0, 0 };
    partial[4] = (struct spool_partial){ first, 9, 1, 0, 0 };
    spool.partial_used = 5;
    read_counters();
    walks(0, "1000*18/18 1004*14/14 1008*11/11 2000*22/22 2004*20/20");
    // The first block has none now.
    spool.partial_used = 1;
    walks(0, "1000*10/10 1004*10/10 1008*10/10 2000*22/22 2004*20/20");
}

// Records of places where no block is, before, between and behind them, and an impossible number.
static void test_damaged_partial(void **state)
{
    uint32_t first = block(0x1000, 0, COUNTERS, 1, 0), second = block(0x2000, 1, COUNTERS, 1, 0);

    (void)state;
    counter(0, 0, 10);
    partial[0] = (struct spool_partial){ first + 1, 1, 2, 0, 0 };
    partial[1] = (struct spool_partial){ second + 1, 1, 2, 0, 0 };
    partial[2] = (struct spool_partial){ second + 100, 1, 2, 0, 0 };
    partial[3] = (struct spool_partial){ second, 1, FINISH_COUNT_MAX, 0, 0 };
    partial[4] = (struct spool_partial){ second, 1, FINISH_COUNT_MAX - 1, 0, 0 };
    spool.partial_used = 5;
    read_counters();
    walks(4, "1000*10/10 2000*1152921504606846975/1152921504606846975");
}

// Two records of which the second makes the sum impossible.
static void test_partial_sum(void **state)
{
    uint32_t first = block(0x1000, 0, COUNTERS, 2, 0);

    (void)state;
    counter(0, 0, 1);
    partial[0] = (struct spool_partial){ first, 1, 1, 0, 0 };
    partial[1] = (struct spool_partial){ first, 1, FINISH_COUNT_MAX - 2, 0, 0 };
    spool.partial_used = 2;
    read_counters();
    walks(1, "1004*1/1");
    partial[1].count--;
    walks(0, "1000*1152921504606846975/1152921504606846975 1004*1/1");
}

// A map, a counter and own counters that are not there; own may be the end of all, if there are
// none.
static void test_damaged_blocks(void **state)
{
    (void)state;
    at(block(0x1000, 0, COUNTERS, 1, 0))->map = 1;
    block(0x2000, COUNTERS, COUNTERS, 1, 0);
    block(0x3000, 0, COUNTERS + 1, 1, 0);
    block(0x4000, 0, COUNTERS, 1, 0);
    header.flags = SPOOL_F_BRANCH_SIM;
    block(0x5000, 0, COUNTERS, 1, SPOOL_I_BC);
    block(0x6000, 0, COUNTERS - 1, 1, SPOOL_I_BC);
    at(block(0x7000, 0, COUNTERS, 1, 0))->flags = SPOOL_B_DORMANT;
    counter(0, 0, 3);
    counter(0, 63, 2);
    read_counters();
    walks(4, "4000*3/3 6000*3/3/2");
    // A record that was cut off, and one that was never written.
    spool.blocks_used -= 8;
    walks(5, "4000*3/3 6000*3/3/2");
    spool.blocks_used = BYTES;
    walks(5, "4000*3/3 6000*3/3/2");
}

// Executions that no program has: 2^60 and more are dropped, of blocks and of own counters.
static void test_impossible(void **state)
{
    (void)state;
    header.flags = SPOOL_F_BRANCH_SIM;
    block(0x1000, 0, COUNTERS, 1, 0);
    block(0x2000, 1, COUNTERS, 1, 0);
    block(0x3000, 2, 10, 2, SPOOL_I_BC);
    counter(0, 0, FINISH_COUNT_MAX);
    counter(0, 1, FINISH_COUNT_MAX - 1);
    counter(0, 2, 4);
    counter(0, 10, FINISH_COUNT_MAX);
    counter(0, 11, 3);
    read_counters();
    walks(2, "2000*1152921504606846975/1152921504606846975 3000*4/4 3004*4/4/3");
}

// The sum of all is at most 2^64 - 1: 16 of 2^60 - 1 and 15 more are that.
static void test_sum(void **state)
{
    char expected[1024] = "";

    (void)state;
    for (uint32_t i = 0; i < 16; i++) {
        block(0x1000 * (i + 1), i, COUNTERS, 1, 0);
        counter(0, i, FINISH_COUNT_MAX - 1);
        sprintf(expected + strlen(expected), "%x*1152921504606846975/1152921504606846975 ",
                0x1000 * (i + 1));
    }
    block(0x20000, 16, COUNTERS, 1, 0);
    block(0x21000, 17, COUNTERS, 1, 0);
    counter(0, 16, 16);
    counter(0, 17, 15);
    strcat(expected, "21000*15/15");
    read_counters();
    text[0] = '\0';
    assert_int_equal(spool_walk_counts(&spool, tell, NULL), 1);
    assert_string_equal(text, expected);
}

// Two threads, and a slot that no thread has used; one thread alone.
static void test_threads(void **state)
{
    uint32_t first = block(0x1000, 0, COUNTERS, 1, 0);

    (void)state;
    ftruncate(spool.fd, (off_t)spool_counters_at(3));
    header.threads_used = 2;
    counter(0, 0, 5);
    counter(1, 0, 6);
    counter(2, 0, 100);
    partial[0] = (struct spool_partial){ first, 1, 10, 0, 1 };
    spool.partial_used = 1;
    read_counters();
    walks(0, "1000*21/21");
    assert_true(spool_counters_thread(&spool, 0));
    walks(0, "1000*5/5");
    assert_true(spool_counters_thread(&spool, 1));
    walks(0, "1000*16/16");
    assert_true(spool_counters_thread(&spool, SPOOL_ALL_THREADS));
    walks(0, "1000*21/21");
    // The file ends in the second slot: its first thread has counted.
    spool_counters_drop(&spool);
    spool.slot = SPOOL_ALL_THREADS;
    assert_int_equal(spool_counters_read(&spool, spool_counters_at(1) + COUNTERS * 8 - 1), 0);
    walks(0, "1000*15/15");
    spool_counters_drop(&spool);
    assert_int_equal(spool_counters_read(&spool, spool_counters_at(1) + COUNTERS * 8), 0);
    walks(0, "1000*21/21");
    spool_counters_drop(&spool);
    assert_int_equal(spool_counters_read(&spool, spool_counters_at(0) + COUNTERS * 8 - 1), -1);
}

// Executions that two blocks share: added to each of them; a number that is no counter, and an
// impossible number of executions.
static void test_shared(void **state)
{
    uint32_t s, *of;

    (void)state;
    block(0x1000, 0, COUNTERS, 1, 0);
    block(0x2000, 1, COUNTERS, 1, 0);
    for (uint32_t i = 0; i < 2; i++) {
        s = block(0, 2 + i, 0, 3, 0);
        at(s)->flags = SPOOL_B_SUM;
        of = (uint32_t *)(at(s) + 1);
        of[0] = 0;
        of[1] = 1;
        of[2] = COUNTERS;
    }
    at(block(0, COUNTERS, 0, 0, 0))->flags = SPOOL_B_SUM;
    counter(0, 0, 5);
    counter(0, 2, 30);
    counter(0, 3, FINISH_COUNT_MAX);
    read_counters();
    assert_int_equal(spool.bad, 1);
    walks(2, "1000*35/35 2000*30/30");
    spool_counters_blocks(&spool);
    assert_int_equal(spool.blocks_executed, 65);
}

// Contexts: the block's own counters 0 and 1 (Bcm) are of the context that counter 8 says; earlier
// ones are in an account at 16. A partial execution in context 3 makes another account.
static void test_contexts(void **state)
{
    uint32_t first;

    (void)state;
    header.flags = SPOOL_F_CONTEXTS | SPOOL_F_BRANCH_SIM;
    first = block(0x1000, 0, 1, 1, SPOOL_I_BC);
    edge[0] = (struct spool_edge){ .kind = SPOOL_EDGE_PIECE, .target = first, .to = 8 };
    edge[1] =
        (struct spool_edge){ .kind = SPOOL_EDGE_ACCOUNT, .target = first, .to = 2, .counter = 16 };
    edge[2] = (struct spool_edge){
        .kind = SPOOL_EDGE_ACCOUNT, .target = first, .to = 7, .counter = COUNTERS - 1 // cut off
    };
    edge[3] = (struct spool_edge){ .kind = SPOOL_EDGE_PIECE, .target = 1000, .to = 8 };
    edge[4] = edge[0]; // overlaps: damaged
    spool.edges_used = 5;
    partial[0] = (struct spool_partial){ first, 1, 9, 3, 0 };
    spool.partial_used = 1;
    counter(0, 0, 5);
    counter(0, 1, 2);
    counter(0, 8, 1);
    counter(0, 16, 20);
    counter(0, 17, 10);
    read_counters();
    assert_int_equal(spool.accounts, 3);
    walks(1, "1000*5/5/2@1 1000*20/20/10@2 1000*9/9@3");
    spool_counters_blocks(&spool);
    assert_int_equal(spool.blocks_executed, 25);
    // Two threads in the same context.
    header.threads_used = 2;
    counter(1, 0, 100);
    counter(1, 8, 2);
    spool_counters_drop(&spool);
    read_counters();
    walks(1, "1000*5/5/2@1 1000*120/120/10@2 1000*9/9@3");
}

// Accounts of contexts that have no record yet: together with the spool's own counters they have at
// most as many as two slots.
static void test_accounts_at_their_bound(void **state)
{
    uint32_t first;
    uint64_t *sum, n = SPOOL_COUNTERS_MAX + COUNTERS - 2, bad;
    struct spool_account *all;
    size_t accounts;

    (void)state;
    header.flags = SPOOL_F_CONTEXTS | SPOOL_F_BRANCH_SIM;
    first = block(0x1000, 0, 1, 1, SPOOL_I_BC); // two counters
    partial[0] = (struct spool_partial){ first, 1, 9, 3, 0 };
    partial[1] = (struct spool_partial){ first, 1, 9, 4, 0 };
    spool.partial_used = 2;
    sum = malloc(n * sizeof(*sum));
    all = spool_contexts_end(spool_contexts_new(&spool), &sum, &n, &accounts, &bad);
    assert_int_equal(accounts, 1);
    assert_int_equal(bad, 1);
    assert_int_equal(n, SPOOL_COUNTERS_MAX + COUNTERS);
    assert_int_equal(all[0].context, 3);
    assert_int_equal(all[0].counter, SPOOL_COUNTERS_MAX + COUNTERS - 2);
    free(all);
    free(sum);
}

// Accounts have no more counters than there are: the fourth of 24 is damaged.
static void test_accounts_of_one_place(void **state)
{
    uint32_t first = block(0x1000, 0, 1, 23, SPOOL_I_BC);

    (void)state;
    header.flags = SPOOL_F_CONTEXTS | SPOOL_F_BRANCH_SIM;
    for (uint32_t i = 0; i < 3; i++)
        edge[i] = (struct spool_edge){
            .kind = SPOOL_EDGE_ACCOUNT, .target = first, .to = i + 1, .counter = COUNTERS - 24
        };
    spool.edges_used = 3;
    counter(0, 0, 1);
    read_counters();
    assert_int_equal(spool.accounts, 2);
    assert_int_equal(spool.bad, 1);
}

// Open calls (one event): two frames, of edges with the counters 10 and 20; the program has
// executed 100 instructions, and 30 and 70 when it called. The complement of n is -1 - n.
static void open_calls(uint32_t slot, uint64_t below, uint64_t flags)
{
    const uint64_t first = SPOOL_STACKS_OFF + spool_stack_at(slot);
    struct spool_open_call f = { .counter = below ? 10 : 20, .before = { ~UINT64_C(30) } };

    header.calls = 40;
    f.key = flags;
    assert_int_equal(pwrite(spool.fd, &f, 32, (off_t)first), 32);
    f = (struct spool_open_call){ .counter = 20, .before = { ~UINT64_C(70) }, .key = flags };
    assert_int_equal(pwrite(spool.fd, &f, 32, (off_t)(first + 32)), 32);
    counter(slot, 40, SPOOL_FRAMES_BASE + spool_stack_at(slot) + 32);
    counter(slot, 41, 100);
}

static void test_open_calls(void **state)
{
    (void)state;
    header.flags = SPOOL_F_CALLS;
    block(0x1000, 0, COUNTERS, 1, 0);
    open_calls(0, 1, SPOOL_FRAME_FILLED);
    counter(0, 11, 1000);
    read_counters();
    assert_int_equal(spool.counters[11], 1070);
    assert_int_equal(spool.counters[21], 30);
}

// The handler of a signal, in the second frame: below it are the totals as of then, 70.
static void test_open_handler(void **state)
{
    (void)state;
    header.flags = SPOOL_F_CALLS;
    block(0x1000, 0, COUNTERS, 1, 0);
    open_calls(0, 1, SPOOL_FRAME_SIGNAL);
    read_counters();
    assert_int_equal(spool.counters[11], 40);
    assert_int_equal(spool.counters[21], 30);
}

// A frame whose edge has no counters ends the search; the last counter is sound.
static void test_open_calls_damaged(void **state)
{
    struct spool_open_call f = { .counter = COUNTERS - 2, .before = { ~UINT64_C(70) } };

    (void)state;
    header.flags = SPOOL_F_CALLS;
    block(0x1000, 0, COUNTERS, 1, 0);
    open_calls(0, 1, 0);
    assert_int_equal(pwrite(spool.fd, &f, 32, (off_t)(SPOOL_STACKS_OFF + 32)), 32);
    read_counters();
    assert_int_equal(spool.counters[COUNTERS - 1], 30);
    assert_int_equal(spool.counters[11], 70);
    f.counter++;
    assert_int_equal(pwrite(spool.fd, &f, 32, (off_t)(SPOOL_STACKS_OFF + 32)), 32);
    spool_counters_drop(&spool);
    read_counters();
    assert_int_equal(spool.counters[11], 0);
    // An address that is not a multiple of a frame's size, and one behind the stack.
    f.counter = 20;
    assert_int_equal(pwrite(spool.fd, &f, 32, (off_t)(SPOOL_STACKS_OFF + 32)), 32);
    counter(0, 40, SPOOL_FRAMES_BASE + 33);
    spool_counters_drop(&spool);
    read_counters();
    assert_int_equal(spool.counters[21], 0);
    counter(0, 40, SPOOL_FRAMES_BASE + SPOOL_DEEP_SIZE);
    spool_counters_drop(&spool);
    read_counters();
    assert_int_equal(spool.counters[21], 0);
}

// A saved stack of two frames, then one that is free, then the last.
static void test_saved_stacks(void **state)
{
    const uint64_t first = SPOOL_STACKS_OFF + spool_stack_at(SPOOL_THREADS_MAX);
    struct spool_saved r = { .bytes = sizeof(r) + 64, .frames = 64, .totals = { 100 } };
    struct spool_open_call f = { .counter = 10, .before = { ~UINT64_C(30) } };
    uint64_t at = first;

    (void)state;
    header.flags = SPOOL_F_CALLS;
    header.calls = 40;
    block(0x1000, 0, COUNTERS, 1, 0);
    counter(0, 0, 1);
    assert_int_equal(pwrite(spool.fd, &r, sizeof(r), (off_t)at), sizeof(r));
    assert_int_equal(pwrite(spool.fd, &f, 32, (off_t)(at + sizeof(r))), 32);
    f.counter = 20;
    assert_int_equal(pwrite(spool.fd, &f, 32, (off_t)(at + sizeof(r) + 32)), 32);
    at += r.bytes;
    r.frames = 0;
    assert_int_equal(pwrite(spool.fd, &r, sizeof(r), (off_t)at), sizeof(r));
    assert_int_equal(pwrite(spool.fd, &f, 32, (off_t)(at + sizeof(r))), 32);
    at += r.bytes;
    r.frames = 32;
    r.bytes = sizeof(r) + 32;
    assert_int_equal(pwrite(spool.fd, &r, sizeof(r), (off_t)at), sizeof(r));
    f.counter = 30;
    assert_int_equal(pwrite(spool.fd, &f, 32, (off_t)(at + sizeof(r))), 32);
    read_counters();
    assert_int_equal(spool.counters[11], 70);
    assert_int_equal(spool.counters[21], 70);
    assert_int_equal(spool.counters[31], 70);
    // Of another thread alone they are not.
    header.threads_used = 2;
    assert_true(ftruncate(spool.fd, (off_t)(at + 4096)) == 0);
    counter(1, 0, 1);
    assert_true(spool_counters_thread(&spool, 1));
    assert_int_equal(spool.counters[11], 0);
    assert_true(spool_counters_thread(&spool, 0));
    assert_int_equal(spool.counters[11], 70);
}

// A spool is 300 GiB of holes.
static int lift_limit(void **state)
{
    struct rlimit most;

    (void)state;
    if (getrlimit(RLIMIT_FSIZE, &most) != 0)
        return -1;
    most.rlim_cur = most.rlim_max;
    return setrlimit(RLIMIT_FSIZE, &most);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_blocks, begin, end),
        cmocka_unit_test_setup_teardown(test_partial, begin, end),
        cmocka_unit_test_setup_teardown(test_damaged_partial, begin, end),
        cmocka_unit_test_setup_teardown(test_partial_sum, begin, end),
        cmocka_unit_test_setup_teardown(test_damaged_blocks, begin, end),
        cmocka_unit_test_setup_teardown(test_impossible, begin, end),
        cmocka_unit_test_setup_teardown(test_sum, begin, end),
        cmocka_unit_test_setup_teardown(test_threads, begin, end),
        cmocka_unit_test_setup_teardown(test_shared, begin, end),
        cmocka_unit_test_setup_teardown(test_contexts, begin, end),
        cmocka_unit_test_setup_teardown(test_accounts_at_their_bound, begin, end),
        cmocka_unit_test_setup_teardown(test_accounts_of_one_place, begin, end),
        cmocka_unit_test_setup_teardown(test_open_calls, begin, end),
        cmocka_unit_test_setup_teardown(test_open_handler, begin, end),
        cmocka_unit_test_setup_teardown(test_open_calls_damaged, begin, end),
        cmocka_unit_test_setup_teardown(test_saved_stacks, begin, end),
    };

    return cmocka_run_group_tests(tests, lift_limit, NULL);
}
