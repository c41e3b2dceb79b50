// SPDX-License-Identifier: MIT
//
// cli/control/control_show.c: what is printed of spools that are known. f1 at 0x1100 is executed 10
// times, calls f2 at 0x1200 through a register; both are in a module whose functions are named by
// the page of 256 bytes.
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

#include "cli/control/control.h"
#include "finish/spool/spool.h"
#include "symbols/symbols.h"

static struct control control;
static struct control_run run;
static uint32_t slots;

// ---- Symbols ----

struct symbols *symbols_new(const struct symbols_options *o)
{
    (void)o;
    return (struct symbols *)&slots;
}

void symbols_free(struct symbols *s)
{
    (void)s;
}

struct symbols_module *symbols_file(struct symbols *s, const struct symbols_file *f)
{
    assert_string_equal(f->path, "/p");
    return (struct symbols_module *)s;
}

uint64_t symbols_address(struct symbols_module *m, uint64_t file_offset)
{
    (void)m;
    return file_offset;
}

void symbols_find(struct symbols_module *m, uint64_t address, struct symbols_place *out)
{
    (void)m;
    out->function = address >> 8 & 15;
}

const char *symbols_string(const struct symbols *s, uint32_t number)
{
    static char name[8];

    (void)s;
    snprintf(name, sizeof(name), "f%u", number);
    return name;
}

// ---- Spools ----

static void put(uint64_t at, const void *from, size_t size)
{
    assert_int_equal(pwrite(run.fd, from, size, (off_t)at), size);
}

static void counter(uint32_t slot, uint32_t number, uint64_t value)
{
    put(spool_counters_at(slot) + number * 8, &value, 8);
}

static void edge(enum spool_edge_kind kind, uint64_t site, uint64_t target, uint32_t at,
                 uint32_t plt)
{
    struct spool_edge e = { .kind = (uint8_t)kind,
                            .site = site,
                            .target = target,
                            .function = target,
                            .counter = at,
                            .plt = plt };

    put(SPOOL_EDGES_OFF + run.h.edges_used++ * sizeof(e), &e, sizeof(e));
}

static void frame(uint32_t slot, uint32_t number, uint32_t of, uint64_t before)
{
    struct spool_open_call f = { .counter = of, .before = { ~before } };

    put(SPOOL_STACKS_OFF + spool_stack_at(slot) + number * 32, &f, 32);
}

static void header(void)
{
    put(0, &run.h, sizeof(run.h));
}

// Threads: their slot, the last frame's number, instructions.
static void thread(uint32_t slot, uint32_t last, uint64_t insns)
{
    counter(slot, 100, SPOOL_FRAMES_BASE + spool_stack_at(slot) + last * 32);
    counter(slot, 101, insns);
}

static int begin(void **state)
{
    static const struct {
        struct spool_block block;
        struct spool_insn in[2];
    } code[] = {
        { { .pc = 0x1100, .counter = 0, .own = 200, .insns = 2 }, { { .len = 4 }, { .len = 4 } } },
        { { .pc = 0x1200, .counter = 1, .own = 200, .insns = 2 }, { { .len = 4 }, { .len = 4 } } },
    };
    const struct spool_map map = { .start = 0x1000, .end = 0x2000, .path = 1 };
    struct rlimit most;

    (void)state;
    getrlimit(RLIMIT_FSIZE, &most);
    most.rlim_cur = most.rlim_max; // a spool is 300 GiB of holes
    setrlimit(RLIMIT_FSIZE, &most);
    control = (struct control){ 0 };
    run = (struct control_run){ .pid = 7, .fd = memfd_create("spool", 0) };
    run.h = (struct spool_header){ .magic = SPOOL_MAGIC,
                                   .version = SPOOL_VERSION,
                                   .pid = 7,
                                   .flags = SPOOL_F_CALLS,
                                   .text_used = 4,
                                   .maps_used = 1,
                                   .blocks_used = sizeof(code),
                                   .block_count = 2,
                                   .counters_used = 200,
                                   .threads_used = 2,
                                   .calls = 100,
                                   .control.counts = 1 };
    assert_int_equal(ftruncate(run.fd, (off_t)(SPOOL_STACKS_OFF + SPOOL_STACKS_SIZE)), 0);
    put(SPOOL_TEXT_OFF, "\0/p", 4);
    put(SPOOL_MAPS_OFF, &map, sizeof(map));
    put(SPOOL_BLOCKS_OFF, code, sizeof(code));
    counter(0, 0, 10);
    counter(1, 1, 3);
    return 0;
}

static int end(void **state)
{
    (void)state;
    close(run.fd);
    return 0;
}

static void shows(const char *expected)
{
    static char is[8192];
    int old, fd = memfd_create("output", 0);

    header();
    fflush(stdout);
    old = dup(STDOUT_FILENO);
    dup2(fd, STDOUT_FILENO);
    assert_true(control_show(&control, &run));
    fflush(stdout);
    dup2(old, STDOUT_FILENO);
    close(old);
    memset(is, 0, sizeof(is));
    assert_true(pread(fd, is, sizeof(is) - 1, 0) >= 0);
    close(fd);
    assert_string_equal(is, expected);
}

// ---- Tests ----

// Thread 1 has executed 100 instructions and has three open calls: its start, f1, and since 60 f2;
// 4 of the calls of f2 at its site are by a register, and of the direct ones at 0x1104 all 10
// executions but one. Thread 2 has one.
static void test_stacks(void **state)
{
    (void)state;
    control.back = control.events = true;
    edge(SPOOL_EDGE_ROOT, 0, 0x1000, 10, 0);
    edge(SPOOL_EDGE_INDIRECT, 0x1004, 0x1100, 20, 0);
    edge(SPOOL_EDGE_CALL, 0x1104, 0x1200, 30, 0);
    counter(0, 20, 4);
    counter(0, 30, (uint64_t)-1);
    frame(0, 0, 10, 0);
    frame(0, 1, 20, 5);
    frame(0, 2, 30, 60);
    thread(0, 2, 100);
    frame(1, 0, 10, 0);
    thread(1, 0, 1234);
    shows("\n"
          "  Totals:   Ir \n"
          "   Th 1    100 \n"
          "   Th 2  1,234 \n"
          "\n"
          "  Frame: Ir Backtrace for Thread 1\n"
          "   [ 0]  40 f2 (9 x)\n"
          "   [ 1]  95 f1 (4 x)\n"
          "   [ 2]   . 0x0000000000001000\n"
          "\n"
          "\n"
          "  Frame: Ir Backtrace for Thread 2\n"
          "   [ 0]   . 0x0000000000001000\n"
          "\n");
}

// Without the events; an address in no module, and a linkage table's entry with and without a
// target.
static void test_linkage_table(void **state)
{
    (void)state;
    control.back = true;
    edge(SPOOL_EDGE_INDIRECT, 0x1004, 0x1510, 10, 1);
    edge(SPOOL_EDGE_INDIRECT, 0x1004, 0x1520, 20, 1);
    edge(SPOOL_EDGE_PLT, 0x1510, 0x1300, 0, 0);
    edge(SPOOL_EDGE_PLT, 0x1520, 0, 0, 0);
    edge(SPOOL_EDGE_SKIPPED, 0x1004, 0x1600, 30, 0);
    counter(0, 10, 2);
    frame(0, 0, 10, 0);
    frame(0, 1, 20, 5);
    frame(0, 2, 30, 5);
    frame(0, 3, 40, 5); // of no edge
    thread(0, 3, 100);
    shows("\n"
          "  Frame: Backtrace for Thread 1\n"
          "   [ 0]  f6 (0 x)\n"
          "   [ 1]  f5 (0 x)\n"
          "   [ 2]  f3 (2 x)\n"
          "\n");
}

// A stack's last frame is in its slot: one address more is none.
static void test_beyond_the_stack(void **state)
{
    const uint32_t last = SPOOL_DEEP_SIZE / 32 - 1;

    (void)state;
    control.back = true;
    edge(SPOOL_EDGE_INDIRECT, 0x1004, 0x1100, 10, 0);
    frame(0, last, 10, 0);
    frame(0, last + 1, 10, 0); // the first one of the next slot
    thread(0, last, 100);
    // All below it are empty, too: holes are read as frames of counter 0, which no edge has. The
    // last 100 are read.
    shows("\n"
          "  Frame: Backtrace for Thread 1\n"
          "   [ 0]  f1 (0 x)\n"
          "\n");
    thread(0, last + 1, 100);
    shows("\n"
          "  Frame: Backtrace for Thread 1\n"
          "\n");
}

// A thread that has not begun has no totals.
static void test_totals(void **state)
{
    (void)state;
    control.events = true;
    thread(1, 0, 1234567);
    shows("\n"
          "  Totals:       Ir \n"
          "   Th 2  1,234,567 \n"
          "\n");
    control.names = "Dr,Ir,Ir";
    shows("\n"
          "  Totals:       Ir        Ir \n"
          "   Th 2  1,234,567 1,234,567 \n"
          "\n");
    control.names = "I";
    shows("\n"
          "  Totals:\n"
          "   Th 2  \n"
          "\n");
}

// Executions of direct calls are those of their sites, less those that were none; of functions each
// beginning counts once, linkage tables not.
static void test_statistics(void **state)
{
    (void)state;
    control.stat = true;
    edge(SPOOL_EDGE_ROOT, 0, 0x1000, 10, 0);
    edge(SPOOL_EDGE_CALL, 0x1104, 0x1200, 12, 0);
    edge(SPOOL_EDGE_CALL, 0x1204, 0x1200, 14, 0); // executed 3 times
    edge(SPOOL_EDGE_INDIRECT, 0x1204, 0x1510, 16, 1);
    edge(SPOOL_EDGE_JUMP, 0x1204, 0x1300, 18, 0);
    edge(SPOOL_EDGE_JUMP, 0x1204, 0x1300, 200, 0); // no such counter
    edge(SPOOL_EDGE_SKIPPED, 0x1204, 0x1400, 20, 0);
    edge(SPOOL_EDGE_DORMANT, 0x1204, 0x1500, 22, 0); // of an earlier run
    counter(0, 12, (uint64_t)-2);
    counter(1, 16, 5);
    counter(0, 18, 100);
    counter(0, 20, 1000);
    thread(0, 0, 1);
    shows("  Number of running threads: 1, thread IDs: 1\n"
          "  Events collected: Ir\n"
          "  Functions: 3 (executed 116, contexts 3)\n"
          "  Basic blocks: 2 (executed 13, call sites 5)\n"
          "\n");
    edge(SPOOL_EDGE_CONTEXT, 0, 0x1000, 0, 0);
    shows("  Number of running threads: 1, thread IDs: 1\n"
          "  Events collected: Ir\n"
          "  Functions: 3 (executed 116, contexts 1)\n"
          "  Basic blocks: 2 (executed 13, call sites 5)\n"
          "\n");
}

// Nothing is shown of a run that does not count.
static void test_off(void **state)
{
    (void)state;
    run.h.control.counts = 0;
    control.stat = true;
    shows("  No information available as instrumentation is switched off.\n"
          "\n");
    // Without calls there are counts all the same.
    run.h.flags = 0;
    control.back = true;
    control.events = true;
    shows("  Number of running threads: 2, thread IDs: 1 2\n"
          "  Events collected: Ir\n"
          "  Basic blocks: 2 (executed 13)\n"
          "\n"
          "  Totals:Ir \n"
          "   Th 1  20 \n"
          "   Th 2   6 \n"
          "  No call stacks: `quern run --calls=yes` records them.\n"
          "\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_stacks, begin, end),
        cmocka_unit_test_setup_teardown(test_linkage_table, begin, end),
        cmocka_unit_test_setup_teardown(test_beyond_the_stack, begin, end),
        cmocka_unit_test_setup_teardown(test_totals, begin, end),
        cmocka_unit_test_setup_teardown(test_statistics, begin, end),
        cmocka_unit_test_setup_teardown(test_off, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
