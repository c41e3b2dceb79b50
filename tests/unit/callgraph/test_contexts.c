// SPDX-License-Identifier: MIT
// engine/callgraph/contexts.c: which function an address is in, what of its callers tells a call
// apart, and whom a function's blocks count for. Functions are 0x1000 bytes each; records are
// numbered as they are made, from 0 on, so that each number below is counted by hand.
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

enum { TOP = 4, EVENTS = 1, FIRST = 32, FRAME = 64 };

#define BEHIND 0x5a5a5a5a5a5a5a5aul

// -- fakes of what it calls --

static struct spool_header header;
struct spool_header *spool = &header;
struct tb_config tb_config;

static struct spool_edge record[32];
static u32 records, counters_used = FIRST;
static u32 asked;      // calls of functions_at()
static u64 *behind[8]; // the word after each piece of memory
static u32 areas;

void *heap_pages(u64 bytes)
{
    u64 *p = calloc(1, bytes + sizeof(*p));

    assert_non_null(p);
    p[bytes / sizeof(*p)] = BEHIND;
    behind[areas++] = &p[bytes / sizeof(*p)];
    return p;
}

void *heap_alloc(u64 bytes)
{
    return calloc(1, bytes);
}

void heap_free(void *p, u64 bytes)
{
    (void)bytes;
    free(p);
}

u64 spooler_maps_named;

u32 spooler_counters(u32 n)
{
    counters_used += n;
    return counters_used - n;
}

struct spool_edge *spooler_edge_at(u32 i)
{
    return &record[i];
}

struct spool_edge *edges_record(const struct spool_edge *e, u32 counters)
{
    struct spool_edge whole = *e;

    for (u32 i = 0; i < records; i++) {
        whole.counter = record[i].counter;
        if (memcmp(&record[i], &whole, sizeof(whole)) == 0)
            return &record[i];
    }
    assert_true(records < sizeof(record) / sizeof(*record));
    whole.counter = counters ? spooler_counters(counters) : 0;
    record[records] = whole;
    return &record[records++];
}

struct spool_edge *edges_at(u32 counter)
{
    for (u32 i = 0; i < records; i++)
        if (record[i].counter == counter)
            return &record[i];
    abort();
}

struct function functions_at(u64 addr)
{
    asked++;
    return (struct function){ .start = addr & ~0xffful, .map = 3 };
}

void tcache_lock(void) {}

void tcache_unlock(void) {}

void patterns_init(void) {}

bool patterns_has(const char *kinds)
{
    (void)kinds;
    return false;
}

struct patterns patterns_of(u64 mask)
{
    (void)mask;
    return (struct patterns){ .callers = 1, .recs = 2 };
}

// -- a thread --

static u64 counters[512];
static struct thread thread, *const t = &thread;
static _Alignas(64) u8 stack[8][FRAME];

static struct spool_frame *frame(u32 number)
{
    return (struct spool_frame *)stack[number];
}

// Frame `number` is opened by a call from site; returns its edge's number.
static u32 enter(u32 number, u64 site, u64 target)
{
    const struct contexts_way w = {
        .kind = site ? SPOOL_EDGE_CALL : SPOOL_EDGE_ROOT, .site = site, .target = target, .len = 5
    };
    struct spool_frame_context mine;
    const struct spool_edge *e =
        contexts_enter(t, number ? frame(number - 1) : NULL, &w, number, &mine);

    frame(number)->counter = e->counter;
    *contexts_of(frame(number)) = mine;
    return (u32)(e - record);
}

static int begin(void **state)
{
    (void)state;
    tb_config = (struct tb_config){
        .contexts = true, .calls_top = TOP, .calls_events = EVENTS, .calls_frame = FRAME
    };
    header.maps_used = spooler_maps_named = 1;
    t->counters = counters;
    contexts_init();
    assert_int_equal(areas, 3);
    return 0;
}

// A function that was found once is known, for any address in it, until the modules change; nothing
// else is forgotten.
static void test_functions(void **state)
{
    static const u64 at[] = { 0x1234, 0x1230, 0x51234, 0xffff };
    static const u32 maps[] = { 1, 2, 3, 0x2003, 0x3000 }; // its word has the lowest 13 bits

    (void)state;
    for (u32 n = 0; n < sizeof(maps) / sizeof(*maps); n++) {
        header.maps_used = spooler_maps_named = maps[n];
        asked = 0;
        for (u32 again = 0; again < 3; again++)
            for (u32 i = 0; i < sizeof(at) / sizeof(*at); i++)
                assert_int_equal(contexts_function_at(at[i]), at[i] & ~0xffful);
        assert_int_equal(asked, 4);
    }
    for (u32 i = 0; i < areas; i++)
        assert_true(*behind[i] == BEHIND);
}

// A (0xa000) calls B, and B itself; of callers one tells apart, and of levels two. Records: 0 the
// context of A, 1 its edge; 2 A as a caller; 3 B's context, 4 the call; 5 B's second level, 6 the
// call that goes there; of the third the context is that of the second, so it is only a call, 7.
static void test_calls(void **state)
{
    const struct spool_frame_context *m;

    (void)state;
    assert_int_equal(enter(0, 0, 0xa000), 1);
    m = contexts_of(frame(0));
    assert_int_equal(m->context, 1); // record 0, plus one
    assert_true(m->own == 0 && m->below == ~0u && m->flags == 0);
    assert_int_equal(counters[m->depth], 1);
    assert_int_equal(contexts_function(frame(0)), 0xa000);

    assert_int_equal(enter(1, 0xa010, 0xb000), 4);
    m = contexts_of(frame(1));
    assert_int_equal(m->context, 4);
    assert_true(m->own == 1 && m->below == 0);
    assert_int_equal(counters[m->depth], 1);
    assert_true(record[2].kind == SPOOL_EDGE_CONTEXT && record[2].function == 0xa000 &&
                record[2].to == 0);
    assert_true(record[3].function == 0xb000 && record[3].from == 3 && record[3].to == 1);
    assert_true(record[4].from == 1 && record[4].to == 4 && record[4].site == 0xa010 &&
                record[4].target_map == 3 && record[4].site_map == 3);

    // It is in the stack of functions once.
    assert_int_equal(enter(2, 0xb010, 0xb000), 6);
    m = contexts_of(frame(2));
    assert_int_equal(m->context, 6);
    assert_true(m->own == 1 && m->below == 0);
    assert_int_equal(counters[m->depth], 2);
    assert_true(record[5].function == 0xb000 && record[5].from == 3 && record[5].to == 2);

    assert_int_equal(enter(3, 0xb010, 0xb000), 7);
    m = contexts_of(frame(3));
    assert_int_equal(m->context, 6);
    assert_int_equal(counters[m->depth], 3);
    assert_true(record[7].from == 6 && record[7].to == 6);

    // The same calls again: nothing new is recorded, or looked up.
    counters[m->depth] = 0;
    asked = 0;
    assert_int_equal(enter(1, 0xa010, 0xb000), 4);
    assert_int_equal(enter(2, 0xb010, 0xb000), 6);
    assert_int_equal(enter(3, 0xb010, 0xb000), 7);
    assert_int_equal(records, 8);
    assert_int_equal(asked, 0);
    assert_int_equal(counters[m->depth], 3);
}

// The counts of B's blocks belong to its context: earlier counts move to the earlier context's
// account when B is entered again.
static void test_accounts(void **state)
{
    struct function b = { .start = 0xb000, .map = 3 };
    u32 n = records;

    (void)state;
    contexts_block(77, 400, 2, &b);
    assert_int_equal(records, n + 1);
    assert_true(record[n].kind == SPOOL_EDGE_PIECE && record[n].target == 77);
    assert_int_equal(contexts_function_at(0x123456789abc), 0x123456789000); // the lock is free
    contexts_settle(t, frame(1)); // B's first level: nothing was counted yet
    assert_int_equal(counters[record[n].to], 4);
    assert_int_equal(t->calls_context, 4);
    assert_int_equal(records, n + 1);
    counters[400] = 10;
    counters[401] = 20;
    contexts_settle(t, frame(1));
    assert_int_equal(counters[400], 10);
    contexts_settle(t, frame(2));
    assert_int_equal(records, n + 2);
    assert_true(record[n + 1].kind == SPOOL_EDGE_ACCOUNT && record[n + 1].target == 77 &&
                record[n + 1].to == 4);
    assert_int_equal(counters[record[n + 1].counter], 10);
    assert_int_equal(counters[record[n + 1].counter + 1], 20);
    assert_true(counters[400] == 0 && counters[401] == 0);
    assert_int_equal(t->calls_context, 6);
}

// Where nothing is collected the totals return to their old values.
static void test_toggle(void **state)
{
    (void)state;
    counters[TOP + 1] = 50;
    contexts_toggle(t, (u64)frame(0), frame(2));
    assert_int_equal(t->calls_context, SPOOL_CONTEXT_OFF);
    for (u32 i = 0; i < 3; i++)
        assert_int_equal(contexts_of(frame(i))->flags, SPOOL_FRAME_OFF);
    assert_int_equal(contexts_of(frame(3))->flags, 0);
    counters[TOP + 1] = 80;
    contexts_toggle(t, (u64)frame(0), frame(2));
    assert_int_equal(counters[TOP + 1], 50);
    assert_int_equal(t->calls_context, 6);
    counters[TOP + 1] = 90;
    contexts_thaw(counters);
    assert_int_equal(counters[TOP + 1], 90);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_accounts),
        cmocka_unit_test(test_toggle),
    };

    return cmocka_run_group_tests_name("engine contexts", tests, begin, NULL);
}
