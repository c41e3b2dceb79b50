// SPDX-License-Identifier: MIT
// engine/codecache/restore.c: recovery of the client's state by recipes, and escape copies, of a
// fragment made by hand in an array of bytes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/codecache/region.h"
#include "engine/codecache/restore.h"
#include "engine/codecache/stubs.h"
#include "engine/codecache/tcache.h"
#include "engine/spool/spooler.h"

// -- fakes for restore.c: a region from START on, stubs of 64 bytes each, fragments, buffers --

#define START     0x10000ul
#define FRAGMENTS 0x20000ul

static u8 code[64], escape[FRAGMENT_MAX];
static struct fragment fragment;
static u32 partial_block, partial_insn;

u64 region_start(void)
{
    return START;
}

u64 region_end(void)
{
    return ~0ul;
}

u64 region_fragments(void)
{
    return FRAGMENTS;
}

u64 region_escapes(void)
{
    return (u64)escape < (u64)code ? ~0ul - 1 : (u64)escape;
}

u64 stubs_at(enum stub s)
{
    return START + s * 64u;
}

bool stubs_between(u64 hpc, enum stub from, enum stub to)
{
    return hpc >= stubs_at(from) && hpc < stubs_at(to);
}

bool stubs_recording(void)
{
    return true;
}

struct fragment *tcache_at(u64 hpc)
{
    assert_true(hpc - fragment.hpc < fragment.size);
    return &fragment;
}

struct fragment *tcache_by_index(u32 index)
{
    assert_int_equal(index, 5);
    return &fragment;
}

void spooler_partial(u32 block, u32 insn, u32 slot, u32 context)
{
    assert_int_equal(slot, 0);
    assert_int_equal(context, 0);
    partial_block = block;
    partial_insn = insn;
}

// -- the test's side --

static struct thread t;
static u64 counters[8];
static struct host_regs u;
static const struct recipe recipes[] = {
    { 0, 0, 0, 0 },
    { 10, 1, 1u << R_RAX | 1u << 11, RECIPE_FLAGS_SAVED },
    { 20, 2, 0, RECIPE_BUMPED },
    { 30, 3, 0, RECIPE_BUMPED | RECIPE_REP },
    { 40, 1, 1u << 11, RECIPE_RECORD | RECIPE_OPEN },
    { 50, 1, 0, RECIPE_RECORD | RECIPE_CLOSED },
    { 60, 3, 0, 0 },
};
static struct { // as tcache.c lays them out
    struct fragment_exit exits[1];
    struct recipe recipes[ARRAY_SIZE(recipes)];
    u16 relocs[1];
    u8 lens[4];
} tables = { .relocs = { 40 }, .lens = { 3, 5, 2, 2 } };

static int setup(void **state)
{
    (void)state;
    memset(&t, 0, sizeof(t));
    memset(&u, 0, sizeof(u));
    partial_block = partial_insn = 0;
    memset(counters, 0, sizeof(counters));
    counters[2] = 10;
    t.counters = counters;
    fragment = (struct fragment){ .pc = 0x401000,
                                  .hpc = (u64)code,
                                  .size = sizeof(code),
                                  .block = 9,
                                  .counter = 2,
                                  .ninsns = 4,
                                  .nrecipes = ARRAY_SIZE(recipes),
                                  .nrelocs = 1,
                                  .nexits = 1,
                                  .exit = tables.exits };
    memcpy(tables.recipes, recipes, sizeof(recipes));
    fragment.exit[0] = (struct fragment_exit){ .rel32 = 50, .stub = 56 };
    for (u32 i = 0; i < 16; i++) {
        t.regs[i] = 0x100 + i; // in the slots
        u.r[i] = 0x200 + i;    // in the processor
    }
    return 0;
}

static bool recover(u32 off)
{
    u.rip = fragment.hpc + off;
    return restore_recover(&t, &u).rep;
}

static void test_stubs(void **state)
{
    (void)state;
    assert_int_equal(restore_find(START - 1), RESTORE_OUTSIDE);
    assert_int_equal(restore_find(stubs_at(STUB_IBL_MISS)), RESTORE_EXIT);
    assert_int_equal(restore_find(stubs_at(STUB_EXIT_END) - 1), RESTORE_EXIT);
    assert_int_equal(restore_find(stubs_at(STUB_ENTER)), RESTORE_ENTER);
    assert_int_equal(restore_find(stubs_at(STUB_GATE)), RESTORE_GATE_BEFORE);
    assert_int_equal(restore_find(stubs_at(STUB_GATE_AFTER) - 1), RESTORE_GATE_BEFORE);
    assert_int_equal(restore_find(stubs_at(STUB_GATE_AFTER)), RESTORE_GATE_AFTER);
    assert_int_equal(restore_find(stubs_at(STUB_HELPERS)), RESTORE_HELPER);
    assert_int_equal(restore_find(stubs_at(STUB_VEC)), RESTORE_HELPER);
    assert_int_equal(restore_find(FRAGMENTS - 1), RESTORE_HELPER); // stubs generated at run time
    assert_int_equal(restore_find(FRAGMENTS), RESTORE_FRAGMENT);
}

// Not counted yet: nothing is taken back, and only the instructions before it count.
static void test_recover(void **state)
{
    (void)state;
    u.rflags = 0x246;
    assert_false(recover(5));
    assert_int_equal(t.pc, 0x401000);
    assert_int_equal(t.regs[R_RAX], 0x200);
    assert_int_equal(t.rflags, 0x246);
    assert_int_equal(counters[2], 10);
    assert_int_equal(partial_insn, 0);
    t.flags_save = 0x4501; // ah: ZF, PF, CF; al: OF
    assert_false(recover(19));
    assert_int_equal(t.pc, 0x401003);
    assert_int_equal(t.regs[R_RAX], 0x200); // from the recovery before
    assert_int_equal(t.regs[11], 0x20b);
    assert_int_equal(t.regs[R_RBX], 0x203);
    assert_int_equal(t.rflags, 0x202 | FLAG_ZF | FLAG_PF | FLAG_CF | FLAG_OF);
    assert_int_equal(partial_block, 9);
    assert_int_equal(partial_insn, 1);
    t.flags_save = 0x4500;
    assert_false(recover(19));
    assert_int_equal(t.rflags, 0x202 | FLAG_ZF | FLAG_PF | FLAG_CF);
}

// Spilled registers stay what their slots hold.
static void test_spilled(void **state)
{
    (void)state;
    assert_false(recover(10));
    assert_int_equal(t.regs[R_RAX], 0x100);
    assert_int_equal(t.regs[11], 0x10b);
    assert_int_equal(t.regs[R_RCX], 0x201);
}

// Counted: the block's execution is taken back, its first two instructions count.
static void test_bumped(void **state)
{
    (void)state;
    assert_false(recover(29));
    assert_int_equal(t.pc, 0x401008);
    assert_int_equal(counters[2], 9);
    assert_int_equal(partial_insn, 2);
}

// A superblock: its second block has the last two instructions of four, or these are two blocks.
// The instruction's block and those before it count; the superblock's execution is taken back. The
// pc is computed from the beginning of the instruction's block.
static void test_superblock(void **state)
{
    struct fragment_block more[2] = { { 0x402000, 0x402004, 12, 3, 2, 0 },
                                      { 0x403000, 0x403002, 13, 4, 3, 0 } };
    struct restore_progress left;

    (void)state;
    fragment.nmore = 1;
    fragment.more = more;
    fragment.own = 5;
    counters[3] = 20;
    counters[5] = 50;
    assert_false(recover(10)); // the first block's second instruction
    assert_int_equal(t.pc, 0x401003);
    assert_int_equal(partial_block, 9);
    assert_int_equal(partial_insn, 1);
    assert_int_equal(t.partial_insns, 1);
    partial_block = partial_insn = 0;
    assert_false(recover(20)); // the second's first
    assert_int_equal(t.pc, 0x402000);
    assert_int_equal(counters[2], 9);
    assert_int_equal(counters[5], 51);
    assert_int_equal(partial_insn, 0);
    assert_int_equal(t.partial_insns, 1);
    u.rip = fragment.hpc + 30; // and its second
    left = restore_recover(&t, &u);
    assert_int_equal(left.insn, 3); // of the superblock
    assert_int_equal(t.pc, 0x402002);
    assert_int_equal(counters[2], 8);
    assert_int_equal(counters[5], 52);
    assert_int_equal(counters[3], 20);
    assert_int_equal(partial_block, 12);
    assert_int_equal(partial_insn, 1);
    assert_int_equal(t.partial_insns, 2);
    fragment.nmore = 2;
    partial_insn = 0;
    recover(30); // which begins the third
    assert_int_equal(t.pc, 0x403000);
    assert_int_equal(counters[2], 7);
    assert_int_equal(counters[5], 53);
    assert_int_equal(counters[3], 21);
    assert_int_equal(partial_insn, 0);
    recover(20);
    assert_int_equal(t.pc, 0x402000);
    assert_int_equal(counters[2], 6);
    assert_int_equal(counters[5], 54);
    assert_int_equal(counters[3], 21);
    assert_int_equal(counters[4], 0);
}

// One correction of the totals of open calls.
static void assert_total(const struct restore_progress *l, u32 i, u32 block, u32 insns, s32 by)
{
    assert_true(i < l->ntotals);
    assert_int_equal(l->total[i].block, block);
    assert_int_equal(l->total[i].insns, insns);
    assert_int_equal(l->total[i].by, by);
}

static struct restore_progress left_at(u32 off)
{
    u.rip = fragment.hpc + off;
    return restore_recover(&t, &u);
}

// What totals lack of a fragment that is left in the middle: the instructions before the one that
// did not complete. They have all of its blocks once it has been counted, and before that those
// that the block's `summed` says.
static void test_totals(void **state)
{
    struct fragment_block more[2] = { { 0x402000, 0x402004, 12, 3, 1, 0 },
                                      { 0x403000, 0x403002, 13, 4, 2, 0 } };
    struct restore_progress l;

    (void)state;
    l = left_at(10);
    assert_int_equal(l.ntotals, 1);
    assert_total(&l, 0, 9, 1, 1);
    l = left_at(20); // counted: 4 too many
    assert_int_equal(l.ntotals, 2);
    assert_total(&l, 0, 9, 4, -1);
    assert_total(&l, 1, 9, 2, 1);
    // Blocks of one, one and two instructions; at the second of the last.
    fragment.nmore = 2;
    fragment.more = more;
    l = left_at(60);
    assert_int_equal(l.ntotals, 3);
    assert_total(&l, 0, 9, 1, 1);
    assert_total(&l, 1, 12, 1, 1);
    assert_total(&l, 2, 13, 1, 1);
    more[1].summed = 1;
    l = left_at(60);
    assert_int_equal(l.ntotals, 2);
    assert_total(&l, 0, 12, 1, 1);
    assert_total(&l, 1, 13, 1, 1);
    more[1].summed = 2;
    l = left_at(60);
    assert_int_equal(l.ntotals, 1);
    assert_total(&l, 0, 13, 1, 1);
    l = left_at(30); // the same place, counted
    assert_int_equal(l.ntotals, 2);
    assert_total(&l, 0, 13, 2, -1);
    assert_total(&l, 1, 13, 1, 1);
    l = left_at(10); // the second block's first
    assert_int_equal(l.ntotals, 2);
    assert_total(&l, 0, 9, 1, 1);
    assert_total(&l, 1, 12, 0, 1);
    fragment.flags = FRAGMENT_UNCOUNTED;
    assert_int_equal(left_at(60).ntotals, 0);
}

static void test_string(void **state)
{
    (void)state;
    u.rflags = 0x46;
    assert_true(recover(30));
    assert_int_equal(t.pc, 0x40100a);
    assert_int_equal(t.h_save[1], 0x200 + R_RCX);
    assert_int_equal(t.h_save[3], 0x200 + R_RSI);
    assert_int_equal(t.h_save[4], 0x200 + R_RDI);
    assert_int_equal(t.h_save[9], 0x4600);
}

// Code that records: r11 is log while the client's r11 is in its slot, else it is the client's.
static void test_recording(void **state)
{
    struct restore_progress left;

    (void)state;
    fragment.log = 77;
    t.record_at = 1;
    u.rip = fragment.hpc + 45;
    left = restore_recover(&t, &u);
    assert_int_equal(left.log, 77);
    assert_int_equal(left.insn, 1);
    assert_true(left.open && !left.closed);
    assert_int_equal(t.record_at, 0x20b);
    assert_int_equal(t.regs[11], 0x10b);
    u.rip = fragment.hpc + 50;
    left = restore_recover(&t, &u);
    assert_true(left.closed && !left.open);
    assert_int_equal(t.record_at, 0x20b);
    assert_int_equal(t.regs[11], 0x20b);
}

// Before a system call r11 holds what recording needs; the client's is in its slot.
static void test_gate(void **state)
{
    (void)state;
    t.sc_next = 0x401002;
    u.rip = stubs_at(STUB_GATE_GO);
    restore_gate_state(&t, &u);
    assert_int_equal(t.pc, 0x401000);
    assert_int_equal(t.regs[11], 0x10b);
    assert_int_equal(t.regs[R_RCX], 0x101);
    assert_int_equal(t.regs[R_RDX], 0x202);
    assert_int_equal(t.regs[R_RSP], 0x204);
    // Within the gate the stack is the engine's, and the client's stack pointer is in its slot; not
    // yet at the first instruction, which stores it.
    t.regs[R_RSP] = 0x104;
    u.rip = stubs_at(STUB_GATE) + 9;
    restore_gate_state(&t, &u);
    assert_int_equal(t.regs[R_RSP], 0x104);
    u.rip = stubs_at(STUB_GATE);
    restore_gate_state(&t, &u);
    assert_int_equal(t.regs[R_RSP], 0x204);
}

// On entry into a fragment: rax and rcx are the client's until they are stored; then the slots are.
static void test_watch(void **state)
{
    (void)state;
    t.watch = 8 * 5;
    t.regs[R_RAX] = 0x100;
    t.regs[R_RCX] = 0x101;
    u.rip = stubs_at(STUB_WATCH_SAVED) - 1;
    assert_int_equal(restore_find(u.rip), RESTORE_WATCH);
    restore_watch_state(&t, &u);
    assert_int_equal(t.pc, fragment.pc);
    assert_int_equal(t.regs[R_RAX], u.r[R_RAX]);
    assert_int_equal(t.regs[R_RCX], u.r[R_RCX]);
    assert_int_equal(t.regs[R_RDX], u.r[R_RDX]);
    assert_int_equal(t.regs[R_RSP], u.r[R_RSP]);
    t.regs[R_RAX] = 0x100;
    t.regs[R_RCX] = 0x101;
    u.rip = stubs_at(STUB_WATCH_SAVED);
    restore_watch_state(&t, &u);
    assert_int_equal(t.regs[R_RAX], 0x100);
    assert_int_equal(t.regs[R_RCX], 0x101);
    assert_int_equal(t.regs[R_RDX], u.r[R_RDX]);
    assert_int_equal(restore_find(stubs_at(STUB_WATCH_END) - 1), RESTORE_WATCH);
    assert_int_not_equal(restore_find(stubs_at(STUB_WATCH_END)), RESTORE_WATCH);
}

// A system call in an escape copy goes back to the dispatcher, whatever its jump was.
static void test_escape_syscall(void **state)
{
    s32 rel;

    (void)state;
    memset(code, 0x90, sizeof(code));
    memset(escape, 0, sizeof(escape));
    fragment.watch = 0;
    fragment.sc_jmp = 20;
    memset(code + 20, 0x12, 4);
    t.escape_buffer = (u64)escape;
    restore_escape(&t, fragment.hpc + 2);
    memcpy(&rel, escape + 20, 4);
    assert_int_equal((u64)escape + 24 + (u64)(s64)rel, stubs_at(STUB_SYSCALL_ESCAPED));
    assert_int_equal(escape[19], 0x90);
    assert_int_equal(escape[24], 0x90);
    fragment.sc_jmp = 0;
}

// The second entry leads to the dispatcher, not into the fragment.
static void test_escape_watch(void **state)
{
    s32 rel;

    (void)state;
    memset(code, 0x90, sizeof(code));
    memset(escape, 0, sizeof(escape));
    fragment.watch = 30;
    code[30 + WATCH_JUMP] = 0xe9;
    t.escape_buffer = (u64)escape;
    restore_escape(&t, fragment.hpc + 2);
    assert_int_equal(escape[30 + WATCH_JUMP], 0xe9);
    memcpy(&rel, escape + 30 + WATCH_JUMP + 1, 4);
    assert_int_equal((u32)((u64)escape + 30 + WATCH_JUMP + 5) + (u32)rel,
                     (u32)stubs_at(STUB_WATCHED));
}

// A relocation keeps its target; an exit leads to its stub, whatever it is linked to.
static void test_escape(void **state)
{
    s32 rel;

    (void)state;
    memset(code, 0x90, sizeof(code));
    rel = 0x1000;
    memcpy(code + 40, &rel, 4);
    rel = 0x2000;
    memcpy(code + 50, &rel, 4);
    t.escape_buffer = (u64)escape;
    assert_int_equal(restore_escape(&t, fragment.hpc + 12), (u64)escape + 12);
    assert_ptr_equal((void *)t.escape_fragment, &fragment);
    memcpy(&rel, escape + 40, 4);
    assert_int_equal((u32)((u64)escape + 44) + (u32)rel, (u32)((u64)code + 44 + 0x1000));
    memcpy(&rel, escape + 50, 4);
    assert_int_equal(50 + 4 + rel, 56);
    assert_int_equal(escape[0], 0x90);
    memcpy(&rel, code + 50, 4);
    assert_int_equal(rel, 0x2000); // the fragment itself has not changed
}

// Each look-up of an escape copy leads to the miss path: jmp rel32 over its last jump.
static void test_escape_look_ups(void **state)
{
    s32 rel;

    (void)state;
    memset(code, 0x90, sizeof(code));
    fragment.ibl_jmp[0] = 6;
    fragment.ibl_jmp[1] = 20;
    t.escape_buffer = (u64)escape;
    restore_escape(&t, fragment.hpc + 2);
    for (u32 i = 0; i < 2; i++) {
        const u8 *jump = escape + fragment.ibl_jmp[i];

        assert_int_equal(*jump, 0xe9);
        memcpy(&rel, jump + 1, 4);
        assert_int_equal((u32)((u64)jump + 5) + (u32)rel, (u32)stubs_at(STUB_IBL_MISS));
        assert_int_equal(jump[-1], 0x90);
        assert_int_equal(jump[5], 0x90);
        assert_int_equal(code[fragment.ibl_jmp[i]], 0x90);
    }
    fragment.ibl_jmp[1] = 0; // none: the copy does not begin with a jump
    memset(escape, 0, sizeof(escape));
    restore_escape(&t, fragment.hpc + 2);
    assert_int_equal(escape[0], 0x90);
    assert_int_equal(escape[20], 0x90);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_stubs, setup),
        cmocka_unit_test_setup(test_recover, setup),
        cmocka_unit_test_setup(test_spilled, setup),
        cmocka_unit_test_setup(test_bumped, setup),
        cmocka_unit_test_setup(test_string, setup),
        cmocka_unit_test_setup(test_watch, setup),
        cmocka_unit_test_setup(test_escape_syscall, setup),
        cmocka_unit_test_setup(test_escape_watch, setup),
        cmocka_unit_test_setup(test_escape, setup),
        cmocka_unit_test_setup(test_recording, setup),
        cmocka_unit_test_setup(test_gate, setup),
        cmocka_unit_test_setup(test_superblock, setup),
        cmocka_unit_test_setup(test_totals, setup),
        cmocka_unit_test_setup(test_escape_look_ups, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
