// SPDX-License-Identifier: MIT
// engine/replay/routine.c: when the clock of a replay ticks, from the code of routines, which Zydis
// decodes and nothing executes. A routine is told as text: `t` the clock ticks, `f` the line of a
// fetch gets the time, `d` that of a data reference, `.` the record's end.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <Zydis/Zydis.h>

#include "engine/base/cpu.h"
#include "engine/count/caches.h"
#include "engine/count/levels.h"
#include "engine/count/ll.h"
#include "engine/count/vector.h"
#include "engine/replay/arena.h"
#include "engine/replay/interpret.h"
#include "engine/replay/routine.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "tests/unit/count/curve_none.h"

// -- fakes of what routine.c calls --

struct cpu cpu;
struct tb_config tb_config;
static struct spool_header header = { .d1 = { 32768, 8, 64 } };
struct spool_header *spool = &header;

bool caches_by_vectors(void)
{
    return false;
}

static bool whole; // sets are whole vectors

bool many_wait;

bool caches_d1_by_whole_vectors(void)
{
    return whole;
}

bool caches_by_whole_vectors(void)
{
    return whole;
}

static u32 d1_stride = 8;

u32 caches_d1_stride(void)
{
    return d1_stride;
}

u32 caches_fetch_bits(u32 id)
{
    (void)id;
    return levels_are_on() ? LL_FETCH : 0;
}

bool levels_are_on(void)
{
    return false;
}

bool ll_is_shared(void)
{
    return false;
}

const u64 *interpret_branch(struct thread *t, const u64 *record)
{
    (void)t;
    return record;
}

static u32 interpreted; // records, all of one word

u32 interpret_insns(const struct record_block *b, u32 nops)
{
    return nops == b->nops ? b->ncores : nops;
}

const u64 *interpret_record(struct thread *t, const u64 *record)
{
    (void)t;
    interpreted++;
    return record + 1;
}

// Only their addresses are used (routine.S).
#define PLACE(name)  \
    void name(void); \
    void name(void) {}
PLACE(routine_exit)
PLACE(routine_avx2_d1_8)
PLACE(routine_avx2_d1_12)
PLACE(routine_avx2_d1_16)
PLACE(routine_avx2_i1_4)
PLACE(routine_avx2_i1_8)
PLACE(routine_avx2_i1_16)
PLACE(routine_miss_d1)
PLACE(routine_miss_d1_used)
PLACE(routine_miss_d1_8)
PLACE(routine_miss_d1_16)
PLACE(routine_to_cold)
PLACE(routine_miss_i1)
PLACE(routine_miss_i1_8)
PLACE(routine_miss_i1_16)
PLACE(routine_miss_i1_two)
PLACE(routine_sampled)
PLACE(routine_ahead_note)
PLACE(routine_ahead_left)
PLACE(routine_ahead_back)
PLACE(routineseen_any)
PLACE(routineseen_other)
PLACE(routine_drain)
PLACE(routine_avx2_drain)
PLACE(routine_late_drain)
PLACE(routine_late_d1_8)
PLACE(routine_late_d1_16)
PLACE(routine_late_i1_8)
PLACE(routine_late_i1_16)
PLACE(routine_waits_drain)
PLACE(routine_objects_at)
PLACE(routine_used_d1_8)
PLACE(routine_used_d1_16)
PLACE(routine_late_used_d1_8)
PLACE(routine_late_used_d1_16)
PLACE(routine_begin_frame)
PLACE(routine_end_frame)
PLACE(routine_renew_frame)
PLACE(routine_to_d1)
PLACE(routine_to_cond)
PLACE(routine_to_indirect)
PLACE(routine_to_learn)
PLACE(routine_to_ll)
PLACE(routine_to_next)
PLACE(routine_to_op)

// -- helpers of the tests --

static struct record_draft draft;
static struct thread thread;
static ZydisDecoder decoder;

static int setup(void **state)
{
    (void)state;
    tb_config = (struct tb_config){ .d1_sets = 64,
                                    .d1_shift = 6,
                                    .i1_sets = 64,
                                    .i1_shift = 6,
                                    .stamps = true,
                                    .recording = true,
                                    .cache = true };
    memset(&draft, 0, sizeof(draft));
    draft.block = (struct record_block){
        .pc = 0x1000, .slots = 3, .sp = RECORD_STACK_SLOT, .nexts = 1, .blocks = 1
    };
    memset(&thread, 0, sizeof(thread));
    whole = false;
    header.d1.assoc = d1_stride = 8;
    header.stress_flush = 1; // routines are made at once
    interpreted = 0;
    arena_flush();
    return 0;
}

static void op(enum record_kind kind, u32 base, u64 add, u32 line)
{
    struct record_op *o = &draft.op[draft.block.nops++];

    *o = (struct record_op){ .kind = (u8)kind, .add = add };
    if (kind == RECORD_FETCH) {
        o->bytes = 8;
        o->first = o->last = line;
    } else {
        o->base = (u16)base;
        o->index = RECORD_NO_SLOT;
        o->size = 8;
    }
}

// As arena_publish() does it. Returns the code at the id; *end: its end.
static u8 *publish(u8 **end)
{
    u8 *code = (u8 *)REPLAY_BASE + arena_next_id();

    *end = routine_begin(arena_publish(&draft), code);
    arena_code_ends(*end);
    return code;
}

static const char *text_of(u8 *code, const u8 *end)
{
    static char text[64];
    char *to = text;

    for (u8 *at = code; at < end;) {
        ZydisDecodedInstruction zi;
        ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];

        assert_true(ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, at, (u64)(end - at), &zi, o)));
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

static const char *made(void)
{
    u8 *end, *code = publish(&end);

    return text_of(code, end);
}

// Before a data reference, unless the previous one used the same value, and is so near that they
// cannot be of one set; at the end, if it has not ticked since the last fetch.
static void test_vtsc(void **state)
{
    (void)state;
    op(RECORD_FETCH, RECORD_NO_SLOT, 0x1000, 5);
    assert_string_equal(made(), "ft.");
    op(RECORD_REF, 1, 0, 0);
    assert_string_equal(made(), "ftd.");
    op(RECORD_REF, 2, 0x100, 0); // of another value
    assert_string_equal(made(), "ftdtd.");
    op(RECORD_REF, 2, 0x200, 0);
    assert_string_equal(made(), "ftdtdd.");
    op(RECORD_REF, 2, 0x8000, 0); // 64 sets of 64 bytes further on
    assert_string_equal(made(), "ftdtddtd.");
    op(RECORD_FETCH, RECORD_NO_SLOT, 0x1040, 6);
    assert_string_equal(made(), "ftdtddtdft.");
}

// References of one routine do not affect the next.
static void test_begins(void **state)
{
    (void)state;
    op(RECORD_REF, 1, 0, 0);
    assert_string_equal(made(), "td.");
    assert_string_equal(made(), "td.");
    setup(state);
    op(RECORD_FETCH, RECORD_NO_SLOT, 0x1000, 5);
    op(RECORD_REF, 1, 8, 0);
    assert_string_equal(made(), "ftd.");
    assert_string_equal(made(), "ftd.");
}

// A salvage has to know the next word: it is stored after each record, and after the word that has
// a branch's outcome.
static void test_restore(void **state)
{
    (void)state;
    for (u32 said = 0; said < 2; said++) {
        u8 *code, *end;
        u32 moved = 0, stored = 0;

        draft.block.tail = said ? RECORD_COND : RECORD_NEXT;
        draft.block.said = said;
        code = publish(&end);
        for (u8 *at = code; at < end;) {
            ZydisDecodedInstruction zi;
            ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];

            assert_true(
                ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, at, (u64)(end - at), &zi, o)));
            at += zi.length;
            moved += zi.mnemonic == ZYDIS_MNEMONIC_LEA && o[0].reg.value == ZYDIS_REGISTER_RBX;
            stored += zi.mnemonic == ZYDIS_MNEMONIC_MOV && o[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
                      o[0].mem.base == ZYDIS_REGISTER_R12 && o[0].mem.disp.value == TH_RECORD &&
                      o[1].reg.value == ZYDIS_REGISTER_RBX;
        }
        assert_int_equal(moved, 1 + said);
        assert_int_equal(stored, 1 + said);
    }
}

// With samples a record takes its instructions off what is left of the phase, and routines end
// there if that was too much. Each fetch, and each edge of a branch, looks whether there is
// something to learn.
static void test_sampled(void **state)
{
    ZydisMnemonic before = ZYDIS_MNEMONIC_INVALID;
    u32 off = 0, ends = 0, looks = 0;
    u8 *code, *end;

    (void)state;
    tb_config.branch = tb_config.predictor = true;
    tb_config.core = tb_config.sampled = tb_config.learns = true;
    draft.block.tail = RECORD_COND;
    draft.block.ncores = 5;
    op(RECORD_FETCH, RECORD_NO_SLOT, 0x1000, 5);
    op(RECORD_FETCH, RECORD_NO_SLOT, 0x1040, 6);
    code = publish(&end);
    for (u8 *at = code; at < end;) {
        ZydisDecodedInstruction zi;
        ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];
        bool mine;

        assert_true(ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, at, (u64)(end - at), &zi, o)));
        at += zi.length;
        mine = o[0].type == ZYDIS_OPERAND_TYPE_MEMORY && o[0].mem.base == ZYDIS_REGISTER_R12;
        if (mine && o[0].mem.disp.value == TH_CORE_LEFT) {
            assert_int_equal(zi.mnemonic, ZYDIS_MNEMONIC_ADD);
            assert_int_equal(o[1].imm.value.s, -5);
            off++;
        }
        if (mine && o[0].mem.disp.value == TH_CORE_PHASE && zi.mnemonic == ZYDIS_MNEMONIC_CMP)
            looks++;
        ends += zi.mnemonic == ZYDIS_MNEMONIC_JS && before == ZYDIS_MNEMONIC_ADD;
        before = zi.mnemonic;
    }
    assert_int_equal(off, 1);
    assert_int_equal(ends, 1);
    // Two fetches; both edges, with a link and where none can be made.
    assert_int_equal(looks, 2 + 2 + 2);
}

// A fetch of two lines of one set, or of a line without a hint, is left to C.
static void test_in_c(void **state)
{
    (void)state;
    for (u32 k = 0; k < 3; k++) {
        u8 *code, *end;
        u32 calls = 0;

        setup(state);
        tb_config.i1_sets = k == 1 ? 1 : 64;
        op(RECORD_FETCH, RECORD_NO_SLOT, 0x1000, k == 2 ? TA_I1_IDS : 5);
        draft.op[0].last = k == 1 ? 6 : draft.op[0].first;
        code = publish(&end);
        for (u8 *at = code; at < end;) {
            ZydisDecodedInstruction zi;
            ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];

            assert_true(
                ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, at, (u64)(end - at), &zi, o)));
            at += zi.length;
            if (zi.mnemonic == ZYDIS_MNEMONIC_LEA && o[0].reg.value == ZYDIS_REGISTER_RBX)
                break; // the record's end: cold parts follow
            calls += zi.mnemonic == ZYDIS_MNEMONIC_CALL;
        }
        assert_int_equal(calls, k > 0);
    }
}

// -- routines made during replays --

struct next { // as in routine.c
    u64 to;
    const u64 *record;
};

struct next routine_cold(struct thread *t, const u64 *record);
struct next routine_next(struct thread *t, void *tail, const u64 *record);

// A block without sides, with a fetch and a reference; its id.
static u32 cold_block(void)
{
    u8 *end, *code;

    setup(NULL);
    routine_init();
    header.stress_flush = 0;
    draft.block.slots = 1;
    op(RECORD_FETCH, RECORD_NO_SLOT, 0x1000, 5);
    op(RECORD_REF, 1, 0, 0);
    code = publish(&end);
    assert_ptr_equal(end, code);
    assert_int_equal(arena_code((u32)((u64)code - REPLAY_BASE)), REPLAY_BASE + ROUTINE_COLD);
    return (u32)((u64)code - REPLAY_BASE);
}

// The seventh record gets a routine, the same as one made at once. The clock has ticked once after
// each record before, whose references (fakes here) tick themselves.
static void test_late(void **state)
{
    u32 id = cold_block();
    u64 words[] = { id, id, id, id, id, id, id, id, RECORD_END };
    struct next n = routine_cold(&thread, words);
    char late[64];

    assert_int_equal(interpreted, 6);
    assert_ptr_equal(n.record, words + 6);
    assert_int_equal(n.to, REPLAY_BASE + REPLAY_SIZE / 2);
    assert_int_equal(arena_head(id)->routine, REPLAY_SIZE / 2);
    assert_int_equal(thread.clock, 6 * CACHES_TICK);
    assert_int_equal(thread.record, words + 6);
    strcpy(late, text_of((u8 *)n.to, (u8 *)REPLAY_BASE + arena_second.low));
    assert_string_equal(late, "ftd.");
    header.stress_flush = 1;
    assert_string_equal(made(), late);
    // Until then it continues at an entry that is no record, and the next time it is as cold as
    // before.
    id = cold_block();
    words[0] = words[3] = id;
    words[1] = words[5] = RECORD_END;
    words[4] = RECORD_STACK;
    n = routine_cold(&thread, words);
    assert_int_equal(n.to, REPLAY_BASE + RECORD_END);
    assert_ptr_equal(n.record, words + 1);
    n = routine_cold(&thread, words + 3);
    assert_int_equal(n.to, REPLAY_BASE + RECORD_STACK);
    assert_ptr_equal(n.record, words + 4);
    assert_int_equal(interpreted, 2);
    assert_int_equal(arena_head(id)->routine, ROUTINE_COLD);
    (void)state;
}

// Without space they stay cold, and get their routines when there is space.
static void test_stays_cold(void **state)
{
    u32 id = cold_block();
    u64 words[] = { id, id, id, id, id, id, id, id, RECORD_END };

    (void)state;
    arena_second.low = arena_second.high - 2 * ARENA_CODE_MAX;
    assert_int_equal(routine_cold(&thread, words).to, REPLAY_BASE + RECORD_END);
    assert_int_equal(interpreted, 8);
    arena_second.low--;
    assert_int_equal(routine_cold(&thread, words).to,
                     REPLAY_BASE + REPLAY_SIZE - 2 * ARENA_CODE_MAX - 1);
    assert_int_equal(interpreted, 8);
}

// A block without a routine is not linked.
static void test_links(void **state)
{
    u32 id = cold_block(), other;
    u64 words[] = { id, id, id, id, id, id, id, RECORD_END }, *next = words + 7;
    u8 *end, *code = (u8 *)routine_cold(&thread, words).to, *after;
    void *tail = (void *)(REPLAY_BASE + arena_second.high);
    struct next n;

    (void)state;
    draft.block.pc = 0x2000;
    other = (u32)((u64)publish(&end) - REPLAY_BASE);
    end = (u8 *)REPLAY_BASE + arena_second.low;
    *next = other;
    interpreted = 0;
    for (u32 k = 0; k < 7; k++) {
        u64 two[] = { other, RECORD_END };

        assert_null(memmem(code, (u64)(end - code), &other, 4));
        n = routine_next(&thread, tail, two);
        assert_int_equal(interpreted, k < 6 ? k + 1 : 6);
        assert_int_equal(n.to, k < 6 ? REPLAY_BASE + RECORD_END : arena_code(other));
    }
    assert_null(memmem(code, (u64)(end - code), &other, 4));
    n = routine_next(&thread, tail, next);
    assert_int_equal(n.to, arena_code(other));
    assert_ptr_equal(n.record, next);
    after = memmem(code, (u64)(end - code), &other, 4);
    assert_non_null(after);
}

// The target of a routine's k-th call: the low half of the address, because a test is too far from
// the arena for a call.
static u32 called(const u8 *code, const u8 *end, u32 k)
{
    for (const u8 *at = code; at < end;) {
        ZydisDecodedInstruction zi;
        ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];
        u64 to;

        assert_true(ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, at, (u64)(end - at), &zi, o)));
        if (zi.mnemonic == ZYDIS_MNEMONIC_CALL && !k--) {
            ZydisCalcAbsoluteAddress(&zi, o, (u64)at, &to);
            return (u32)to;
        }
        at += zi.length;
    }
    return 0;
}

// By AVX2, the ways decide what handles misses: code of routine.S where sets are whole vectors,
// else C.
static void test_by_avx2(void **state)
{
    static const struct {
        u32 d1, stride, i1;
        void (*d1_to)(void), (*i1_to)(void);
    } cases[] = {
        { 8, 8, 8, routine_avx2_d1_8, routine_avx2_i1_8 },
        { 9, 16, 4, routine_avx2_d1_12, routine_avx2_i1_4 },
        { 12, 16, 16, routine_avx2_d1_12, routine_avx2_i1_16 },
        { 13, 16, 8, routine_avx2_d1_16, routine_avx2_i1_8 },
        { 16, 16, 2, routine_avx2_d1_16, routine_to_op },
        { 4, 4, 8, routine_to_d1, routine_avx2_i1_8 },
    };
    u8 *end, *code;

    (void)state;
    tb_config.vectors = 32;
    op(RECORD_FETCH, RECORD_NO_SLOT, 0x1000, 5);
    op(RECORD_REF, 1, 0, 0);
    for (u32 i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        whole = true;
        header.d1.assoc = cases[i].d1;
        d1_stride = cases[i].stride;
        header.i1.assoc = cases[i].i1;
        code = publish(&end);
        assert_int_equal(called(code, end, 0), (u32)(u64)cases[i].i1_to);
        assert_int_equal(called(code, end, 1), (u32)(u64)cases[i].d1_to);
        whole = false;
        code = publish(&end);
        assert_int_equal(called(code, end, 0), (u32)(u64)routine_to_op);
        assert_int_equal(called(code, end, 1), (u32)(u64)routine_to_d1);
    }
}

// The arguments for a fetch in two lines: the first way of the last line's set, and the bytes that
// are referenced in LL.
static void test_two_lines_by_avx2(void **state)
{
    struct {
        u8 rex, op;
        u64 value;
    } __attribute__((packed)) size = { 0x49, 0xba, 7 | 8ull << 32 }; // mov r10
    struct {
        u8 op;
        u32 value;
    } __attribute__((packed)) set = { 0xb9, 65 % 64 * 4 }; // mov ecx
    u8 *end, *code;

    (void)state;
    tb_config.vectors = 32;
    header.i1.assoc = 4;
    whole = true;
    op(RECORD_FETCH, RECORD_NO_SLOT, 0x1000, 5);
    op(RECORD_FETCH, RECORD_NO_SLOT, 0x103c, 5);
    draft.op[1].last = 6;
    draft.op[1].counter = 7;
    code = publish(&end);
    assert_int_equal(called(code, end, 1), (u32)(u64)routine_avx2_i1_4);
    assert_non_null(memmem(code, (u64)(end - code), &size, sizeof(size)));
    assert_non_null(memmem(code, (u64)(end - code), &set, sizeof(set)));
}

static int first(void **state)
{
    (void)state;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return (int)arena_init();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_vtsc, setup),
        cmocka_unit_test_setup(test_begins, setup),
        cmocka_unit_test_setup(test_restore, setup),
        cmocka_unit_test_setup(test_sampled, setup),
        cmocka_unit_test_setup(test_in_c, setup),
        cmocka_unit_test_setup(test_late, setup),
        cmocka_unit_test_setup(test_stays_cold, setup),
        cmocka_unit_test_setup(test_links, setup),
        cmocka_unit_test_setup(test_by_avx2, setup),
        cmocka_unit_test_setup(test_two_lines_by_avx2, setup),
    };

    return cmocka_run_group_tests_name("replay/routine", tests, first, NULL);
}
