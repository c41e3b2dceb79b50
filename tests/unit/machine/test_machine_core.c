// SPDX-License-Identifier: MIT
//
// [core] of a machine file: what its values give, and of every fault the place and the message;
// what the shipped file of Sapphire Rapids has. By hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "machine/machine.h"

// A whole file whose last section is [core]: each key has a line, in the order of core.def, after
// four that are not there. A key may be given in place of its line.
#define LEVEL(name, size) "[" name "]\nsize = " size "\nways = 8\nline = 64\nreplacement = lru\n"
#define LEVELS                                                                                  \
    "[machine]\ntitle = x\n" LEVEL("L1I", "32 KiB") LEVEL("L1D", "32 KiB") LEVEL("L2", "1 MiB") \
        LEVEL("LL", "2 MiB") "filling = miss\n"

static const char *const lines[][2] = {
    { "eliminate", "yes" },
    { "same_place", "no" },
    { "any_base", "yes" },
    { "fuse", "compare" },
#define CORE_NUMBER(field, least, most, what) { #field, #least },
#define CORE_CLASS(id, word, what)            { word, "3 1 p1" },
#include "share/core.def"
};
enum { LINES = sizeof(lines) / sizeof(*lines), FIRST_LINE = 25 };

static struct machine m;
static struct machine_error e;

// The line of a key, as the file has it.
static unsigned line_of(const char *key)
{
    for (unsigned i = 0; i < LINES; i++)
        if (strcmp(lines[i][0], key) == 0)
            return FIRST_LINE + i;
    return 0;
}

static bool reads(const char *levels, const char *key, const char *value)
{
    static char text[16384];
    size_t used = (size_t)snprintf(text, sizeof(text), "%s[core]\n", levels);

    for (unsigned i = 0; i < LINES; i++) {
        bool given = strcmp(lines[i][0], key) == 0;

        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s = %s\n", lines[i][0],
                                 given ? value : lines[i][1]);
    }
    if (!line_of(key) && *key)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s = %s\n", key, value);
    return machine_read(&m, text, used, &e);
}

static void refused(const char *key, const char *value, unsigned line, unsigned column,
                    const char *said)
{
    assert_false(reads(LEVELS, key, value));
    assert_string_equal(e.text, said);
    assert_int_equal(e.line, line);
    assert_int_equal(e.column, column);
}

static void is_cost(enum core_class class, unsigned latency, unsigned busy)
{
    assert_int_equal(m.core.cost[class].latency, latency);
    assert_int_equal(m.core.cost[class].busy, busy);
}

static void is_group(enum core_class class, unsigned g, unsigned n, unsigned ports)
{
    assert_int_equal(m.core.cost[class].group[g].n, n);
    assert_int_equal(m.core.cost[class].group[g].ports, ports);
}

static void test_values(void **state)
{
    (void)state;
    assert_true(reads(LEVELS, "", ""));
    assert_true(m.has_core);
    assert_int_equal(m.core.width, 1);
    assert_int_equal(m.core.rob, 16);
    assert_int_equal(m.core.eliminate, 1);
    assert_int_equal(m.core.same_place, 0);
    assert_int_equal(m.core.any_base, 1);
    assert_int_equal(m.core.fuse, CORE_FUSE_COMPARE);
    assert_int_equal(m.core.wide_ports, 0);
    is_cost(CORE_C_MUL, 3, 1);
    is_group(CORE_C_MUL, 0, 1, 1 << 1);
    is_group(CORE_C_MUL, 1, 0, 0);
    assert_true(reads(LEVELS, "wide_ports", "p05A"));
    assert_int_equal(m.core.wide_ports, 1 << 0 | 1 << 5 | 1 << 10);
    assert_true(reads(LEVELS, "rob", "1024"));
    assert_int_equal(m.core.rob, 1024);
    assert_true(reads(LEVELS, "fma", "12  500 p1+2*p0F+7+200*pA"));
    is_cost(CORE_C_FMA, 12, 500);
    is_group(CORE_C_FMA, 0, 1, 1 << 1);
    is_group(CORE_C_FMA, 1, 2, 1 << 0 | 1 << 15);
    is_group(CORE_C_FMA, 2, 7, 0);
    is_group(CORE_C_FMA, 3, 200, 1 << 10);
}

static void test_faults(void **state)
{
    static const char cost[] =
        "must be cycles of latency (0 to 1000), cycles until the next one (1 to 500), and up to "
        "four groups of micro-ops, as 3 1 p1 or 4 1 p1+2*p06 or 18 1 4";
    static const char *const costs[] = {
        "",         "3",       "3 1",        "3 1 ",    "1001 1 p0",   "3 0 p0",
        "3 501 p",  "3 1 p",   "3 1 q0",     "3 1 p0a", "3 1 p00",     "3 1 0",
        "3 1 0*p1", "3 1 201", "3 1 2*",     "3 1 p0+", "3 1 p0 + p1", "3 1 p0+p1+p2+p3+p4",
        "3 1 p0 ,", "x 1 p0",  "3 1 2*2*p0",
    };
    char said[256];

    (void)state;
    for (size_t i = 0; i < sizeof(costs) / sizeof(*costs); i++) {
        snprintf(said, sizeof(said), "mul = %s: %s", costs[i], cost);
        if (*costs[i] && costs[i][strlen(costs[i]) - 1] == ' ')
            snprintf(said, sizeof(said), "mul = 3 1: %s", cost);
        refused("mul", costs[i], line_of("mul"), *costs[i] ? 7 : 6, said);
    }
    refused("rob", "15", line_of("rob"), 7, "rob = 15: must be a whole number from 16 to 1024");
    refused("rob", "1025", line_of("rob"), 7, "rob = 1025: must be a whole number from 16 to 1024");
    refused("rob", "99999999999999999999", line_of("rob"), 7,
            "rob = 99999999999999999999: must be a whole number from 16 to 1024");
    refused("rob", "0x20", line_of("rob"), 7, "rob = 0x20: must be a whole number from 16 to 1024");
}

// What belongs together.
static void test_together(void **state)
{
    (void)state;
    refused("cached_lines", "12", FIRST_LINE - 1, 1,
            "[core]: cached_lines and targets must be multiples of 8; not 12 and 8");
    refused("targets", "9", FIRST_LINE - 1, 1,
            "[core]: cached_lines and targets must be multiples of 8; not 8 and 9");
    refused("cached_entry", "5", FIRST_LINE - 1, 1,
            "[core]: cached_entry must be no more than cached; not 5 and 1");
    assert_false(reads("[machine]\ntitle = x\n" LEVEL("L1I", "32 KiB") LEVEL("L1D", "32 KiB")
                           LEVEL("LL", "2 MiB") "filling = miss\n",
                       "", ""));
    assert_string_equal(e.text, "[core]: needs an L2 with lines of 64 bytes");
    refused(
        "mull", "3 1 p1", FIRST_LINE + LINES, 1,
        "mull: unknown key; [core] has eliminate, same_place, any_base, fuse, wide_ports, width, "
        "rob, scheduler, loads, stores, queue, decode, decode_bytes, cached, cached_entry, ...");
}

static void test_missing(void **state)
{
    static const char text[] =
        LEVELS "[core]\neliminate = no\nsame_place = no\nany_base = no\nfuse = no\n";

    (void)state;
    assert_false(machine_read(&m, text, sizeof(text) - 1, &e));
    assert_string_equal(e.text, "[core] has no width");
    assert_int_equal(e.line, FIRST_LINE - 1);
}

static void test_words(void **state)
{
    (void)state;
    refused("fuse", "all", line_of("fuse"), 8, "fuse = all: must be no, compare or arithmetic");
    refused("same_place", "rsp", line_of("same_place"), 14,
            "same_place = rsp: must be no, yes or stack");
    refused("eliminate", "1", line_of("eliminate"), 13, "eliminate = 1: must be no or yes");
    refused("wide_ports", "p", FIRST_LINE + LINES, 14,
            "wide_ports = p: must be p and the ports, each a digit from 0 to 9 or A to F, as p05A");
}

static void test_shipped(void **state)
{
    char path[512];

    (void)state;
    snprintf(path, sizeof(path), "%s/sapphire-rapids.machine", getenv("TEST_MACHINES"));
    assert_true(machine_file(&m, path, &e));
    assert_true(m.has_core);
    assert_int_equal(m.core.width, 6);
    assert_int_equal(m.core.fuse, CORE_FUSE_ARITHMETIC);
    is_cost(CORE_C_LOAD, 5, 1);
    is_group(CORE_C_LOAD, 0, 1, 1 << 2 | 1 << 3 | 1 << 11);
    is_cost(CORE_C_FDIV64, 13, 4);
    is_group(CORE_C_DIV64, 1, 3, 1 << 0 | 1 << 1 | 1 << 5 | 1 << 6 | 1 << 10);
    snprintf(path, sizeof(path), "%s/cachegrind.machine", getenv("TEST_MACHINES"));
    assert_true(machine_file(&m, path, &e));
    assert_false(m.has_core);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),   cmocka_unit_test(test_faults),
        cmocka_unit_test(test_together), cmocka_unit_test(test_missing),
        cmocka_unit_test(test_words),    cmocka_unit_test(test_shipped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
