// SPDX-License-Identifier: MIT
//
// What is written without and with calls: finish/sums/sums.c, finish/output/output_lines.c,
// output_calls.c, output_parts.c, output_counts.c, and finish/spool/spool_curve.c.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "finish/output/output.h"
#include "sim/curve.h"
#include "tests/unit/finish/places_fakes.h"

static struct spool_map maps[] = {
    { .start = 0x1000, .end = 0x2000, .offset = 0x100, .path = 1 },
    { .start = 0x8000, .end = 0x9000, .flags = SPOOL_MAP_VDSO },
    { .start = 0xa000, .end = 0xb000, .flags = SPOOL_MAP_ANON },
};
static uint64_t counters[SPOOL_CURVE_COUNTERS + 8];
static struct spool_header header;
static struct spool_file spool;
static struct places places;
static struct sums sums;
static bool lacking;
static char path[] = "/tmp/quern-unit-lines-XXXXXX";

const struct symbols_body *places_body(struct places *p, uint32_t map, uint64_t pc, uint64_t *addr)
{
    (void)p, (void)map, (void)pc, (void)addr;
    return NULL;
}

char *spool_file_line(const char *text)
{
    return strdup(text ? text : "");
}

bool symbols_is_short(void)
{
    return lacking;
}

static int begin(void **state)
{
    (void)state;
    memset(counters, 0, sizeof(counters));
    lacking = false;
    header = (struct spool_header){ .pid = 7, .s_cmd = 4, .s_desc = 9 };
    spool = (struct spool_file){ .h = &header,
                                 .text = fake_text,
                                 .maps = maps,
                                 .maps_used = 3,
                                 .counters = counters,
                                 .counters_used = SPOOL_CURVE_COUNTERS + 8,
                                 .slot = SPOOL_ALL_THREADS };
    places = (struct places){ .s = &spool };
    strcpy(path, "/tmp/quern-unit-lines-XXXXXX");
    close(mkstemp(path));
    unlink(path);
    return 0;
}

static int end(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

static char *written(void)
{
    static char is[1 << 16];
    FILE *f = fopen(path, "r");

    memset(is, 0, sizeof(is));
    assert_non_null(f);
    (void)!fread(is, 1, sizeof(is) - 1, f);
    fclose(f);
    return is;
}

static void add(uint64_t pc, uint64_t executed)
{
    static const struct spool_walk_shape shape = { .known = 1 };
    struct spool_walk_insn in = { .pc = pc, .executed = executed, .shape = &shape };

    sums_add(&sums, &places, &in);
}

// Functions by file and name, the unknown one first; lines in order, whatever the order of code
// was. The caches' line has its value in a column, one without a colon is none.
static void test_lines(void **state)
{
    struct finish_totals totals = { 0 };
    char err[256];

    (void)state;
    sums_open(&sums, header.flags);
    add(0x1305, 10);
    add(0x1190, 7);
    add(0x1107, 123);
    add(0x1105, 9);
    add(0x1107, 1);
    add(0x1f01, 2);
    add(0x1a01, 3); // f10 is before f3
    add(0x1309, 1);
    add(0x1305, 5);
    assert_int_equal(output_lines(&spool, &places, &sums, &totals, path, err, sizeof(err)), 0);
    sums_close(&sums);
    assert_int_equal(totals.counts[FINISH_IR], 161);
    assert_string_equal(written(), "desc: I1 cache:         1 B\n"
                                   "desc: Trigger: x\n"
                                   "cmd: /lib\n"
                                   "events: Ir\n"
                                   "fl=a.c\n"
                                   "fn=???\n"
                                   "1 2\n"
                                   "fn=f1\n"
                                   "5 9\n"
                                   "7 124\n"
                                   "fn=f10\n"
                                   "1 3\n"
                                   "fn=f3\n"
                                   "5 15\n"
                                   "9 1\n"
                                   "fl=inc.h\n"
                                   "fn=f1\n"
                                   "16 7\n"
                                   "summary: 161\n");
}

// Sums at their bound, and one above: then no file is written.
static void test_sum_too_large(void **state)
{
    struct finish_totals totals = { 0 };
    char err[256];

    (void)state;
    header.s_desc = 0;
    sums_open(&sums, header.flags);
    add(0x1101, UINT64_MAX - 5);
    add(0x1102, 5);
    assert_int_equal(output_lines(&spool, &places, &sums, &totals, path, err, sizeof(err)), 0);
    assert_string_equal(written(), "cmd: /lib\n"
                                   "events: Ir\n"
                                   "fl=a.c\n"
                                   "fn=f1\n"
                                   "1 18446744073709551610\n"
                                   "2 5\n"
                                   "summary: 18446744073709551615\n");
    unlink(path);
    add(0x1103, 1);
    assert_int_equal(output_lines(&spool, &places, &sums, &totals, path, err, sizeof(err)), -1);
    assert_string_equal(strchr(err, ':'),
                        ": not written: a sum of counts of Ir does not fit 64 bits, so readers "
                        "would show nonsense");
    assert_int_equal(access(path, F_OK), -1);
    sums_close(&sums);
}

// More cells than the first table has space for: each function has 128 lines in each of two files.
static void test_many_cells(void **state)
{
    (void)state;
    header.flags = SPOOL_F_CACHE_SIM;
    sums_open(&sums, header.flags);
    assert_int_equal(sums.cell_size, sizeof(struct sums_cell) + (FINISH_DLMW + 1) * 8);
    for (int twice = 0; twice < 2; twice++)
        for (uint64_t pc = 0; pc < 0x1000; pc++)
            add(pc, pc + 1);
    assert_int_equal(sums.cells, 0x1000);
    for (uint64_t pc = 0; pc < 0x1000; pc++)
        assert_int_equal(sums_cell_at(&sums, pc)->counts[FINISH_IR], 2 * (pc + 1));
    sums_close(&sums);
}

static void calls(int status)
{
    struct finish_totals totals = { 0 };
    struct call_graph *g = call_graph_new(&spool, &places, &totals);
    struct spool_walk_insn in = { .pc = 0x1105, .executed = 3, .counts = { [FINISH_IR] = 3 } };
    char err[256];

    call_graph_add(g, &in);
    assert_int_equal(output_calls(&spool, &places, g, path, err, sizeof(err)), status);
    if (status)
        assert_string_equal(strchr(err, ':'), ": not written: out of memory");
    call_graph_free(g);
}

// The trigger has the blocks executed before and since the last part.
static void test_calls(void **state)
{
    (void)state;
    header.flags = SPOOL_F_CALLS | SPOOL_F_NO_IDS | SPOOL_F_NO_RELATIVE;
    header.n_blocks_dumped = 5;
    header.n_blocks_gone = 8;
    header.dumps = 1;
    spool.blocks_executed = 100;
    calls(0);
    assert_non_null(strstr(written(), "\npid: 7\n"));
    assert_string_equal(strstr(written(), "cmd:"), "cmd: /lib\n"
                                                   "part: 2\n"
                                                   "desc: I1 cache: 1 B\n"
                                                   "desc: Timerange: Basic block 5 - 108\n"
                                                   "desc: Trigger: x\n"
                                                   "positions: line\n"
                                                   "events: Ir\n"
                                                   "summary: 3\n"
                                                   "\n"
                                                   "ob=/p\n"
                                                   "fl=a.c\n"
                                                   "fn=f1\n"
                                                   "5 3\n"
                                                   "\n"
                                                   "totals: 3\n");
}

// A function's trigger has its name; of a map that is not there it stays as it is. No description:
// the program has ended. One thread of several has its number.
static void test_triggers(void **state)
{
    static const char text[] =
        "\0Trigger: --dump-before=@0:1205\0Trigger: --dump-after=@3:1205\0/p";

    (void)state;
    header.flags = SPOOL_F_CALLS | SPOOL_F_NO_LINES;
    header.s_cmd = 0;
    header.s_desc = 1;
    spool.text = text;
    maps[0].path = 62;
    spool.slot = 4;
    calls(0);
    assert_string_equal(strstr(written(), "cmd:"), "cmd: \n"
                                                   "part: 1\n"
                                                   "thread: 5\n"
                                                   "desc: Timerange: Basic block 0 - 0\n"
                                                   "desc: Trigger: --dump-before=f2\n"
                                                   "positions: line\n"
                                                   "events: Ir\n"
                                                   "summary: 3\n"
                                                   "\n"
                                                   "ob=(1) /p\n"
                                                   "fl=(1) a.c\n"
                                                   "fn=(1) f1\n"
                                                   "0 3\n"
                                                   "\n"
                                                   "totals: 3\n");
    header.s_desc = 32;
    calls(0);
    assert_non_null(strstr(written(), "\ndesc: Trigger: --dump-after=@3:1205\n"));
    header.s_desc = 0;
    calls(0);
    assert_non_null(strstr(written(), "\ndesc: Trigger: Program termination\n"));
    unlink(path);
    lacking = true;
    calls(-1);
    assert_int_equal(access(path, F_OK), -1);
    maps[0].path = 1;
}

// --combine-dumps=yes: the first part is a new file, the second is added to it.
static void test_parts(void **state)
{
    (void)state;
    header.flags = SPOOL_F_CALLS | SPOOL_F_COMBINE;
    calls(0);
    calls(0); // again a first one
    assert_null(strstr(written(), "part: 2"));
    header.dumps = 1;
    calls(0);
    assert_non_null(strstr(written(), "part: 1"));
    assert_non_null(strstr(written(), "part: 2"));
    header.flags = SPOOL_F_CALLS;
    calls(0);
    assert_null(strstr(written(), "part: 1"));
}

// Executions of each address: in order, of several blocks with it summed, but not of several maps.
static void test_counts(void **state)
{
    struct output_counts c = { .s = &spool };
    const struct spool_walk_insn in[] = {
        { .pc = 0x8001, .map = 1, .executed = 4 }, { .pc = 0x1010, .map = 0, .executed = 2 },
        { .pc = 0x1008, .map = 0, .executed = 1 }, { .pc = 0x1010, .map = 0, .executed = 5 },
        { .pc = 0x1010, .map = 2, .executed = 9 }, { .pc = 0x1010, .map = 0, .executed = 1 },
    };
    char err[256];

    (void)state;
    maps[2].start = 0x1000;
    for (size_t i = 0; i < 6; i++)
        output_counts_add(&c, &in[i]);
    assert_int_equal(output_counts(&c, path, err, sizeof(err)), 0);
    assert_string_equal(written(), "1008 1 /p+108\n"
                                   "1010 8 /p+110\n"
                                   "1010 9 [anonymous]+10\n"
                                   "8001 4 [vdso]+1\n");
    maps[2].start = 0xa000;
    c.count = 0;
    assert_int_equal(output_counts(&c, path, err, sizeof(err)), 0);
    assert_string_equal(written(), "");
    assert_int_equal(output_counts(&c, "/nowhere/x", err, sizeof(err)), -1);
    assert_string_equal(err, "/nowhere/x: cannot be written: No such file or directory");
    free(c.insn);
}

// References that hit caches of a size and larger ones alone: they miss in all smaller ones. Small
// sizes are of the first stack, the larger ones of the second; a larger cache never misses more.
static void test_curve(void **state)
{
    struct spool_curve_file f;
    uint32_t i, far = 0;

    (void)state;
    header.curve.on = 1;
    header.curve.counters = 3; // the first is number 2
    header.d1.line = 64;
    while (sim_curve_size(far) / 64 <= SPOOL_CURVE_NEAR)
        far++;
    counters[2 + spool_curve_counter(SPOOL_CURVE_READ, SPOOL_CURVE_SMALL, 1)] = 100;
    counters[2 + spool_curve_counter(SPOOL_CURVE_READ, SPOOL_CURVE_SMALL, SPOOL_CURVE_SIZES)] = 7;
    counters[2 + spool_curve_counter(SPOOL_CURVE_READ, SPOOL_CURVE_LARGE, SPOOL_CURVE_SIZES)] = 5;
    counters[2 + spool_curve_counter(SPOOL_CURVE_LL, SPOOL_CURVE_LARGE, SPOOL_CURVE_SIZES)] = 9;
    counters[2 + spool_curve_counter(SPOOL_CURVE_LL, SPOOL_CURVE_SMALL, 4)] = 3;
    assert_true(spool_curve_read(&spool, &f));
    assert_int_equal(f.misses[0][0], 107);
    assert_int_equal(f.misses[0][1], 7);
    assert_int_equal(f.misses[0][far - 1], 7);
    assert_int_equal(f.misses[0][far], 5);
    assert_int_equal(f.misses[0][SPOOL_CURVE_SIZES - 1], 5);
    for (i = 0; i < SPOOL_CURVE_SIZES; i++) // 0 from size 4 on, and so is what is larger
        assert_int_equal(f.misses[SPOOL_CURVE_LL][i], i < 4 ? 3 : 0);
    assert_int_equal(f.points, 0);
    // Lines touched: 0 is as many as before. 25 references in intervals of 10 are three points.
    header.curve.interval = 10;
    header.curve.refs = 25;
    header.curve.lines[0][0] = 4;
    header.curve.lines[0][2] = 6;
    header.curve.lines[1][1] = 2;
    assert_true(spool_curve_read(&spool, &f));
    assert_int_equal(f.points, 3);
    assert_int_equal(f.lines[0][1], 4);
    assert_int_equal(f.lines[0][2], 6);
    assert_int_equal(f.lines[1][0], 0);
    assert_int_equal(f.lines[1][2], 2);
    char *desc = spool_curve_desc(&spool);
    assert_non_null(strstr(desc, "Curve sample: 1\n"));
    assert_non_null(strstr(desc, "\nCurve D1mr: 107 7 7"));
    assert_non_null(strstr(desc, "\nCurve interval: 10\nCurve lines of data: 4 4 6\n"
                                 "Curve lines of code: 0 2 2\n"));
    free(desc);
    header.curve.refs = UINT64_C(1) << 40;
    assert_true(spool_curve_read(&spool, &f));
    assert_int_equal(f.points, SPOOL_CURVE_POINTS);
    // Damaged: a counter behind the last, a rate of 2^33.
    header.curve.counters = 9;
    assert_true(spool_curve_read(&spool, &f));
    header.curve.counters = 10;
    assert_false(spool_curve_read(&spool, &f));
    assert_null(spool_curve_desc(&spool));
    header.curve.counters = 3;
    header.curve.rate = 32;
    assert_true(spool_curve_read(&spool, &f));
    header.curve.rate = 33;
    assert_false(spool_curve_read(&spool, &f));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_lines, begin, end),
        cmocka_unit_test_setup_teardown(test_sum_too_large, begin, end),
        cmocka_unit_test_setup_teardown(test_many_cells, begin, end),
        cmocka_unit_test_setup_teardown(test_calls, begin, end),
        cmocka_unit_test_setup_teardown(test_triggers, begin, end),
        cmocka_unit_test_setup_teardown(test_parts, begin, end),
        cmocka_unit_test_setup_teardown(test_counts, begin, end),
        cmocka_unit_test_setup_teardown(test_curve, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
