// SPDX-License-Identifier: MIT
// engine/count/helpers.c: for the words that translated code passes to each helper, which
// references it simulates, at which address, at which counters. Addresses and counters are worked
// out by hand beside each case; the simulators are fakes that list their calls.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/callgraph/calls.h"
#include "engine/codecache/helperdesc.h"
#include "engine/count/ahead.h"
#include "engine/count/caches.h"
#include "engine/count/helpers.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/x86/insn.h"
#include "tests/unit/count/reftrace_none.h"

struct tb_config tb_config;
static struct spool_header header;
struct spool_header *spool = &header;

// Only of a second state.
void ahead_count_later(struct thread *a, u32 counter, u64 by)
{
    (void)a;
    (void)counter;
    (void)by;
    fail();
}

// Unused without --calls=yes.
void calls_counted(struct thread *t, u32 counter, u64 by)
{
    (void)t;
    (void)counter;
    (void)by;
    fail();
}

static u64 read_by_elements, written_by_elements;

void calls_elements(struct thread *t, enum spool_event e, u64 by)
{
    (void)t;
    if (e == SPOOL_E_DR)
        read_by_elements += by;
    else
        written_by_elements += by;
}

// -- fakes of the simulators: they list their calls --

struct asked {
    char what; // d: reference, m: has missed L1, i: fetch, b: branch, x: indirect
    u64 addr;
    u32 size, counter, first, last;
};

static struct asked asked[16];
static u32 n;
static bool answer;

void caches_dref(struct thread *t, u64 addr, u32 size, u32 counter)
{
    (void)t;
    asked[n++] = (struct asked){ 'd', addr, size, counter, 0, 0 };
}

void caches_l1_missed(struct thread *t, u64 addr, u32 size, u32 counter)
{
    (void)t;
    asked[n++] = (struct asked){ 'm', addr, size, counter, 0, 0 };
}

void caches_i1_missed(struct thread *t, u64 addr, u32 size, u32 counter, u32 id)
{
    (void)id;
    caches_l1_missed(t, addr, size, counter);
}

bool caches_iref(struct thread *t, u64 pc, u32 len, u32 first, u32 last)
{
    (void)t;
    asked[n++] = (struct asked){ 'i', pc, len, 0, first, last };
    return answer;
}

bool caches_branch(struct thread *t, u64 pc, bool taken, u32 counter)
{
    (void)t;
    asked[n++] = (struct asked){ 'b', pc, taken, counter, 0, 0 };
    return false;
}

bool caches_indirect(struct thread *t, u64 branch, u64 target)
{
    (void)t;
    asked[n++] = (struct asked){ 'x', target, branch, 0, 0, 0 };
    return answer;
}

// -- helpers of the tests --

static _Alignas(64) u8 area[TA_VEC + 128];
static struct thread *const t = (struct thread *)area;
static u64 counters[32];
static _Alignas(4) u8 code[64]; // a fragment: a call that returns to code + 2, its words at 16

static int setup(void **state)
{
    (void)state;
    memset(area, 0, sizeof(area));
    memset(counters, 0, sizeof(counters));
    memset(asked, 0, sizeof(asked));
    memset(&tb_config, 0, sizeof(tb_config));
    memset(&reftrace_told, 0, sizeof(reftrace_told));
    tb_config.min_line = 64;
    tb_config.read_counters = 2;
    n = 0;
    answer = false;
    t->self = t;
    t->counters = t->misses = counters;
    t->client_sp = 0x7ffe0000;
    return 0;
}

static const u8 *words(u32 a, u32 b, u32 c, u32 d, u32 e, u32 f)
{
    u32 w[6] = { a, b, c, d, e, f };

    memcpy(code + 2 + HELPERDESC_AT, w, sizeof(w));
    return code + 2;
}

static void check(u32 i, char what, u64 addr, u32 size, u32 counter)
{
    assert_true(i < n);
    assert_int_equal(asked[i].what, what);
    assert_int_equal(asked[i].addr, addr);
    assert_int_equal(asked[i].size, size);
    assert_int_equal(asked[i].counter, counter);
}

static void test_data(void **state)
{
    (void)state;
    t->h_addr = 0x123456789abc;
    helpers_d1_any(t, words(17, 8, 0, 0, 0, 0));
    check(0, 'd', 0x123456789abc, 8, 17);
    helpers_d1_miss(t, words(18, 8, 0, 0, 0, 0));
    check(1, 'm', 0x123456789abc, 1, 18);
    assert_int_equal(n, 2);
}

// h_addr is the last byte of the reference's last line, h_desc_low the set of its first: with 64
// lines of 64 bytes 0x20047f is the end of set 0x440.
static void test_slow(void **state)
{
    (void)state;
    tb_config.d1_mask = 63 * 64;
    header.d1.line = 64;
    t->h_addr = 0x20047f;
    t->h_desc_low = 0x440;
    helpers_d1_slow(t, words(3, 0, 0, 0, 0, 0));
    check(0, 'd', 0x20047f, 1, 3);
    t->h_desc_low = 0x400; // the last byte of the line before it, and its first byte
    helpers_d1_slow(t, words(3, 0, 0, 0, 0, 0));
    check(1, 'd', 0x20043f, 2, 3);
}

static void test_code(void **state)
{
    (void)state;
    helpers_i1_miss(t, words(0x89abcdef, 0x1234567, 5, 7, 0, 0));
    check(0, 'm', 0x123456789abcdef, 7, 5);
    helpers_i1_any(t, words(0x401000, 0, 5, 7, 11, 12));
    check(1, 'i', 0x401000, 7, 0);
    assert_int_equal(asked[1].first, 11);
    assert_int_equal(asked[1].last, 12);
    assert_int_equal(n, 2); // a hit: no reference to LL
    answer = true;
    helpers_i1_any(t, words(0x401000, 0, 5, 7, 11, 12));
    check(3, 'm', 0x401000, 7, 5);
}

static void test_branches(void **state)
{
    (void)state;
    helpers_bc(t, words(0x401000, 0x7fff, 9, 1, 0, 0));
    check(0, 'b', 0x7fff00401000, 1, 9);
    t->h_desc_low = 4;
    t->h_desc_high = 0x155;
    t->h_addr = 0x402000;
    helpers_bi(t);
    check(1, 'x', 0x402000, 0x155, 0);
    assert_int_equal(counters[4], 0);
    answer = true;
    helpers_bi(t);
    assert_int_equal(counters[4], 1);
}

static void vec(struct helperdesc_vec d, const void *index, const void *mask, u64 mask_bytes)
{
    union helperdesc_word w = { .vec = d };

    if (index)
        memcpy(area + TA_VEC, index, 32);
    memcpy(area + TA_VEC + 64, mask, mask_bytes);
    t->h_addr = 0x10000;
    t->h_desc_low = 10;
    t->h_desc_high = w.word;
}

// vgatherdps xmm, [h_addr + 8*index]: elements 0 and 2. The mask is the sign of each element; an
// index is signed. Counters: 10 the instruction's first, from 12 on reads, writes, D1mr.
static const s32 indexes[8] = { 1, 5, -2, 7 };
static const u32 signs[4] = { 0x80000000, 0x7fffffff, 0xffffffff, 0 };
static const struct helperdesc_vec gather = {
    .kind = VEC_GATHER, .esize_log = 2, .isize_log = 2, .last = 3, .scale_log = 3, .dyn = 2
};

static void test_gather(void **state)
{
    (void)state;
    vec(gather, indexes, signs, sizeof(signs));
    helpers_vec(t);
    check(0, 'd', 0x10008, 4, 14);
    check(1, 'd', 0x10000 - 16, 4, 14);
    assert_int_equal(n, 2);
    assert_int_equal(counters[12], 2);
    assert_int_equal(counters[13], 0);
    assert_int_equal(reftrace_told.refs, 2);
    assert_int_equal(reftrace_told.addr, 0x10000 - 16);
    assert_int_equal(reftrace_told.size, 4);
    assert_int_equal(reftrace_told.kind, REFTRACE_READ);
    assert_false(reftrace_told.undone);
}

// As Cachegrind counts it: elements that are masked off are read at the stack pointer.
static void test_gather_all(void **state)
{
    (void)state;
    tb_config.rep_cachegrind = true;
    vec(gather, indexes, signs, sizeof(signs));
    helpers_vec(t);
    check(0, 'd', 0x10008, 4, 14);
    check(1, 'd', 0x7ffe0000, 4, 14);
    check(2, 'd', 0x10000 - 16, 4, 14);
    check(3, 'd', 0x7ffe0000, 4, 14);
    assert_int_equal(counters[12], 4);
}

// A scatter of 4 quadwords by quadword indexes and a mask register, of which 4 bits count.
static void test_scatter(void **state)
{
    static const u64 wide[4] = { 2, ~0ul, 0x100000000, 3 }, bits = 0xfe;
    struct helperdesc_vec d = {
        .kind = VEC_KGATHER, .esize_log = 3, .isize_log = 3, .last = 3, .write = 1, .dyn = 0
    };

    (void)state;
    tb_config.rep_cachegrind = true; // affects only gathers with vector masks
    vec(d, wide, &bits, sizeof(bits));
    written_by_elements = 0;
    helpers_vec(t);
    assert_int_equal(written_by_elements, 3);
    check(0, 'd', 0xffff, 8, 14); // 10 + 2 + 2: D1mw
    check(1, 'd', 0x100010000, 8, 14);
    check(2, 'd', 0x10003, 8, 14);
    assert_int_equal(n, 3);
    assert_int_equal(counters[10], 0);
    assert_int_equal(counters[11], 3);
    assert_int_equal(reftrace_told.refs, 3);
    assert_int_equal(reftrace_told.kind, REFTRACE_WRITE);
}

// vmaskmovpd [h_addr], ymm: elements are consecutive.
static void test_maskmov(void **state)
{
    static const u64 mask[4] = { 0x7fffffffffffffff, 1ul << 63, 0, ~0ul };
    struct helperdesc_vec d = {
        .kind = VEC_MASKMOV, .esize_log = 3, .last = 3, .write = 1, .dyn = 1
    };

    (void)state;
    vec(d, NULL, mask, sizeof(mask));
    helpers_vec(t);
    check(0, 'd', 0x10008, 8, 15);
    check(1, 'd', 0x10018, 8, 15);
    assert_int_equal(n, 2);
    assert_int_equal(counters[12], 2);
}

// The same in two steps: the record has all that the replay needs.
static void test_recorded(void **state)
{
    u64 record[12];
    union helperdesc_word w = { .vec = gather };

    (void)state;
    memset(record, 0xee, sizeof(record));
    vec(gather, indexes, signs, sizeof(signs));
    t->h_desc_low = 3;
    t->h_save[8] = (u64)record;
    read_by_elements = 0;
    helpers_record_vec(t);
    assert_int_equal(read_by_elements, 2); // calls are charged now, not at the replay
    assert_int_equal(n, 0);
    assert_int_equal(record[2], 0xeeeeeeeeeeeeeeee);
    assert_int_equal(record[3], 4ul << 32 | 5); // elements 0 and 2, of 4 bytes
    assert_int_equal(record[4], 0x10008);
    assert_int_equal(record[6], 0x10000 - 16);
    assert_int_equal(record[8], 0xeeeeeeeeeeeeeeee);
    memset(area + TA_VEC, 0, 128); // the client went on
    t->h_addr = 0;
    helpers_replay_vec(t, record + 3, w.word, 10);
    assert_int_equal(read_by_elements, 2);
    check(0, 'd', 0x10008, 4, 14);
    check(1, 'd', 0x10000 - 16, 4, 14);
    assert_int_equal(n, 2);
    assert_int_equal(counters[12], 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_data, setup),
        cmocka_unit_test_setup(test_slow, setup),
        cmocka_unit_test_setup(test_code, setup),
        cmocka_unit_test_setup(test_branches, setup),
        cmocka_unit_test_setup(test_gather, setup),
        cmocka_unit_test_setup(test_gather_all, setup),
        cmocka_unit_test_setup(test_scatter, setup),
        cmocka_unit_test_setup(test_maskmov, setup),
        cmocka_unit_test_setup(test_recorded, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
