// SPDX-License-Identifier: MIT
// engine/emit/tb.c, state.c and helpercall.c: what is noted of a block while code is emitted, which
// register becomes free, and the code that spills, saves flags and calls helpers. Zydis decodes the
// code: each instruction is a mnemonic with its operands, an address at %gs in brackets by its name
// (`R3` the client's register 3, `LOG`, `FLAGS`, ...).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <Zydis/Zydis.h>

#include "engine/codecache/helperdesc.h"
#include "engine/emit/helpercall.h"
#include "engine/emit/state.h"
#include "engine/emit/tb.h"
#include "engine/thread/thread.h"

static struct tb b;
static u8 code[65536] __attribute__((aligned(64)));
static ZydisDecoder decoder;
static char text[2048];

static int setup(void **state)
{
    (void)state;
    memset(&b, 0, sizeof(b));
    memset(code, 0xcc, sizeof(code));
    b.code = (struct x86){ code, code, code + sizeof(code), false };
    return 0;
}

static const char *place(s64 disp)
{
    static char name[16];

    switch (disp) {
    case TH_FLAGS_SAVE: return "FLAGS";
    case TH_RECORD_AT: return "LOG";
    case TH_CLIENT_SP: return "CLIENT_SP";
    case TH_ENGINE_SP: return "ENGINE_SP";
    case TH_H_DESC: return "DESC";
    case TH_H_DESC + 4: return "DESC+4";
    default: break;
    }
    if (disp < 0 || disp >= 128 || disp % 8)
        return "elsewhere";
    snprintf(name, sizeof(name), "R%ld", disp / 8);
    return name;
}

// The code that was emitted from `from` on, without padding.
static const char *emitted(u32 from)
{
    char *to = text;

    text[0] = '\0';
    for (u32 off = from; off < tb_off(&b);) {
        ZydisDecodedInstruction zi;
        ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];

        assert_true(ZYAN_SUCCESS(
            ZydisDecoderDecodeFull(&decoder, code + off, tb_off(&b) - off, &zi, op)));
        off += zi.length;
        if (zi.mnemonic == ZYDIS_MNEMONIC_NOP)
            continue;
        to += sprintf(to, "%s%s", to == text ? "" : "; ", ZydisMnemonicGetString(zi.mnemonic));
        for (u32 i = 0; i < zi.operand_count_visible; i++) {
            to += sprintf(to, i ? ", " : " ");
            if (op[i].type == ZYDIS_OPERAND_TYPE_REGISTER) {
                to += sprintf(to, "%s", ZydisRegisterGetString(op[i].reg.value));
            } else if (op[i].type == ZYDIS_OPERAND_TYPE_MEMORY) {
                assert_int_equal(op[i].mem.segment, ZYDIS_REGISTER_GS);
                to += sprintf(to, "[%s]", place(op[i].mem.disp.value));
            } else {
                to += sprintf(to, "%lx", op[i].imm.value.u);
            }
        }
    }
    return text;
}

static void give(u32 reg)
{
    b.given = b.spilled = (u16)(1u << reg);
}

// -- what is noted --

static void is_recipe(u32 k, u32 off, u32 insn, u32 spilled, u32 flags)
{
    const struct recipe *r = &b.draft.recipe[k];

    assert_int_equal(r->off, off);
    assert_int_equal(r->insn, insn);
    assert_int_equal(r->spilled, spilled);
    assert_int_equal(r->flags, flags);
}

// One for each state, from the offset where it starts; of two at one offset the second.
static void test_recipes(void **state)
{
    (void)state;
    tb_mark(&b);
    is_recipe(0, 0, 0, 0, 0);
    b.code.p += 4;
    tb_mark(&b); // nothing has changed
    assert_int_equal(b.draft.nrecipes, 1);
    b.bumped = true;
    tb_mark(&b);
    is_recipe(1, 4, 0, 0, RECIPE_BUMPED);
    b.cur = 3;
    tb_mark(&b);
    assert_int_equal(b.draft.nrecipes, 2);
    is_recipe(1, 4, 3, 0, RECIPE_BUMPED);
    b.code.p += 1;
    b.spilled = 6;
    b.flags_saved = b.in_rep = true;
    tb_mark(&b);
    is_recipe(2, 5, 3, 6, RECIPE_BUMPED | RECIPE_FLAGS_SAVED | RECIPE_REP);
    b.code.p += 1;
    b.log_state = RECIPE_OPEN;
    b.bumped = b.flags_saved = b.in_rep = false;
    tb_mark(&b); // without recording there is no record
    is_recipe(3, 6, 3, 6, 0);
    b.code.p += 1;
    b.given = 1u << 11;
    tb_mark(&b);
    is_recipe(4, 7, 3, 6, RECIPE_RECORD | RECIPE_OPEN);
    assert_int_equal(b.draft.nrecipes, 5);
    assert_false(b.overflow);
}

// Where the space is used up, `overflow` is set and nothing is written.
static void test_full(void **state)
{
    (void)state;
    for (u32 i = 0; i < FRAGMENT_RECIPES_MAX; i++) {
        b.cur = i;
        b.code.p = code + i;
        tb_mark(&b);
    }
    assert_false(b.overflow);
    b.cur++;
    b.code.p++;
    tb_mark(&b);
    assert_true(b.overflow);
    assert_int_equal(b.draft.nrecipes, FRAGMENT_RECIPES_MAX);
    b.overflow = false;
    for (u32 i = 0; i < FRAGMENT_RELOCS_MAX; i++)
        tb_reloc(&b, i);
    assert_false(b.overflow);
    tb_reloc(&b, 4711);
    assert_true(b.overflow);
    assert_int_equal(b.draft.nrelocs, FRAGMENT_RELOCS_MAX);
    assert_int_equal(b.draft.reloc[FRAGMENT_RELOCS_MAX - 1], FRAGMENT_RELOCS_MAX - 1);
    b.overflow = false;
    for (u32 i = 0; i < TB_COLD_MAX; i++)
        assert_ptr_equal(tb_cold(&b, COLD_BC, (struct x86_label){ 0, 4 }), &b.cold[i]);
    assert_false(b.overflow);
    assert_ptr_equal(tb_cold(&b, COLD_BC, (struct x86_label){ 0, 4 }), &b.cold[TB_COLD_MAX - 1]);
    assert_true(b.overflow);
    assert_int_equal(b.ncold, TB_COLD_MAX);
}

// A jump out of the fragment is relocated in a copy: the offset of its displacement is noted.
static void test_ways_out(void **state)
{
    s32 rel;

    (void)state;
    tb_jmp_out(&b, (u64)code + 1000);
    tb_call_out(&b, (u64)code - 1000);
    assert_int_equal(b.draft.nrelocs, 2);
    assert_int_equal(b.draft.reloc[0], 1);
    assert_int_equal(b.draft.reloc[1], 6);
    assert_int_equal(code[0], 0xe9);
    memcpy(&rel, code + 1, 4);
    assert_int_equal(rel, 1000 - 5);
    assert_int_equal(code[5], 0xe8);
    memcpy(&rel, code + 6, 4);
    assert_int_equal(rel, -1000 - 10);
}

// A cold part starts with the state at the jump to it, and returns behind that jump.
static void test_cold(void **state)
{
    struct x86_label jump = x86_jcc(&b.code, 5);
    struct cold *c;
    s32 rel;

    (void)state;
    b.dumped = true;
    b.cur = 4;
    b.spilled = 0x88;
    b.flags_saved = true;
    c = tb_cold(&b, COLD_IREF, jump);
    assert_int_equal(c->kind, COLD_IREF);
    assert_int_equal(c->back, (u64)b.code.p);
    b.code.p += 10;
    b.cur = 9;
    b.spilled = 0;
    b.flags_saved = false;
    tb_cold_begin(&b, c);
    memcpy(&rel, code + jump.at, 4);
    assert_int_equal(jump.at + 4 + (u32)rel, tb_off(&b));
    assert_int_equal(b.cur, 4);
    assert_int_equal(b.spilled, 0x88);
    assert_true(b.flags_saved);
    assert_int_equal(b.nparts, 1);
    assert_int_equal(b.part[0].off, tb_off(&b));
    assert_int_equal(b.part[0].insn, 4);
    assert_int_equal(b.part[0].kind, SPOOL_CODE_COLD);
    b.dumped = false;
    tb_part(&b, SPOOL_CODE_MAIN, 1);
    assert_int_equal(b.nparts, 1);
}

// -- registers and flags --

// One that is spilled already, else that whose next use is farthest away; never the stack pointer,
// the reserved register, or those to avoid.
static void test_scratch(void **state)
{
    (void)state;
    b.n = 3;
    b.insn[0].regs = 1u << 9;
    b.insn[1].regs = 1u << 11;
    b.insn[2].regs = 1u << 10;
    assert_int_equal(state_scratch(&b, 0), 8); // none of the three instructions uses it
    assert_string_equal(emitted(0), "mov [R8], r8");
    assert_int_equal(state_scratch(&b, 0), 8);
    assert_string_equal(emitted(0), "mov [R8], r8");
    assert_int_equal(state_scratch(&b, 1u << 8), 15);
    b.spilled = 0;
    // All of them are used: 10 last.
    b.insn[1].regs = 0xffff & ~(1u << 10);
    b.insn[0].regs = 1u << 10 | 1u << 9;
    b.insn[2].regs = 0xffff;
    b.cur = 1;
    assert_int_equal(state_scratch(&b, 0), 10);
    b.spilled = 0;
    assert_int_equal(state_scratch(&b, 1u << 10), 11); // all at the same distance: the first
    // Earlier instructions do not count.
    b.spilled = 0;
    b.cur = 2;
    b.insn[2].regs = 1u << 11;
    assert_int_equal(state_scratch(&b, 0), 10);
    b.spilled = 0;
    give(11);
    b.insn[2].regs = 0;
    assert_int_equal(state_scratch(&b, 0), 10); // not 11: it is spilled, but reserved
    b.spilled = 0;
    b.given = 0;
    assert_int_equal(state_scratch(&b, 0xffff & ~(1u << R_RAX)), R_RAX);
}

static void test_spill(void **state)
{
    (void)state;
    state_spill(&b, R_RBX);
    state_spill(&b, R_RBX);
    assert_int_equal(b.spilled, 1u << R_RBX);
    state_unspill(&b, R_RSI);
    state_unspill(&b, R_RBX);
    assert_int_equal(b.spilled, 0);
    assert_string_equal(emitted(0), "mov [R3], rbx; mov rbx, [R3]");
    b.spilled = 1u << 12 | 1u << R_RCX | 1u << 9;
    state_unspill_mask(&b, ~(1u << 9));
    assert_int_equal(b.spilled, 1u << 9);
    assert_string_equal(emitted(18), "mov rcx, [R1]; mov r12, [R12]");
}

// The reserved register is the record's address where it is spilled. Each change makes a recipe.
static void test_given(void **state)
{
    u32 off;

    (void)state;
    give(11);
    state_unspill(&b, 11);
    assert_string_equal(emitted(0), "mov [LOG], r11; mov r11, [R11]");
    assert_int_equal(b.spilled, 0);
    assert_true(b.log_stored);
    is_recipe(0, tb_off(&b), 0, 0, RECIPE_RECORD);
    off = tb_off(&b);
    state_spill(&b, 11); // unchanged
    assert_string_equal(emitted(off), "mov r11, [LOG]");
    is_recipe(1, tb_off(&b), 0, 1u << 11, RECIPE_RECORD);
    off = tb_off(&b);
    state_unspill(&b, 11); // the address was stored
    assert_string_equal(emitted(off), "mov r11, [R11]");
    b.given_dirty = true;
    off = tb_off(&b);
    state_spill(&b, 11);
    assert_string_equal(emitted(off), "mov [R11], r11; mov r11, [LOG]");
}

static void test_flags(void **state)
{
    u32 off;

    (void)state;
    state_flags_free(&b, 0);
    assert_int_equal(tb_off(&b), 0);
    state_flags_restore(&b);
    assert_int_equal(tb_off(&b), 0);
    state_flags_free(&b, 1);
    state_flags_free(&b, 1);
    assert_true(b.flags_saved);
    assert_string_equal(emitted(0), "mov [R0], rax; lahf; seto al; mov [FLAGS], rax");
    off = tb_off(&b);
    state_flags_restore(&b);
    state_flags_restore(&b);
    assert_false(b.flags_saved);
    assert_string_equal(emitted(off), "mov rax, [FLAGS]; add al, 7f; sahf");
    off = tb_off(&b);
    b.flags_saved = true;
    b.spilled |= 1u << R_RDX;
    give(11);
    b.spilled = 1u << R_RAX | 1u << R_RDX;
    state_clean_but(&b, 1u << R_RDX);
    assert_string_equal(emitted(off),
                        "mov rax, [FLAGS]; add al, 7f; sahf; mov rax, [R0]; mov r11, [LOG]");
    off = tb_off(&b);
    state_clean(&b);
    assert_string_equal(emitted(off), "mov rdx, [R2]");
    assert_int_equal(b.spilled, 1u << 11);
}

// -- helpers --

// A helper runs on the engine's stack; its descriptor is after the return address, aligned.
static void test_helpercall(void **state)
{
    (void)state;
    for (u32 k = 0; k < 4; k++) {
        u32 off, words[2] = { 0x11223344, 0x55667788 };
        s32 rel;

        setup(state);
        b.code.p += k;
        helpercall_emit(&b, (u64)code + 40000);
        assert_int_equal(b.draft.nrelocs, 1);
        off = b.draft.reloc[0];
        assert_in_range(off, k + 19, k + 19 + 3);
        memcpy(&rel, code + off, 4);
        assert_int_equal(off + 4 + (u32)rel, 40000);
        assert_int_equal((off + 4 + HELPERDESC_AT) % 4, 0);
        code[off] = code[off + 1] = code[off + 2] = code[off + 3] = 0;
        sprintf(text, "%x", off + 4);
        assert_string_equal(strchr(emitted(k), 'm'),
                            "mov [CLIENT_SP], rsp; mov rsp, [ENGINE_SP]; call 0; "
                            "mov rsp, [CLIENT_SP]");
        helpercall_back(&b, (u64)code, words, sizeof(words));
        assert_memory_equal(code + off + 4 + HELPERDESC_AT, words, sizeof(words));
        assert_int_equal(tb_off(&b), off + 4 + HELPERDESC_AT + sizeof(words));
    }
}

static void test_describe(void **state)
{
    (void)state;
    helpercall_describe(&b, 0x12345678, 0x9abc);
    assert_string_equal(emitted(0), "mov [DESC], 12345678; mov [DESC+4], 9abc");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_recipes, setup),
        cmocka_unit_test_setup(test_full, setup),
        cmocka_unit_test_setup(test_ways_out, setup),
        cmocka_unit_test_setup(test_cold, setup),
        cmocka_unit_test_setup(test_scratch, setup),
        cmocka_unit_test_setup(test_spill, setup),
        cmocka_unit_test_setup(test_given, setup),
        cmocka_unit_test_setup(test_flags, setup),
        cmocka_unit_test_setup(test_helpercall, setup),
        cmocka_unit_test_setup(test_describe, setup),
    };

    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return cmocka_run_group_tests_name("emit/tb", tests, NULL, NULL);
}
