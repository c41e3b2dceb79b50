// SPDX-License-Identifier: MIT
// engine/replay/routine.c: when the clock of a replay ticks, from the code of routines, which is
// read by Zydis and not executed. A routine is told as a text: `t` the clock ticks, `f` the line of
// a fetch gets the time, `d` that of a data reference, `.` the record's end.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <Zydis/Zydis.h>

#include "engine/base/cpu.h"
#include "engine/count/caches.h"
#include "engine/count/ll.h"
#include "engine/replay/area.h"
#include "engine/replay/perform.h"
#include "engine/replay/routine.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"

// -- the rooms that routine.c calls --

struct cpu cpu;
struct tb_config tb_config;
static struct spool_header header = { .d1 = { 32768, 8, 64 } };
struct spool_header *spool = &header;

bool caches_by_vectors(void)
{
    return false;
}

bool ll_is_shared(void)
{
    return false;
}

const u64 *perform_branch(struct thread *t, const u64 *record)
{
    (void)t;
    return record;
}

// Only their addresses are asked for (routine.S).
#define PLACE(name)  \
    void name(void); \
    void name(void) {}
PLACE(routine_exit)
PLACE(routine_miss_d1)
PLACE(routine_miss_i1)
PLACE(routine_miss_i1_two)
PLACE(routine_to_d1)
PLACE(routine_to_ll)
PLACE(routine_to_next)
PLACE(routine_to_op)

// -- the test's side --

static struct log_draft draft;
static ZydisDecoder decoder;

static int setup(void **state)
{
    (void)state;
    tb_config = (struct tb_config){ .d1_sets = 64, .d1_shift = 6, .i1_sets = 64, .i1_shift = 6,
                                    .stamps = true, .defer = true, .cache = true };
    memset(&draft, 0, sizeof(draft));
    draft.block = (struct log_block){ .pc = 0x1000, .slots = 3, .sp = LOG_STACK_SLOT, .nexts = 1,
                                      .blocks = 1 };
    area_flush();
    return 0;
}

static void op(enum log_kind kind, u32 base, u64 add, u32 line)
{
    draft.op[draft.block.nops++] =
        (struct log_op){ .kind = (u8)kind, .base = (u16)base, .index = LOG_NO_SLOT, .size = 8,
                         .first = line, .last = line, .add = add };
}

// As replay_publish() makes it.
static const char *made(void)
{
    static char text[64];
    char *to = text;
    u8 *code = (u8 *)REPLAY_BASE + area_next_id(), *end;

    end = routine_make(area_publish(&draft), code, code + AREA_CODE_MAX);
    area_code_ends(end);
    for (u8 *at = code; at < end;) {
        ZydisDecodedInstruction zi;
        ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];

        assert_true(ZYAN_SUCCESS(
            ZydisDecoderDecodeFull(&decoder, at, (u64)(end - at), &zi, o)));
        at += zi.length;
        assert_true(to < text + sizeof(text) - 1);
        if (zi.mnemonic == ZYDIS_MNEMONIC_LEA && o[0].reg.value == ZYDIS_REGISTER_RBP) {
            assert_int_equal(o[1].mem.base, ZYDIS_REGISTER_RBP);
            assert_int_equal(o[1].mem.disp.value, CACHES_TICK);
            *to++ = 't';
        } else if (zi.mnemonic == ZYDIS_MNEMONIC_LEA && o[0].reg.value == ZYDIS_REGISTER_RBX) {
            *to++ = '.';
            break;
        } else if (zi.mnemonic == ZYDIS_MNEMONIC_MOV && o[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
                   o[1].reg.value == ZYDIS_REGISTER_RBP) {
            *to++ = o[0].mem.base == ZYDIS_REGISTER_R8 ? 'd' : 'f';
        }
    }
    *to = '\0';
    return text;
}

// Before a data reference, unless the one before was made of the same value, so near that they
// cannot be of one set; at the end, if it has not since the last fetch.
static void test_ticks(void **state)
{
    (void)state;
    op(LOG_FETCH, LOG_NO_SLOT, 0x1000, 5);
    assert_string_equal(made(), "ft.");
    op(LOG_REF, 1, 0, 0);
    assert_string_equal(made(), "ftd.");
    op(LOG_REF, 2, 0x100, 0); // of another value
    assert_string_equal(made(), "ftdtd.");
    op(LOG_REF, 2, 0x200, 0);
    assert_string_equal(made(), "ftdtdd.");
    op(LOG_REF, 2, 0x8000, 0); // 64 sets of 64 bytes further on
    assert_string_equal(made(), "ftdtddtd.");
    op(LOG_FETCH, LOG_NO_SLOT, 0x1040, 6);
    assert_string_equal(made(), "ftdtddtdft.");
}

// What one routine has referred to is nothing to the next.
static void test_begins(void **state)
{
    (void)state;
    op(LOG_REF, 1, 0, 0);
    assert_string_equal(made(), "td.");
    assert_string_equal(made(), "td.");
    setup(state);
    op(LOG_FETCH, LOG_NO_SLOT, 0x1000, 5);
    op(LOG_REF, 1, 8, 0);
    assert_string_equal(made(), "ftd.");
    assert_string_equal(made(), "ftd.");
}

// Whoever goes on where a replay was killed has to know the word that is next: it is stored behind
// each record, and behind the word that says how a branch ended.
static void test_where(void **state)
{
    (void)state;
    for (u32 said = 0; said < 2; said++) {
        u8 *code = (u8 *)REPLAY_BASE + area_next_id(), *end;
        u32 moved = 0, stored = 0;

        draft.block.tail = said ? LOG_COND : LOG_NEXT;
        draft.block.said = said;
        end = routine_make(area_publish(&draft), code, code + AREA_CODE_MAX);
        area_code_ends(end);
        for (u8 *at = code; at < end;) {
            ZydisDecodedInstruction zi;
            ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];

            assert_true(ZYAN_SUCCESS(
                ZydisDecoderDecodeFull(&decoder, at, (u64)(end - at), &zi, o)));
            at += zi.length;
            moved += zi.mnemonic == ZYDIS_MNEMONIC_LEA && o[0].reg.value == ZYDIS_REGISTER_RBX;
            stored += zi.mnemonic == ZYDIS_MNEMONIC_MOV &&
                      o[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
                      o[0].mem.base == ZYDIS_REGISTER_R12 &&
                      o[0].mem.disp.value == TH_RECORD && o[1].reg.value == ZYDIS_REGISTER_RBX;
        }
        assert_int_equal(moved, 1 + said);
        assert_int_equal(stored, 1 + said);
    }
}

// A fetch of two lines that are of one set, or of a line that has no hint, is C's.
static void test_in_c(void **state)
{
    (void)state;
    for (u32 k = 0; k < 3; k++) {
        u8 *code, *end;
        u32 calls = 0;

        setup(state);
        code = (u8 *)REPLAY_BASE + area_next_id();
        tb_config.i1_sets = k == 1 ? 1 : 64;
        op(LOG_FETCH, LOG_NO_SLOT, 0x1000, k == 2 ? TA_I1_IDS : 5);
        draft.op[0].last = k == 1 ? 6 : draft.op[0].first;
        end = routine_make(area_publish(&draft), code, code + AREA_CODE_MAX);
        for (u8 *at = code; at < end;) {
            ZydisDecodedInstruction zi;
            ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];

            assert_true(ZYAN_SUCCESS(
                ZydisDecoderDecodeFull(&decoder, at, (u64)(end - at), &zi, o)));
            at += zi.length;
            if (zi.mnemonic == ZYDIS_MNEMONIC_LEA && o[0].reg.value == ZYDIS_REGISTER_RBX)
                break; // the record's end: what comes then are parts that miss
            calls += zi.mnemonic == ZYDIS_MNEMONIC_CALL;
        }
        assert_int_equal(calls, k > 0);
    }
}

static int first(void **state)
{
    (void)state;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return (int)area_init();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_ticks, setup),
        cmocka_unit_test_setup(test_begins, setup),
        cmocka_unit_test_setup(test_where, setup),
        cmocka_unit_test_setup(test_in_c, setup),
    };

    return cmocka_run_group_tests_name("replay/routine", tests, first, NULL);
}
