// SPDX-License-Identifier: MIT
//
// finish/sums/call_graph.c: spools of a few edges, by hand, and the profiles that they make.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "finish/sums/call_graph.h"
#include "tests/unit/finish/places_fakes.h"

#define LARGE FINISH_COUNT_MAX
#define MOST  ((UINT64_C(1) << 63) - 1) // of an inclusive cost

static struct spool_map maps[] = {
    { .start = 0x1000, .end = 0x2000, .path = 1 },
    { .start = 0x8000, .end = 0x9000, .path = 4 },
    { .start = 0xa000, .end = 0xb000, .flags = SPOOL_MAP_ANON, .path = 1 },
    { .start = 0xc000, .end = 0xd000, .flags = SPOOL_MAP_VDSO },
};
static uint64_t counters[64];
static struct spool_edge edge[32];
static struct spool_header header;
static struct spool_file spool;
static struct finish_totals totals;
static struct call_graph *graph;
static const struct symbols_body *body; // of the function f2 inlined in others; NULL: none

// From line 0x20 on until the line's end.
const struct symbols_body *places_body(struct places *p, uint32_t map, uint64_t pc, uint64_t *addr)
{
    (void)p;
    (void)map;
    *addr = pc + FAKE_LINKED;
    return (pc & 255) < 0x20 ? NULL : body;
}

static int begin(void **state)
{
    (void)state;
    memset(counters, 0, sizeof(counters));
    memset(edge, 0, sizeof(edge));
    memset(&totals, 0, sizeof(totals));
    header = (struct spool_header){ .flags = SPOOL_F_CALLS };
    spool = (struct spool_file){ .h = &header,
                                 .text = fake_text,
                                 .maps = maps,
                                 .maps_used = 4,
                                 .edges = edge,
                                 .counters = counters,
                                 .counters_used = 64 };
    body = NULL;
    return 0;
}

// The next edge of this kind; its counters follow those of the last one.
static struct spool_edge *add_edge(enum spool_edge_kind kind, uint64_t site, uint64_t target,
                                   uint32_t counter, uint64_t calls, uint64_t cost)
{
    struct spool_edge *e = &edge[spool.edges_used++];

    *e = (struct spool_edge){ .kind = (uint8_t)kind,
                              .site = site,
                              .target = target,
                              .function = target,
                              .counter = counter,
                              .site_map = spool_file_map(&spool, site, 0),
                              .target_map = spool_file_map(&spool, target, 0) };
    counters[counter] = calls;
    if (!spool_edge_is_jump(kind))
        counters[counter + 1] = cost;
    return e;
}

static struct places places;

static void start(void)
{
    graph = call_graph_new(&spool, &places, &totals);
}

static void insn(uint64_t pc, uint64_t executed, bool plt, uint32_t context)
{
    struct spool_walk_insn in = { .map = spool_file_map(&spool, pc, 0),
                                  .pc = pc,
                                  .executed = executed,
                                  .counts = { [FINISH_IR] = executed },
                                  .plt = plt,
                                  .context = context };

    call_graph_add(graph, &in);
}

static void expect(uint64_t bad, const char *text)
{
    char *is;

    assert_int_equal(call_graph_finish(graph), 0);
    is = fake_written(call_graph_profile(graph));
    assert_string_equal(is, text);
    assert_int_equal(totals.bad_records, bad);
    free(is);
    call_graph_free(graph);
}

// f1 calls f2 directly at line 1: executed 3 times, once without becoming a call. At line 2 it
// calls f1 of the library, through a register; what is called there is executed nowhere. Edges of
// an earlier run are nothing.
static void test_calls(void **state)
{
    (void)state;
    add_edge(SPOOL_EDGE_DORMANT, 0x1101, 0x1203, 4, 1000, 1000)->awake = SPOOL_EDGE_CALL;
    add_edge(SPOOL_EDGE_DORMANT, 0x1102, 0x1203, 6, 1000, 1000)->awake = SPOOL_EDGE_INDIRECT;
    add_edge(SPOOL_EDGE_CALL, 0x1101, 0x1203, 0, (uint64_t)-1, 60);
    add_edge(SPOOL_EDGE_INDIRECT, 0x1102, 0x8104, 2, 7, 80);
    start();
    insn(0x1101, 3, false, 0);
    insn(0x1203, 20, false, 0);
    expect(0, "events: Ir\n"
              "summary: 23\n"
              "\n"
              "ob=/p\n"
              "fl=a.c\n"
              "fn=f1\n"
              "1 3\n"
              "cfn=f2\n"
              "calls=2 3\n"
              "1 60\n"
              "cob=/lib\n"
              "cfn=f1\n"
              "calls=7 4\n"
              "2 80\n"
              "\n"
              "fn=f2\n"
              "3 20\n"
              "\n"
              "totals: 23\n");
    assert_int_equal(totals.counts[FINISH_IR], 23);
}

// Calls and costs at their bounds: as many calls as no program makes are none, but the cost stays;
// a cost that is too large takes its call with it.
static void test_bounds(void **state)
{
    (void)state;
    add_edge(SPOOL_EDGE_INDIRECT, 0x1101, 0x1201, 0, LARGE - 1, 1);
    add_edge(SPOOL_EDGE_INDIRECT, 0x1102, 0x1201, 2, LARGE, 2);
    add_edge(SPOOL_EDGE_INDIRECT, 0x1103, 0x1201, 4, 3, MOST);
    add_edge(SPOOL_EDGE_INDIRECT, 0x1104, 0x1201, 6, 4, MOST + 1);
    add_edge(SPOOL_EDGE_INDIRECT, 0x1105, 0x1201, 8, 0, 0);
    start();
    expect(2, "events: Ir\n"
              "summary: 0\n"
              "\n"
              "ob=/p\n"
              "fl=a.c\n"
              "fn=f1\n"
              "cfn=f2\n"
              "calls=1152921504606846975 1\n"
              "1 1\n"
              "cfn=f2\n"
              "calls=0 1\n"
              "2 2\n"
              "cfn=f2\n"
              "calls=3 1\n"
              "3 9223372036854775807\n"
              "\n"
              "totals: 0\n");
}

// The sum of all costs is at most 2^64 - 1: the large ones come last, and the one that does not fit
// is left out.
static void test_large_come_last(void **state)
{
    (void)state;
    add_edge(SPOOL_EDGE_INDIRECT, 0x1101, 0x1201, 0, 1, MOST);
    add_edge(SPOOL_EDGE_INDIRECT, 0x1102, 0x1201, 2, 1, MOST - 1);
    add_edge(SPOOL_EDGE_INDIRECT, 0x1103, 0x1201, 4, 1, 1);
    add_edge(SPOOL_EDGE_INDIRECT, 0x1104, 0x1201, 6, 1, 2);
    start(); // 1 + 2 + MOST is 2^63 + 2: MOST - 1 more is 2^64
    expect(1, "events: Ir\n"
              "summary: 0\n"
              "\n"
              "ob=/p\n"
              "fl=a.c\n"
              "fn=f1\n"
              "cfn=f2\n"
              "calls=1 1\n"
              "1 9223372036854775807\n"
              "cfn=f2\n"
              "calls=1 1\n"
              "3 1\n"
              "cfn=f2\n"
              "calls=1 1\n"
              "4 2\n"
              "\n"
              "totals: 0\n");
}

// The same sum, but for one: it fits.
static void test_sum_at_its_bound(void **state)
{
    (void)state;
    add_edge(SPOOL_EDGE_INDIRECT, 0x1101, 0x1201, 0, 1, MOST);
    add_edge(SPOOL_EDGE_INDIRECT, 0x1102, 0x1201, 2, 1, MOST - 1);
    add_edge(SPOOL_EDGE_INDIRECT, 0x1104, 0x1201, 6, 1, 2);
    start();
    expect(0, "events: Ir\n"
              "summary: 0\n"
              "\n"
              "ob=/p\n"
              "fl=a.c\n"
              "fn=f1\n"
              "cfn=f2\n"
              "calls=1 1\n"
              "1 9223372036854775807\n"
              "cfn=f2\n"
              "calls=1 1\n"
              "2 9223372036854775806\n"
              "cfn=f2\n"
              "calls=1 1\n"
              "4 2\n"
              "\n"
              "totals: 0\n");
}

// The sum of all calls has the same bound: 16 times 2^60 - 1 leaves 15, and 16 do not fit.
static void test_sum_of_calls(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 16; i++)
        add_edge(SPOOL_EDGE_INDIRECT, 0x1101, 0x1201, 2 * i, LARGE - 1, i == 0);
    add_edge(SPOOL_EDGE_INDIRECT, 0x1102, 0x1201, 32, 16, 1);
    add_edge(SPOOL_EDGE_INDIRECT, 0x1103, 0x1201, 34, 15, 1);
    start();
    expect(1, "events: Ir\n"
              "summary: 0\n"
              "\n"
              "ob=/p\n"
              "fl=a.c\n"
              "fn=f1\n"
              "cfn=f2\n"
              "calls=18446744073709551600 1\n"
              "1 1\n"
              "cfn=f2\n"
              "calls=15 1\n"
              "3 1\n"
              "\n"
              "totals: 0\n");
}

// An instruction that counts what no program can is damaged, and has 0 instead.
static void test_damaged_costs(void **state)
{
    (void)state;
    start();
    insn(0x1101, LARGE - 1, false, 0);
    insn(0x1102, LARGE, false, 0);
    insn(0x1103, 5, false, 0);
    expect(1, "events: Ir\n"
              "summary: 1152921504606846980\n"
              "\n"
              "ob=/p\n"
              "fl=a.c\n"
              "fn=f1\n"
              "1 1152921504606846975\n"
              "2 0\n"
              "3 5\n"
              "\n"
              "totals: 1152921504606846980\n");
    assert_int_equal(totals.counts[FINISH_IR], LARGE + 4);
}

// Records that lead outside: of maps (there are four) and of counters (64).
static void test_damaged_edges(void **state)
{
    (void)state;
    add_edge(SPOOL_EDGE_INDIRECT, 0x1101, 0x1201, 0, 1, 1)->target_map = 4;
    add_edge(SPOOL_EDGE_INDIRECT, 0x1102, 0x1201, 2, 1, 1)->site_map = 4;
    add_edge(SPOOL_EDGE_INDIRECT, 0x1103, 0x1201, 4, 1, 1)->counter = 63;
    add_edge(SPOOL_EDGE_INDIRECT, 0x1104, 0x1201, 62, 2, 9); // the last two
    add_edge(SPOOL_EDGE_INDIRECT, 0x1105, 0x1201, 6, 1, 1)->plt = 1;
    edge[4].counter = 62; // with a linkage table it has one more
    add_edge(SPOOL_EDGE_BRANCH, 0x1106, 0x1210, 8, 1, 0)->counter = 64;
    add_edge(SPOOL_EDGE_TABLE, 0x1107, 0x1210, 10, 1, 0)->counter =
        63; // as many as edge 3 has cost
    add_edge(SPOOL_EDGE_GOTO, 0x1108, 0x1210, 12, 1, 0)->counter =
        64; // it has none, and needs none
    start();
    insn(0x1108, 2, false, 0);
    expect(0, "events: Ir\n"
              "summary: 2\n"
              "\n"
              "ob=/p\n"
              "fl=a.c\n"
              "fn=f1\n"
              "cfn=f2\n"
              "calls=2 1\n"
              "4 9\n"
              "jfn=f2\n"
              "jump=9 16\n"
              "7\n"
              "8 2\n"
              "jfn=f2\n"
              "jump=2 16\n"
              "8\n"
              "\n"
              "totals: 2\n");
}

// A function's file is that of its first line; code in it from elsewhere has the file it comes
// from. What begins with such code has that file as its own.
static void test_files(void **state)
{
    (void)state;
    add_edge(SPOOL_EDGE_INDIRECT, 0x1101, 0x1201, 0, 1, 10);
    add_edge(SPOOL_EDGE_INDIRECT, 0x1101, 0x1385, 2, 1, 10);
    start();
    insn(0x1101, 1, false, 0);
    insn(0x1190, 2, false, 0); // nobody calls f1: f1 of inc.h is another one
    insn(0x1201, 3, false, 0);
    insn(0x1290, 4, false, 0); // of a.c
    insn(0x1303, 6, false, 0); // before the start of f3
    insn(0x1385, 5, false, 0);
    insn(0x1305 + 0x82, 7, false, 0);
    insn(0x1400, 8, false, 0);
    insn(0x8290, 9, false, 0); // of another module
    insn(0xa105, 1, false, 0); // generated code: no module
    insn(0xc105, 1, false, 0);
    insn(0x1f05, 1, false, 0);
    expect(0, "events: Ir\n"
              "summary: 48\n"
              "\n"
              "fl=a.c\n"
              "fn=f1\n"
              "5 1\n"
              "\n"
              "ob=/lib\n"
              "fl=inc.h\n"
              "fn=f2\n"
              "16 9\n"
              "\n"
              "ob=/p\n"
              "fl=a.c\n"
              "fn=???\n"
              "5 1\n"
              "\n"
              "fn=f1\n"
              "1 1\n"
              "cfn=f2\n"
              "calls=1 1\n"
              "1 10\n"
              "cfi=inc.h\n"
              "cfn=f3\n"
              "calls=1 5\n"
              "1 10\n"
              "\n"
              "fn=f2\n"
              "1 3\n"
              "fi=inc.h\n"
              "16 4\n"
              "\n"
              "fl=a.c\n"
              "fn=f3\n"
              "3 6\n"
              "\n"
              "fn=f4\n"
              "0 8\n"
              "\n"
              "fl=inc.h\n"
              "fn=f1\n"
              "16 2\n"
              "\n"
              "fn=f3\n"
              "5 5\n"
              "7 7\n"
              "\n"
              "ob=[vdso]\n"
              "fl=a.c\n"
              "fn=f1\n"
              "5 1\n"
              "\n"
              "totals: 48\n");
}

// A linkage table at 0x15xx: its cost is the caller's, its target the last that the records name.
static void test_linkage_table(void **state)
{
    struct spool_edge *e;

    (void)state;
    e = add_edge(SPOOL_EDGE_INDIRECT, 0x1101, 0x1510, 0, 2, 50);
    e->plt = 1;
    counters[2] = 6; // the cost of the path through the table
    add_edge(SPOOL_EDGE_PLT, 0x1510, 0x1201, 10, 0, 0);
    add_edge(SPOOL_EDGE_PLT, 0x1510, 0x8203, 10, 0, 0);
    add_edge(SPOOL_EDGE_PLT, 0x1510, 0, 10, 0, 0);
    start();
    insn(0x1101, 2, false, 0);
    insn(0x1510, 2, true, 0);
    insn(0x1514, 4, true, 0);
    insn(0x1520, 3, true, 0);  // of nobody
    insn(0x8290, 8, false, 0); // of f2's file, that of its start
    expect(0, "events: Ir\n"
              "summary: 19\n"
              "\n"
              "ob=/lib\n"
              "fl=a.c\n"
              "fn=f2\n"
              "fi=inc.h\n"
              "16 8\n"
              "\n"
              "ob=/p\n"
              "fl=a.c\n"
              "fn=f1\n"
              "1 8\n"
              "cob=/lib\n"
              "cfn=f2\n"
              "calls=2 3\n"
              "1 50\n"
              "\n"
              "fn=f5\n"
              "32 3\n"
              "\n"
              "totals: 19\n");
}

// A hidden function's call, whose self cost is the caller's; more than there is: damaged, so
// nothing is left.
static void test_skipped(void **state)
{
    (void)state;
    add_edge(SPOOL_EDGE_SKIPPED, 0x1101, 0x1201, 0, 2, 7);
    start();
    insn(0x1101, 2, false, 0);
    insn(0x1201, 5, false, SPOOL_CONTEXT_SKIPPED);
    insn(0x1202, 5, false, SPOOL_CONTEXT_OFF); // not collected
    expect(0, "events: Ir\n"
              "summary: 9\n"
              "\n"
              "ob=/p\n"
              "fl=a.c\n"
              "fn=f1\n"
              "1 9\n"
              "\n"
              "totals: 9\n");
}

// What hidden functions cost and no call has stays with the last of them.
static void test_skipped_rest(void **state)
{
    (void)state;
    add_edge(SPOOL_EDGE_SKIPPED, 0x1101, 0x1201, 0, 2, 7);
    start();
    insn(0x1101, 2, false, 0);
    insn(0x1201, 5, false, SPOOL_CONTEXT_SKIPPED);
    insn(0x1203, 4, false, SPOOL_CONTEXT_SKIPPED);
    expect(0, "events: Ir\n"
              "summary: 11\n"
              "\n"
              "ob=/p\n"
              "fl=a.c\n"
              "fn=f1\n"
              "1 9\n"
              "\n"
              "fn=f2\n"
              "3 2\n"
              "\n"
              "totals: 11\n");
}

// From one function to another by a jump, and within one, which is no call.
static void test_jumps(void **state)
{
    (void)state;
    add_edge(SPOOL_EDGE_JUMP, 0x1101, 0x1201, 0, 4, 30);
    add_edge(SPOOL_EDGE_JUMP, 0x1102, 0x1120, 2, 4, 30);
    add_edge(SPOOL_EDGE_BRANCH, 0x1101, 0x1201, 4, 9, 0); // 4 of 9 count as calls
    add_edge(SPOOL_EDGE_GOTO, 0x1103, 0x1104, 20, 0, 0);
    add_edge(SPOOL_EDGE_TABLE, 0x1105, 0x1106, 5, 6, 0);
    add_edge(SPOOL_EDGE_BRANCH, 0x1107, 0x1108, 6, 0, 0); // never taken
    add_edge(SPOOL_EDGE_TABLE, 0x1109, 0x110a, 7, LARGE, 0);
    add_edge(SPOOL_EDGE_TABLE, 0x110b, 0x110c, 8, LARGE - 1, 0);
    start();
    insn(0x1101, 10, false, 0);
    insn(0x1103, 7, false, 0);
    insn(0x1107, 3, false, 0);
    expect(1, "events: Ir\n"
              "summary: 20\n"
              "\n"
              "ob=/p\n"
              "fl=a.c\n"
              "fn=f1\n"
              "1 10\n"
              "cfn=f2\n"
              "calls=4 1\n"
              "1 30\n"
              "jfn=f2\n"
              "jcnd=5/10 1\n"
              "1\n"
              "3 7\n"
              "jump=7 4\n"
              "3\n"
              "jump=6 6\n"
              "5\n"
              "7 3\n"
              "jump=1152921504606846975 12\n"
              "11\n"
              "\n"
              "totals: 20\n");
}

// System calls are costs of their instructions. Without time nothing is written.
static void test_syscalls(void **state)
{
    struct spool_edge *e;

    (void)state;
    header.flags |= SPOOL_F_SYSTIME; // three events: Ir, sysCount, sysTime
    e = add_edge(SPOOL_EDGE_SYSCALL, 0x1101, 0x1101, 0, 0, 0);
    counters[2] = 3;
    counters[3] = 500;
    add_edge(SPOOL_EDGE_SYSCALL, 0x1102, 0x1102, 4, 0, 0);
    e = add_edge(SPOOL_EDGE_SYSCALL, 0x1103, 0x1103, 8, 0, 0);
    e->site_map = 4;
    counters[10] = 1;
    e = add_edge(SPOOL_EDGE_SYSCALL, 0x1104, 0x1104, 60, 0, 0); // the last four
    counters[62] = 1;
    add_edge(SPOOL_EDGE_SYSCALL, 0x1105, 0x1105, 12, 0, 0);
    counters[14] = LARGE;
    add_edge(SPOOL_EDGE_SYSCALL, 0x1106, 0x1106, 16, 0, 0)->counter = 61;
    start();
    insn(0x1101, 4, false, 0);
    expect(1, "events: Ir sysCount sysTime\n"
              "summary: 4 4 500\n"
              "\n"
              "ob=/p\n"
              "fl=a.c\n"
              "fn=f1\n"
              "1 4 3 500\n"
              "4 0 1\n"
              "\n"
              "totals: 4 4 500\n");
    assert_int_equal(totals.counts[FINISH_SYSCOUNT], 4);
    assert_int_equal(totals.counts[FINISH_SYSTIME], 500);
}

// Context 1: f1; 2: f2, the second one that is open, called from f1; 3: f3, whose caller is 2.
static void test_contexts(void **state)
{
    struct spool_edge *e;

    (void)state;
    header.flags |= SPOOL_F_CONTEXTS;
    add_edge(SPOOL_EDGE_CONTEXT, 0x1000, 0x1101, 60, 0, 0)->to = 1;
    e = add_edge(SPOOL_EDGE_CONTEXT, 0x1000, 0x1201, 60, 0, 0);
    e->to = 2;
    e->from = 1;
    e = add_edge(SPOOL_EDGE_CONTEXT, 0x1000, 0x1301, 60, 0, 0);
    e->to = 1;
    e->from = 2;
    e = add_edge(SPOOL_EDGE_INDIRECT, 0x1205, 0x1301, 0, 3, 9);
    e->from = 2;
    e->to = 3;
    e = add_edge(SPOOL_EDGE_INDIRECT, 0x1206, 0x1301, 2, 3, 0); // without a cost it is not known
    e->from = 2;
    e->to = 3;
    start();
    insn(0x1105, 1, false, 1);
    insn(0x1205, 2, false, 2);
    insn(0x1305, 3, false, 3);
    insn(0x1405, 4, false, 0);
    insn(0x1406, 5, false, 5); // no record of a context
    insn(0x1407, 6, false, 7); // behind the last one
    expect(0, "events: Ir\n"
              "summary: 21\n"
              "\n"
              "ob=/p\n"
              "fl=a.c\n"
              "fn=f1\n"
              "5 1\n"
              "\n"
              "fn=f2'2'f1\n"
              "5 2\n"
              "cfn=f3'f2'f1\n"
              "calls=3 1\n"
              "5 9\n"
              "\n"
              "fn=f3'f2'f1\n"
              "5 3\n"
              "\n"
              "fn=f4\n"
              "5 4\n"
              "6 5\n"
              "7 6\n"
              "\n"
              "totals: 21\n");
}

// A context that is its own caller: the spool is damaged, and 64 callers are enough.
static void test_cycle_of_contexts(void **state)
{
    char expected[1024] = "events: Ir\nsummary: 4\n\nob=/p\nfl=a.c\nfn=???";

    (void)state;
    header.flags |= SPOOL_F_CONTEXTS;
    add_edge(SPOOL_EDGE_CONTEXT, 0x1000, 0x1f01, 60, 0, 0)->from = 1;
    start();
    insn(0x1405, 4, false, 1);
    for (int i = 0; i < 64; i++)
        strcat(expected, "'???");
    strcat(expected, "\n5 4\n\ntotals: 4\n");
    expect(0, expected);
}

// f3's line 0x20 and on are a body of f2, whose entry is 0x1320, called at line 9 of inc.h. A call
// there is the body's.
static void test_inlined(void **state)
{
    static const struct symbols_body inner = { .function = 3, // f2
                                               .file = FAKE_FILE,
                                               .line = 70,
                                               .call_file = FAKE_FILE + 1,
                                               .call_line = 9,
                                               .entry = FAKE_LINKED + 0x1320 };

    (void)state;
    body = &inner;
    header.flags |= SPOOL_F_INLINE | SPOOL_F_INSTR;
    add_edge(SPOOL_EDGE_INDIRECT, 0x1321, 0x1401, 0, 2, 100);
    start();
    insn(0x1301, 2, false, 0);
    insn(0x1320, 6, false, 0);
    insn(0x1321, 4, false, 0);
    expect(0, "events: Ir\n"
              "summary: 12\n"
              "\n"
              "ob=/p\n"
              "fl=a.c\n"
              "fn=f2\n"
              "0x401320 32 6\n"
              "0x401321 33 4\n"
              "cfn=f4\n"
              "calls=2 0x401401 1\n"
              "0x401321 33 100\n"
              "\n"
              "fn=f3\n"
              "0x401301 1 2\n"
              "fi=inc.h\n"
              "cfi=a.c\n"
              "cfn=f2\n"
              "calls=6 0x401320 70\n"
              "0x401320 9 110\n"
              "\n"
              "totals: 12\n");
}

// The same within another body: of f4 in f2 in f3.
static void test_inlined_twice(void **state)
{
    static const struct symbols_body outer = { .function = 3,
                                               .file = FAKE_FILE,
                                               .line = 70,
                                               .call_file = FAKE_FILE,
                                               .call_line = 9,
                                               .entry = FAKE_LINKED + 0x1320 };
    static const struct symbols_body inner = { .outer = &outer,
                                               .function = 5,
                                               .file = FAKE_FILE + 1,
                                               .line = 80,
                                               .call_file = FAKE_FILE,
                                               .call_line = 72,
                                               .entry = FAKE_LINKED + 0x1321 };

    (void)state;
    body = &inner;
    header.flags |= SPOOL_F_INLINE;
    start();
    insn(0x1301, 2, false, 0);
    insn(0x1321, 6, false, 0);
    expect(0, "events: Ir\n"
              "summary: 8\n"
              "\n"
              "ob=/p\n"
              "fl=a.c\n"
              "fn=f2\n"
              "cfi=inc.h\n"
              "cfn=f4\n"
              "calls=6 80\n"
              "72 6\n"
              "\n"
              "fn=f3\n"
              "1 2\n"
              "cfn=f2\n"
              "calls=0 70\n"
              "9 6\n"
              "\n"
              "fl=inc.h\n"
              "fn=f4\n"
              "fi=a.c\n"
              "33 6\n"
              "\n"
              "totals: 8\n");
}

// Without collecting at first, what has no context is not collected.
static void test_not_collecting(void **state)
{
    (void)state;
    header.flags |= SPOOL_F_NOT_COLLECTING;
    add_edge(SPOOL_EDGE_CONTEXT, 0x1000, 0x1101, 60, 0, 0);
    start();
    insn(0x1105, 1, false, 0);
    insn(0x1106, 2, false, 1);
    expect(0, "events: Ir\n"
              "summary: 2\n"
              "\n"
              "ob=/p\n"
              "fl=a.c\n"
              "fn=f1\n"
              "6 2\n"
              "\n"
              "totals: 2\n");
}

// f1 and f2 call f3, which has 300 cycles and 10 mispredictions. In the windows 10 instructions of
// the first call took 20 cycles, of the other's 10, and 1 and 3 were mispredicted: so they share
// 200 to 100, and 2 (of 2.5) to 8. Where the predictor sees all, 1 and 3 are the numbers
// themselves.
static void sampled(uint32_t branches)
{
    const uint64_t first[] = { 7, 50, 9, 0, 1, 0, 10, 20 },
                   second[] = { 8, 50, 9, 0, 3, 0, 10, 10 };
    struct spool_walk_insn in = {
        .pc = 0x1301,
        .executed = 100,
        .counts = { [FINISH_IR] = 100, [FINISH_BCM] = 10, [FINISH_CY] = 300, [FINISH_CYBASE] = 300 }
    };

    header.flags |= SPOOL_F_CORE | SPOOL_F_BRANCH_SIM;
    header.machine.sampling.interval = 1;
    header.machine.sampling.branches = branches;
    header.machine.core.width = 1;
    add_edge(SPOOL_EDGE_ROOT, 0, 0x1101, 0, 1, 50);
    add_edge(SPOOL_EDGE_INDIRECT, 0x1102, 0x1301, 16, 0, 0);
    add_edge(SPOOL_EDGE_INDIRECT, 0x1202, 0x1301, 32, 0, 0);
    memcpy(counters + 16, first, sizeof(first));
    memcpy(counters + 32, second, sizeof(second));
    start();
    insn(0x1101, 0, false, 0);
    call_graph_add(graph, &in);
}

static void test_samples(void **state)
{
    (void)state;
    sampled(0);
    expect(0, "events: Ir Bc Bcm Bi Bim Cy CyBase CyFront CyBad CyMem CyTLB CyCore\n"
              "summary: 100 0 10 0 0 300 300 0 0 0 0 0\n"
              "\n"
              "ob=/p\n"
              "fl=a.c\n"
              "fn=f1\n"
              "1 0\n"
              "cfn=f3\n"
              "calls=7 1\n"
              "2 50 9 2 0 0 200 200\n"
              "\n"
              "fn=f2\n"
              "cfn=f3\n"
              "calls=8 1\n"
              "2 50 9 8 0 0 100 100\n"
              "\n"
              "fn=f3\n"
              "1 100 0 10 0 0 300 300\n"
              "\n"
              "totals: 100 0 10 0 0 300 300 0 0 0 0 0\n");
}

static void test_samples_with_all_branches(void **state)
{
    (void)state;
    sampled(1);
    expect(0, "events: Ir Bc Bcm Bi Bim Cy CyBase CyFront CyBad CyMem CyTLB CyCore\n"
              "summary: 100 0 10 0 0 300 300 0 0 0 0 0\n"
              "\n"
              "ob=/p\n"
              "fl=a.c\n"
              "fn=f1\n"
              "1 0\n"
              "cfn=f3\n"
              "calls=7 1\n"
              "2 50 9 1 0 0 200 200\n"
              "\n"
              "fn=f2\n"
              "cfn=f3\n"
              "calls=8 1\n"
              "2 50 9 3 0 0 100 100\n"
              "\n"
              "fn=f3\n"
              "1 100 0 10 0 0 300 300\n"
              "\n"
              "totals: 100 0 10 0 0 300 300 0 0 0 0 0\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_calls, begin),
        cmocka_unit_test_setup(test_bounds, begin),
        cmocka_unit_test_setup(test_large_come_last, begin),
        cmocka_unit_test_setup(test_sum_at_its_bound, begin),
        cmocka_unit_test_setup(test_sum_of_calls, begin),
        cmocka_unit_test_setup(test_damaged_costs, begin),
        cmocka_unit_test_setup(test_damaged_edges, begin),
        cmocka_unit_test_setup(test_files, begin),
        cmocka_unit_test_setup(test_linkage_table, begin),
        cmocka_unit_test_setup(test_skipped, begin),
        cmocka_unit_test_setup(test_skipped_rest, begin),
        cmocka_unit_test_setup(test_jumps, begin),
        cmocka_unit_test_setup(test_syscalls, begin),
        cmocka_unit_test_setup(test_contexts, begin),
        cmocka_unit_test_setup(test_cycle_of_contexts, begin),
        cmocka_unit_test_setup(test_inlined, begin),
        cmocka_unit_test_setup(test_inlined_twice, begin),
        cmocka_unit_test_setup(test_not_collecting, begin),
        cmocka_unit_test_setup(test_samples, begin),
        cmocka_unit_test_setup(test_samples_with_all_branches, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
