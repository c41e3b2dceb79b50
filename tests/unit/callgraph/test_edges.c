// SPDX-License-Identifier: MIT
// engine/callgraph/edges.c: what makes two edges the same, how many counters each has, and that all
// are found again. Functions are 0x1000 bytes each, those from 0x70000 on a linkage table; a table
// of edges is half full when it has 2048, and doubles then.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/heap.h"
#include "engine/callgraph/functions.h"
#include "tests/unit/callgraph/edges_fakes.h"
#include "tests/unit/thread/waiter.h"

enum { EVENTS = 3, FIRST = 10 };

static u64 asked[4]; // addresses passed to functions_at()
static u32 asks;
static u64 tables[8]; // bytes of tables that were allocated, and freed
static u32 made, given;

void *heap_alloc(u64 bytes)
{
    assert_true(made < 8);
    tables[made++] = bytes;
    return calloc(1, bytes);
}

void heap_free(void *p, u64 bytes)
{
    assert_true(tables[given++] == bytes);
    free(p);
}

struct function functions_at(u64 addr)
{
    struct function f = { .start = addr & ~0xffful, .map = module };

    assert_int_equal(locked, 1);
    if (asks < 4)
        asked[asks] = addr;
    asks++;
    f.plt = f.start == 0x70000;
    return f;
}

static int begin(void **state)
{
    (void)state;
    header = (struct spool_header){ 0 };
    tb_config = (struct tb_config){ .calls_events = EVENTS };
    counters_used = FIRST;
    module = 5;
    made = given = 0;
    edges_init();
    assert_int_equal(made, 1);
    assert_int_equal(tables[0], 4096 * 4);
    return 0;
}

static struct spool_edge *get(enum spool_edge_kind kind, u64 site, u64 target)
{
    struct spool_edge *e;

    tcache_lock();
    asks = 0;
    e = edges_get(kind, site, 5, target);
    tcache_unlock();
    return e;
}

// How many counters it has; which addresses are looked up.
static void expect_get(enum spool_edge_kind kind, u64 site, u64 target, u32 n, u32 functions)
{
    u32 at = counters_used;
    const struct spool_edge *e = get(kind, site, target);

    assert_true(e == &record[header.edges_used - 1]);
    assert_int_equal(e->counter, at);
    assert_int_equal(counters_used - at, n);
    assert_int_equal(asks, functions);
    if (site)
        assert_true(asked[0] == site);
    assert_true(e->kind == kind && e->site == site && e->target == target && e->len == 5);
    assert_int_equal(e->site_map, site ? 5 : 0);
    assert_true(get(kind, site, target) == e);
}

static void test_counters(void **state)
{
    (void)state;
    expect_get(SPOOL_EDGE_CALL, 0x1010, 0x2000, 1 + EVENTS, 2);
    assert_true(record[0].function == 0x2000 && record[0].target_map == 5 && record[0].plt == 0);
    expect_get(SPOOL_EDGE_INDIRECT, 0x1010, 0x2040, 1 + EVENTS, 2);
    assert_true(record[1].function == 0x2000);
    expect_get(SPOOL_EDGE_CALL, 0x1010, 0, 1 + EVENTS, 2); // by a null pointer
    expect_get(SPOOL_EDGE_ROOT, 0, 0x2000, 1 + EVENTS, 1);
    expect_get(SPOOL_EDGE_ROOT, 0, 0, 1 + EVENTS, 1);
    expect_get(SPOOL_EDGE_CALL, 0x1010, 0x70020, 1 + 2 * EVENTS, 2);
    assert_int_equal(record[5].plt, 0x20070020);
    expect_get(SPOOL_EDGE_PLT, 0x70020, 0, 0, 1);
    assert_true(record[6].target_map == 0 && record[6].function == 0);
    expect_get(SPOOL_EDGE_GOTO, 0x1010, 0x1020, 0, 2);
    expect_get(SPOOL_EDGE_BRANCH, 0x1010, 0x1020, 1, 2);
    expect_get(SPOOL_EDGE_TABLE, 0x1010, 0x1020, 1, 2);
    expect_get(SPOOL_EDGE_SYSCALL, 0x1010, 0, 1 + EVENTS, 1);
    assert_int_equal(edges_plt_number(0x123450070020), 0x30070020 & 0x3fffffff);
}

// One that is equal in all of these; and one for which another module was mapped.
static void test_same(void **state)
{
    const struct spool_edge like = { .kind = SPOOL_EDGE_CALL,
                                     .site = 0x1010,
                                     .target = 0x2000,
                                     .site_map = 5,
                                     .target_map = 6,
                                     .from = 7,
                                     .to = 8 };
    struct spool_edge e = like;
    const struct spool_edge *first = edges_record(&like, 4);

    (void)state;
    assert_true(edges_record(&like, 4) == first);
    assert_int_equal(counters_used, FIRST + 4);
#define OTHER(field)                                                        \
    do {                                                                    \
        e = like;                                                           \
        e.field++;                                                          \
        assert_true(edges_record(&e, 1) == &record[header.edges_used - 1]); \
        assert_true(edges_record(&like, 4) == first);                       \
        assert_true(edges_record(&e, 1) == &record[header.edges_used - 1]); \
    } while (0)
    OTHER(kind);
    OTHER(site);
    OTHER(target);
    OTHER(from);
    OTHER(to);
    assert_int_equal(header.edges_used, 6);
    e = like;
    e.site_map++;
    assert_true(edges_record(&e, 1) == &record[6]);
    assert_true(edges_record(&e, 1) == &record[6]);
    e.target_map++;
    assert_true(edges_record(&e, 1) == &record[7]);
    // An edge without a site, in any map; an entry of a linkage table, whatever it leads to.
    e = (struct spool_edge){ .kind = SPOOL_EDGE_ROOT, .target = 0x2000 };
    assert_true(edges_record(&e, 1) == &record[8]);
    e.site_map++;
    assert_true(edges_record(&e, 1) == &record[8]);
    e = (struct spool_edge){ .kind = SPOOL_EDGE_PLT, .site = 0x70020 };
    assert_true(edges_record(&e, 1) == &record[9]);
    e.target = 0x3000;
    e.target_map = 9;
    assert_true(edges_record(&e, 1) == &record[9]);
}

// A helper takes the translation lock only for a new edge.
static void test_of(void **state)
{
    const struct spool_edge *e;

    (void)state;
    locks = 0;
    e = edges_of(SPOOL_EDGE_CALL, 0x1010, 3, 0x2000);
    assert_true(locks == 1 && locked == 0);
    assert_true(e == &record[0] && e->len == 3 && e->site_map == 5);
    assert_true(edges_of(SPOOL_EDGE_CALL, 0x1010, 3, 0x2000) == e);
    assert_int_equal(locks, 1);
    assert_true(edges_of(SPOOL_EDGE_INDIRECT, 0x1010, 3, 0x2000) == &record[1]);
    assert_int_equal(locks, 2);
}

static void test_functions(void **state)
{
    struct spool_edge *e = get(SPOOL_EDGE_PLT, 0x70020, 0);
    bool plt = false;

    (void)state;
    assert_true(edges_function(0x70020, &plt) == 0x70000);
    assert_true(plt && locked == 0);
    assert_true(edges_function(0x2345, &plt) == 0x2000);
    assert_false(plt);
    // The target of an entry is noted once.
    edges_plt_known(e, 0x2000, 0x2040);
    assert_true(e->target == 0x2000 && e->function == 0x2040);
    edges_plt_known(e, 0x3000, 0x3040);
    assert_true(e->target == 0x2000 && e->function == 0x2040);
}

// Edges 0 and 2 have counters from 10 and 14 on, those between them and after them none.
static void test_at(void **state)
{
    (void)state;
    get(SPOOL_EDGE_CALL, 0x1010, 0x2000);
    assert_true(edges_at(10) == &record[0]);
    get(SPOOL_EDGE_GOTO, 0x1010, 0x1020);
    get(SPOOL_EDGE_CALL, 0x1020, 0x2000);
    get(SPOOL_EDGE_BRANCH, 0x1030, 0x1040);
    get(SPOOL_EDGE_CALL, 0x1040, 0x2000);
    for (u32 i = 10; i < 14; i++)
        assert_true(edges_at(i) == &record[0]);
    for (u32 i = 14; i < 18; i++)
        assert_true(edges_at(i) == &record[2]);
    assert_true(edges_at(18) == &record[3]);
    for (u32 i = 19; i < 23; i++)
        assert_true(edges_at(i) == &record[4]);
    // A last one that has no counters gives its number to the next one.
    get(SPOOL_EDGE_GOTO, 0x1050, 0x1060);
    assert_true(edges_at(23) == &record[5]);
    get(SPOOL_EDGE_CALL, 0x1060, 0x2000);
    assert_true(edges_at(23) == &record[6]);
}

// What was found is found again, also where many have been found meanwhile, each with its own place
// or not; what takes the place of another one is searched.
static void test_found(void **state)
{
    const u32 many = ARRAY_SIZE(record) - 1;

    (void)state;
    for (u32 turn = 0; turn < 3; turn++)
        for (u32 i = 0; i < many; i++) {
            if (!turn)
                get(SPOOL_EDGE_CALL, 0x10000 + 16 * i, 0x2000);
            assert_true(edges_at(10 + 4 * i) == &record[i]);
        }
    for (u32 i = many; i-- > 0;)
        if (edges_at(10 + 4 * i) != &record[i] || edges_at(12 + 4 * i) != &record[i])
            fail();
}

// As edges are hashed now, with these numbers the first and the last place of a table are used.
static struct spool_edge numbered(u32 i)
{
    return (struct spool_edge){ .site = 0x1040 + i / 2, .target = 0x2000 + i % 2, .to = i % 3 };
}

// The first test: the number of edges is for all tests.
static void test_grows(void **state)
{
    struct spool_edge e;

    (void)state;
    for (u32 i = 0; i < 2048; i++) {
        e = numbered(i);
        assert_true(edges_record(&e, 1) == &record[i]);
    }
    assert_int_equal(made, 1);
    for (u32 i = 0; i < 2048; i++) {
        e = numbered(i);
        assert_true(edges_record(&e, 1) == &record[i]);
        // the first one looked for with a table that is half full makes it grow
        assert_int_equal(made, 2);
    }
    assert_true(given == 1 && tables[1] == 8192 * 4);
    assert_int_equal(header.edges_used, 2048);
    for (u32 i = 0; i < 4000; i++) { // others in the same places: no more space is needed
        e = numbered(i % 40);
        e.target_map = 1 + i / 40;
        edges_record(&e, 1);
    }
    assert_int_equal(header.edges_used, 6048);
    assert_int_equal(made, 2);
    for (u32 i = 40; i < 2048; i++) {
        e = numbered(i);
        assert_true(edges_record(&e, 1) == &record[i]);
    }
}

// Edges of an earlier run: 0 to 4 are dormant, and are found once they are awake.
static void sleeping(u32 i, enum spool_edge_kind kind, u64 site, u64 target)
{
    record[i] = (struct spool_edge){ .kind = SPOOL_EDGE_DORMANT,
                                     .awake = (u8)kind,
                                     .site = site,
                                     .target = target,
                                     .function = target,
                                     .counter = counters_used };
    counters_used += 1 + EVENTS;
    header.edges_used++;
}

static void test_wake(void **state)
{
    const struct spool_edge *e;

    (void)state;
    sleeping(0, SPOOL_EDGE_CALL, 0x1010, 0x2000);
    sleeping(1, SPOOL_EDGE_GOTO, 0x1020, 0x1028);
    sleeping(2, SPOOL_EDGE_PLT, 0x70020, 0);
    sleeping(3, SPOOL_EDGE_JUMP, 0x1030, 0x2000);
    sleeping(4, SPOOL_EDGE_JUMP, 0x1040, 0x2000);
    edges_wake(&record[0], 5);
    assert_true(record[0].kind == SPOOL_EDGE_CALL && record[0].site_map == 5);
    assert_int_equal(record[0].target_map, 5);
    assert_true(get(SPOOL_EDGE_CALL, 0x1010, 0x2000) == &record[0]);
    edges_wake(&record[2], 5);
    assert_true(record[2].kind == SPOOL_EDGE_PLT && record[2].site_map == 5);
    assert_int_equal(record[2].target_map, 0);
    assert_true(get(SPOOL_EDGE_PLT, 0x70020, 0) == &record[2]);
    assert_true(edges_at(FIRST + 2 * (1 + EVENTS)) == &record[2]);
    assert_int_equal(header.edges_used, 5);
    // One that this run has made, of a module that is gone.
    e = get(SPOOL_EDGE_JUMP, 0x1030, 0x2000);
    assert_true(e == &record[5] && edges_is_latest(e));
    edges_wake(&record[3], 6);
    assert_true(edges_is_latest(&record[3]) && !edges_is_latest(e));
    module = 6;
    assert_true(get(SPOOL_EDGE_JUMP, 0x1030, 0x2000) == &record[3]);
    module = 5;
    assert_true(get(SPOOL_EDGE_JUMP, 0x1040, 0x2000) == &record[6]);
    assert_int_equal(record[4].kind, SPOOL_EDGE_DORMANT);
    assert_false(edges_is_latest(&(struct spool_edge){ .site = 0x1050 }));
}

// With room for them, and the 2,048 of the first test, the table does not grow again. The second
// test.
static void test_expected(void **state)
{
    (void)state;
    edges_expect(2047);
    assert_int_equal(made, 1);
    edges_expect(5000);
    assert_int_equal(tables[made - 1], 16384 * 4);
    edges_expect(1);
    assert_int_equal(made, 3);
    for (u32 i = 0; i < 5000; i++)
        sleeping(i, SPOOL_EDGE_CALL, 0x10000 + i, 0x2000);
    for (u32 i = 0; i < 5000; i++)
        edges_wake(&record[i], 5);
    assert_int_equal(made, 3);
    for (u32 i = 0; i < 5000; i++)
        assert_true(get(SPOOL_EDGE_CALL, 0x10000 + i, 0x2000) == &record[i]);
}

static struct spool_edge *first, *second;

static void records_too(void)
{
    const struct spool_edge e = { .site = 0x1010, .target = 0x2000 };

    second = edges_record(&e, 1);
}

static bool waited;

static void another_records(void)
{
    waited = waiter_waits(records_too);
}

static void looks_too(void)
{
    second = edges_of(SPOOL_EDGE_CALL, 0x1010, 5, 0x2000);
}

static void another_looks(void)
{
    waited = waiter_waits(looks_too);
}

static void knows_too(void)
{
    static struct spool_edge e;

    edges_plt_known(&e, 1, 1);
}

static void another_knows(void)
{
    waited = waiter_waits(knows_too);
}

// Two threads that look up the same new edge at once get one.
static void test_locked(void **state)
{
    const struct spool_edge e = { .site = 0x1010, .target = 0x2000 };
    void (*const others[])(void) = { another_records, another_looks, another_knows };

    for (u32 i = 0; i < 3; i++) {
        begin(state);
        second = NULL;
        in_append = others[i];
        first = edges_record(&e, 1);
        waiter_end();
        assert_true(waited);
        assert_true(i == 2 || first == second);
        assert_int_equal(header.edges_used, 1);
    }
    in_append = edges_fork_child; // another thread of the parent held the lock
    edges_record(&(struct spool_edge){ .site = 0x1020 }, 1);
    edges_record(&e, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_grows, begin),    cmocka_unit_test_setup(test_expected, begin),
        cmocka_unit_test_setup(test_counters, begin), cmocka_unit_test_setup(test_same, begin),
        cmocka_unit_test_setup(test_of, begin),       cmocka_unit_test_setup(test_functions, begin),
        cmocka_unit_test_setup(test_at, begin),       cmocka_unit_test_setup(test_found, begin),
        cmocka_unit_test_setup(test_wake, begin),     cmocka_unit_test(test_locked),
    };

    return cmocka_run_group_tests_name("engine edges", tests, NULL, NULL);
}
