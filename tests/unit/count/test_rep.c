// SPDX-License-Identifier: MIT
// engine/count/rep.c: the references and branches of a rep instruction, derived from the registers
// before and after it. Expected: what the manual says the instruction does, element by element;
// with --rep-count=cachegrind the passes of tests/compat/reference-model.md.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/cpu.h"
#include "engine/callgraph/calls.h"
#include "engine/codecache/helperdesc.h"
#include "engine/count/ahead.h"
#include "engine/count/caches.h"
#include "engine/count/ll.h"
#include "engine/count/rep.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/x86/insn.h"
#include "tests/unit/count/reftrace_none.h"
#include "tests/unit/objects/lineuse_none.h"

struct cpu cpu;
struct tb_config tb_config;
static struct spool_header header;
struct spool_header *spool = &header;

static struct thread t;
static u64 counters[64];
static char seen[1024]; // the simulators' calls

// Only of a second state.
void ahead_count_later(struct thread *a, u32 counter, u64 by)
{
    (void)a;
    (void)counter;
    (void)by;
    fail();
}

// The simulators, hosted. No call graph here: only counters count.
void calls_counted(struct thread *thread, u32 counter, u64 n)
{
    fail_msg("%p: counter %u of the call graph grew by %lu", (void *)thread, counter, n);
}

static u64 elements[SPOOL_EVENTS]; // charged to calls before the simulation

void calls_elements(struct thread *thread, enum spool_event e, u64 n)
{
    assert_ptr_equal(thread, &t);
    elements[e] += n;
}

void caches_dref(struct thread *thread, u64 addr, u32 size, u32 counter)
{
    assert_ptr_equal(thread, &t);
    sprintf(seen + strlen(seen), "%llx/%u@%u ", (unsigned long long)addr, size, counter);
}

void ll_drain(struct thread *thread)
{
    (void)thread;
}

bool caches_branch(struct thread *thread, u64 pc, bool taken, u32 counter)
{
    assert_ptr_equal(thread, &t);
    assert_int_equal(pc, 0x401000);
    sprintf(seen + strlen(seen), "%c%u ", taken ? 'T' : 'N', counter);
    return false;
}

static void mode(bool cachegrind, bool branch)
{
    tb_config = (struct tb_config){ .cache = true, .branch = branch, .rep_cachegrind = cachegrind };
    header.flags = SPOOL_F_CACHE_SIM | (branch ? SPOOL_F_BRANCH_SIM : 0) |
                   (cachegrind ? SPOOL_F_REP_CACHEGRIND : 0);
}

// Runs it on elements from rsi 0x1000 and rdi 0x2000; `left`: of rcx, `step`: from element to
// element.
static void run(struct helperdesc_rep what, u64 n, u64 left, s64 step, bool zero)
{
    union helperdesc_word w = { .rep = what };
    u64 record[1 + REP_RECORD_SLOTS];
    char now[sizeof(seen)];
    bool reads_rsi = what.op != STR_STOS && what.op != STR_SCAS;
    u32 dr;

    memset(counters, 0, sizeof(counters));
    seen[0] = 0;
    memset(&t, 0, sizeof(t));
    memset(elements, 0, sizeof(elements));
    t.counters = t.misses = counters;
    t.h_addr = 0x401000;
    t.h_desc_low = 10; // first counter
    t.h_desc_high = w.word;
    t.rep_rcx = n;
    t.rep_rsi = 0x1000;
    t.rep_rdi = 0x2000;
    t.h_save[1] = left;
    // registers that the instruction does not use stay
    t.h_save[3] = 0x1000 + (reads_rsi ? (u64)((s64)(n - left) * step) : 0);
    t.h_save[4] = 0x2000 + (what.op != STR_LODS ? (u64)((s64)(n - left) * step) : 0);
    t.h_save[9] = zero ? 0x4000 : 0;
    rep_simulate(&t);
    if (tb_config.rep_cachegrind) {
        assert_int_equal(elements[SPOOL_E_IR], counters[10]);
        assert_int_equal(elements[SPOOL_E_BC], counters[11]);
    }
    // A later simulation gives the same.
    dr = 10 + 2 * tb_config.rep_cachegrind + 2 * what.fetch;
    assert_int_equal(elements[SPOOL_E_DR], counters[dr]);
    assert_int_equal(elements[SPOOL_E_DW], counters[dr + 1]);
    t.h_save[8] = (u64)record;
    t.h_desc_low = 1; // first slot
    rep_record(&t);
    strcpy(now, seen);
    seen[0] = 0;
    memset(counters, 0, sizeof(counters));
    t.replay_pulse = 3;
    rep_replay(&t, record + 1, 0x401000, w.word, 10);
    assert_int_equal(t.replay_pulse, 4); // the pulse at the end of an instruction
    assert_string_equal(seen, now);
    assert_int_equal(elements[SPOOL_E_DR], 2 * counters[dr]);
    assert_int_equal(elements[SPOOL_E_DW], 2 * counters[dr + 1]);
}

// Counters of hardware's counting: Dr, Dw, D1mr and DLmr, D1mw and DLmw from 10 on; with a fetch
// I1mr and ILmr before them.
static void test_moves(void **state)
{
    (void)state;
    mode(false, false);
    run((struct helperdesc_rep){ .op = STR_MOVS, .size_log = 3 }, 2, 0, 8, false);
    assert_string_equal(seen, "1000/8@12 2000/8@14 1008/8@12 2008/8@14 ");
    assert_int_equal(counters[10], 2);
    assert_int_equal(counters[11], 2);
    run((struct helperdesc_rep){ .op = STR_STOS, .size_log = 0, .fetch = 1 }, 3, 0, 1, false);
    assert_string_equal(seen, "2000/1@16 2001/1@16 2002/1@16 ");
    assert_int_equal(counters[12], 0);
    assert_int_equal(counters[13], 3);
    run((struct helperdesc_rep){ .op = STR_LODS, .size_log = 2 }, 1, 0, 4, false);
    assert_string_equal(seen, "1000/4@12 ");
    run((struct helperdesc_rep){ .op = STR_LODS, .size_log = 2 }, 3, 0, 4, false);
    assert_string_equal(seen, "1000/4@12 1004/4@12 1008/4@12 ");
    run((struct helperdesc_rep){ .op = STR_MOVS, .size_log = 1 }, 0, 0, 2, false);
    assert_string_equal(seen, "");
}

static void test_directions(void **state)
{
    (void)state;
    mode(false, false);
    run((struct helperdesc_rep){ .op = STR_MOVS, .size_log = 3 }, 2, 0, -8, false); // std
    assert_string_equal(seen, "1000/8@12 2000/8@14 ff8/8@12 1ff8/8@14 ");
    run((struct helperdesc_rep){ .op = STR_LODS, .size_log = 1 }, 2, 0, -2, false);
    assert_string_equal(seen, "1000/2@12 ffe/2@12 ");
    run((struct helperdesc_rep){ .op = STR_STOS, .size_log = 1 }, 2, 0, -2, false);
    assert_string_equal(seen, "2000/2@14 1ffe/2@14 ");
    // a fault after one of three
    run((struct helperdesc_rep){ .op = STR_MOVS, .size_log = 3 }, 3, 2, 8, false);
    assert_string_equal(seen, "1000/8@12 2000/8@14 ");
    assert_int_equal(counters[10], 1);
    // 32-bit addressing: only the low half of the count matters
    run((struct helperdesc_rep){ .op = STR_LODS, .size_log = 0, .a32 = 1 }, 0x500000002,
        0x500000000, 1, false);
    assert_int_equal(counters[10], 2);
}

static void test_segment(void **state)
{
    (void)state;
    mode(false, false);
    memset(&t, 0, sizeof(t));
    cpu.fsgsbase = false;
    // client_fs_base is 0 here: the same as without
    run((struct helperdesc_rep){ .op = STR_LODS, .size_log = 0, .fs = 1 }, 1, 0, 1, false);
    assert_string_equal(seen, "1000/1@12 ");
}

// In a set with two ways only the first reference to a line is simulated: the others hit, and keep
// the order. A trace lists each, and a set of one way simulates each.
static void test_lines(void **state)
{
    (void)state;
    mode(false, false);
    header.d1 = (struct spool_geometry){ .size = 32768, .assoc = 2, .line = 64 };
    run((struct helperdesc_rep){ .op = STR_MOVS, .size_log = 3 }, 20, 0, 8, false);
    assert_string_equal(seen, "1000/8@12 2000/8@14 1040/8@12 2040/8@14 1080/8@12 2080/8@14 ");
    assert_int_equal(counters[10], 20);
    assert_int_equal(counters[11], 20);
    run((struct helperdesc_rep){ .op = STR_STOS, .size_log = 0 }, 70, 0, 1, false);
    assert_string_equal(seen, "2000/1@14 2040/1@14 ");
    // Backwards: the first element is the lowest of its line.
    run((struct helperdesc_rep){ .op = STR_LODS, .size_log = 3 }, 10, 0, -8, false);
    assert_string_equal(seen, "1000/8@12 ff8/8@12 fb8/8@12 ");
    reftrace_on = true;
    run((struct helperdesc_rep){ .op = STR_LODS, .size_log = 3 }, 3, 0, 8, false);
    assert_string_equal(seen, "1000/8@12 1008/8@12 1010/8@12 ");
    reftrace_on = false;
    header.d1.assoc = 1;
    run((struct helperdesc_rep){ .op = STR_LODS, .size_log = 3 }, 3, 0, 8, false);
    assert_string_equal(seen, "1000/8@12 1008/8@12 1010/8@12 ");
    header.d1.assoc = 0;
}

// A reference that is simulated at once belongs to its instruction in a trace; for a replay the
// caller has set the instruction.
static void test_traced(void **state)
{
    (void)state;
    mode(false, false);
    memset(&reftrace_told, 0, sizeof(reftrace_told));
    run((struct helperdesc_rep){ .op = STR_STOS, .size_log = 1 }, 3, 0, 2, false);
    assert_int_equal(reftrace_told.ats, 1);
    assert_int_equal(reftrace_told.at, 0x401000);
    assert_int_equal(reftrace_told.depth, 0);
    assert_int_equal(reftrace_told.refs, 6);
    assert_int_equal(reftrace_told.addr, 0x2004);
    assert_int_equal(reftrace_told.size, 2);
    assert_int_equal(reftrace_told.kind, REFTRACE_WRITE);
}

// Extra Ir 10, extra Bc 11, Dr 12, Dw 13, D1mr 14, D1mw 16, Bcm 18.
static void test_passes(void **state)
{
    (void)state;
    mode(true, true);
    run((struct helperdesc_rep){ .op = STR_MOVS, .size_log = 3 }, 2, 0, 8, false);
    assert_string_equal(seen, "T18 1000/8@14 2000/8@16 T18 1008/8@14 2008/8@16 N18 ");
    assert_int_equal(counters[10], 2); // the second element and the final test
    assert_int_equal(counters[11], 3);
    // repe cmpsb that ends on a difference at the second of five: no final test of the count
    run((struct helperdesc_rep){ .op = STR_CMPS, .size_log = 0 }, 5, 3, 1, false);
    assert_string_equal(seen, "T18 2000/1@14 1000/1@14 T18 T18 2001/1@14 1001/1@14 N18 ");
    assert_int_equal(counters[10], 1);
    assert_int_equal(counters[11], 4);
    assert_int_equal(counters[12], 4);
    // repne scasb that finds at the last: the flags say that the comparison ended it
    run((struct helperdesc_rep){ .op = STR_SCAS, .size_log = 0, .repne = 1 }, 2, 0, 1, true);
    assert_string_equal(seen, "T18 2000/1@14 T18 T18 2001/1@14 N18 ");
    // one that finds nothing
    run((struct helperdesc_rep){ .op = STR_SCAS, .size_log = 0, .repne = 1 }, 1, 0, 1, false);
    assert_string_equal(seen, "T18 2000/1@14 T18 N18 ");
    run((struct helperdesc_rep){ .op = STR_SCAS, .size_log = 0 }, 0, 0, 1, false);
    assert_string_equal(seen, "N18 ");
    assert_int_equal(counters[10], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moves),   cmocka_unit_test(test_directions),
        cmocka_unit_test(test_segment), cmocka_unit_test(test_lines),
        cmocka_unit_test(test_traced),  cmocka_unit_test(test_passes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
