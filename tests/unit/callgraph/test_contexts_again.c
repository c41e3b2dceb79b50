// SPDX-License-Identifier: MIT
// engine/callgraph/contexts.c for a program that maps code again and again: each new mapping may
// invalidate all that is known of addresses, and new entries reuse the memory of old ones.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/heap.h"
#include "engine/callgraph/contexts.h"
#include "engine/callgraph/edges.h"
#include "engine/callgraph/functions.h"
#include "engine/callgraph/patterns.h"
#include "engine/codecache/tcache.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"

static struct spool_header head;
struct spool_header *spool = &head;
struct tb_config tb_config = { .contexts = true, .calls_top = 4, .calls_frame = 64 };
u64 spooler_maps_named;

static u64 in_use; // heap bytes in use
static u32 given = 32, questions;

void *heap_pages(u64 n)
{
    return calloc(1, n);
}

void *heap_alloc(u64 n)
{
    in_use += n;
    return calloc(1, n);
}

void heap_free(void *p, u64 n)
{
    in_use -= n;
    free(p);
}

u32 spooler_counters(u32 n)
{
    given += n;
    return given - n;
}

// Edges: any with the same target is the same.
static struct spool_edge known_edge[64];
static u32 edges;

struct spool_edge *spooler_edge_at(u32 i)
{
    return &known_edge[i];
}

struct spool_edge *edges_record(const struct spool_edge *e, u32 n)
{
    u32 i = 0;

    (void)n;
    while (i < edges && (known_edge[i].kind != e->kind || known_edge[i].target != e->target ||
                         known_edge[i].from != e->from))
        i++;
    assert_true(i < 64);
    if (i == edges)
        known_edge[edges++] = *e;
    return &known_edge[i];
}

struct spool_edge *edges_at(u32 counter)
{
    (void)counter;
    abort();
}

static u32 modules = 1; // that take turns
static u64 shift;       // of the starts of functions

struct function functions_at(u64 addr)
{
    questions++;
    return (struct function){ .start = (addr & ~0xffful) + shift,
                              .map = (u32)(spooler_maps_named % modules) };
}

void tcache_lock(void) {}

void tcache_unlock(void) {}

void patterns_init(void) {}

bool patterns_has(const char *kinds)
{
    return kinds == NULL;
}

struct patterns patterns_of(u64 mask)
{
    return (struct patterns){ .callers = (u32)mask, .recs = 1 };
}

// -- a thread with two calls open --

static u64 counters[4096];
static struct thread thread = { .counters = counters };
static _Alignas(64) u8 stack[3][64];

// A mapping is recorded, and a function at 0x5000 calls one at 0x7000.
static void one_round(void)
{
    struct spool_frame *root = (struct spool_frame *)stack[0];
    const struct contexts_way first = { SPOOL_EDGE_ROOT, 0, 0x5010, 0 };
    const struct contexts_way call = { SPOOL_EDGE_CALL, 0x5020, 0x7000, 5 };
    struct spool_frame_context mine;

    spooler_maps_named++;
    for (u32 twice = 0; twice < 2; twice++) {
        contexts_enter(&thread, NULL, &first, 0, contexts_of(root));
        contexts_enter(&thread, root, &call, 1, &mine);
        counters[contexts_of(root)->depth] = counters[mine.depth] = 0; // both end
    }
}

// 10,000 rounds use as much memory as two.
static void expect_no_more(void)
{
    u64 use;
    u32 asked, took;

    one_round();
    one_round();
    use = in_use;
    took = given;
    asked = questions;
    for (u32 i = 0; i < 10000; i++)
        one_round();
    assert_int_equal(in_use, use);
    assert_int_equal(given, took);
    // The root, the call's target and its site.
    assert_int_equal(questions - asked, 3 * 10000);
}

static void test_one_module(void **state)
{
    (void)state;
    contexts_init();
    expect_no_more();
}

// Each function keeps its number, whatever was mapped there in between.
static void test_two_modules(void **state)
{
    (void)state;
    modules = 2;
    expect_no_more();
    modules = 1;
}

// The lock-free entries have the last 13 bits of the number of recorded mappings.
static void test_numbers_go_round(void **state)
{
    u64 turn = 0x2000;

    (void)state;
    spooler_maps_named = 9 * turn + 5;
    assert_int_equal(contexts_function_at(0x20010), 0x20000);
    shift = 8;
    assert_int_equal(contexts_function_at(0x20010), 0x20000);
    spooler_maps_named++;
    assert_int_equal(contexts_function_at(0x20010), 0x20008);
    spooler_maps_named = 10 * turn + 2;
    contexts_function_at(0x30020);
    shift = 12;
    spooler_maps_named = 10 * turn + 5;
    assert_int_equal(contexts_function_at(0x20010), 0x2000c);
    spooler_maps_named++;
    assert_int_equal(contexts_function_at(0x20010), 0x2000c);
    shift = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_module),
        cmocka_unit_test(test_two_modules),
        cmocka_unit_test(test_numbers_go_round),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
