// SPDX-License-Identifier: MIT
// engine/replay/replay.c, interpret.c and arena.c: the tests write records and compare what is
// simulated, one reference after the other, as text: `F` a fetch with its address, `R` a data
// reference, `C` and `N` a conditional branch, taken or not, `J` an indirect one, `S` a string
// instruction, `V` a vector one, `e`, `l` and `b` calls, `d` a drain of the LL batch. Small letters
// are calls of the trace, with `!` if the instruction did not complete.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/sys.h"
#include "engine/callgraph/calls.h"
#include "engine/count/ahead.h"
#include "engine/count/caches.h"
#include "engine/count/helpers.h"
#include "engine/count/ll.h"
#include "engine/count/reftrace.h"
#include "engine/count/rep.h"
#include "engine/count/vector.h"
#include "engine/replay/arena.h"
#include "engine/replay/interpret.h"
#include "engine/replay/replay.h"
#include "engine/replay/routine.h"
#include "engine/spool/config.h"
#include "tests/unit/count/cores_none.h"
#include "tests/unit/objects/objects_none.h"

// -- fakes of what they call --

struct tb_config tb_config;
bool reftrace_on; // whether there is a trace

static struct thread thread;
static struct thread *const t = &thread;
static u64 misses[64];
static char told[1024];
static bool misses_i1, mispredicts, waits;
static u32 turns; // open turns of the trace

static void tell(const char *format, ...)
{
    va_list ap;

    if (told[0])
        strcat(told, " ");
    va_start(ap, format);
    vsnprintf(told + strlen(told), sizeof(told) - strlen(told), format, ap);
    va_end(ap);
}

void caches_dref(struct thread *of, u64 addr, u32 size, u32 counter)
{
    assert_ptr_equal(of, t);
    tell("R%lx,%u,%u", addr, size, counter);
}

bool caches_iref(struct thread *of, u64 pc, u32 len, u32 first, u32 last)
{
    assert_ptr_equal(of, t);
    tell("F%lx,%u,%u,%u", pc, len, first, last);
    return misses_i1;
}

void caches_l1_missed(struct thread *of, u64 addr, u32 size, u32 counter)
{
    assert_ptr_equal(of, t);
    tell("M%lx,%u,%u", addr, size, counter);
}

void caches_i1_missed(struct thread *of, u64 addr, u32 size, u32 counter, u32 id)
{
    (void)id;
    caches_l1_missed(of, addr, size, counter);
}

// Of a second state, a fetch with two lines.
void ahead_fetch(struct thread *of, u64 pc, u32 len, u32 first, u32 last, u32 counter)
{
    assert_ptr_equal(of, t);
    tell("T%lx,%u,%u,%u,%u", pc, len, first, last, counter);
}

void ahead_frame(struct thread *of, enum frames_late what, u32 frame, u32 counter)
{
    assert_ptr_equal(of, t);
    tell("H%u,%x,%u", what, frame, counter);
}

static u32 notes;

void ahead_note(struct thread *of)
{
    assert_ptr_equal(of, t);
    notes++;
}

bool caches_branch(struct thread *of, u64 pc, bool taken, u32 counter)
{
    assert_ptr_equal(of, t);
    tell("%c%lx,%u", taken ? 'C' : 'N', pc, counter);
    return false;
}

void caches_replays(struct thread *of)
{
    (void)of;
}

void caches_branches_begin(struct thread *of)
{
    (void)of;
}

bool caches_indirect(struct thread *of, u64 branch, u64 target)
{
    assert_ptr_equal(of, t);
    tell("J%lx,%lx", branch, target);
    return mispredicts;
}

struct vector_sets vector_sets;

const u8 *calls_owner(u64 *totals)
{
    *totals = 0;
    return NULL;
}

void calls_counted(struct thread *of, u32 counter, u64 n)
{
    (void)of, (void)counter, (void)n;
    fail();
}

void frames_replay(struct thread *of, enum frames_late what, u32 frame, u32 counter)
{
    assert_ptr_equal(of, t);
    if (what == FRAMES_LEAVE)
        tell("l%x,%u", frame, counter);
    else
        tell("%c%x", what == FRAMES_ENTER ? 'e' : 'b', frame);
}

void rep_replay(struct thread *of, const u64 *slot, u64 pc, u32 what, u32 counter)
{
    assert_ptr_equal(of, t);
    tell("S%lx,%lx,%u,%u", *slot, pc, what, counter);
}

void helpers_replay_vec(struct thread *of, const u64 *slot, u32 what, u32 counter)
{
    assert_ptr_equal(of, t);
    tell("V%lx,%u,%u", *slot, what, counter);
}

void ll_counts(struct thread *of)
{
    (void)of;
}

void frames_late_fill(struct thread *of)
{
    (void)of;
}

void ll_drain(struct thread *of)
{
    assert_ptr_equal(of, t);
    tell("d");
}

void ll_drain_batch(struct thread *of)
{
    ll_drain(of);
}

void ll_replayed(struct thread *of)
{
    ll_drain(of);
}

static u32 besides;

// The thread itself replays: its own share of LL comes first.
void ll_beside(struct thread *of, bool beside)
{
    assert_ptr_equal(of, t);
    assert_false(beside);
    besides++;
}

bool ll_has_pending(const struct thread *of)
{
    assert_ptr_equal(of, t);
    return waits;
}

void vector_save(struct thread *of)
{
    assert_ptr_equal(of, t);
    tell("<");
}

void vector_restore(struct thread *of)
{
    assert_ptr_equal(of, t);
    tell(">");
}

void reftrace_begin(struct thread *of)
{
    assert_ptr_equal(of, t);
    turns++;
}

void reftrace_end(struct thread *of)
{
    assert_ptr_equal(of, t);
    turns -= turns > 0; // no turn, nothing to end
}

void reftrace_code(u32 map, u64 pc)
{
    assert_int_equal(turns, 1);
    if (reftrace_on)
        tell("m%u,%lx", map, pc);
}

void reftrace_fetch(u64 pc, u32 len, bool undone)
{
    assert_int_equal(turns, 1);
    if (reftrace_on)
        tell("f%lx,%u%s", pc, len, undone ? "!" : "");
}

void reftrace_ref(enum reftrace_item kind, u64 addr, u32 size, bool undone)
{
    assert_int_equal(turns, 1);
    if (reftrace_on)
        tell("r%u,%lx,%u%s", kind, addr, size, undone ? "!" : "");
}

void reftrace_cond(u64 pc, bool taken, bool undone)
{
    assert_int_equal(turns, 1);
    if (reftrace_on)
        tell("%c%lx%s", taken ? 'c' : 'n', pc, undone ? "!" : "");
}

void reftrace_indirect(u64 target)
{
    if (reftrace_on)
        tell("j%lx", target);
}

void reftrace_count_read(void)
{
    if (reftrace_on)
        tell("x");
}

static u32 routines, entered; // made; run
static u64 begins_with;       // the word of the first record
static u64 *ends_at;

void routine_init(void)
{
    routines = 0;
}

u8 *routine_begin(const struct record_block *b, u8 *at)
{
    assert_ptr_equal((u8 *)arena_head((u32)((u64)at - REPLAY_BASE)) + sizeof(struct arena_head),
                     at);
    assert_ptr_equal(arena_block((u32)((u64)at - REPLAY_BASE)), b);
    arena_head((u32)((u64)at - REPLAY_BASE))->routine = (u32)((u64)at - REPLAY_BASE);
    routines++;
    return at + 100;
}

const u64 *routine_enter(struct thread *of, const u64 *record, u64 routine)
{
    assert_ptr_equal(of, t);
    assert_int_equal(routine, REPLAY_BASE + (u32)*record);
    begins_with = *record;
    entered++;
    while (*record != RECORD_END)
        record++;
    ends_at = (u64 *)record;
    return record;
}

// -- helpers of the tests --

#define SP 0x7000

static struct record_draft draft;

static int setup(void **state)
{
    (void)state;
    memset(&thread, 0, sizeof(thread));
    memset(&draft, 0, sizeof(draft));
    memset(misses, 0, sizeof(misses));
    told[0] = '\0';
    tb_config = (struct tb_config){ .min_line = 64, .branch = true, .recording = true };
    t->misses = misses;
    t->replay_sp = SP;
    misses_i1 = mispredicts = waits = reftrace_on = false;
    besides = 0;
    turns = entered = 0;
    arena_flush();
    return 0;
}

static const char *what_was_told(void)
{
    static char last[sizeof(told)];

    assert_int_equal(turns, 0);
    memcpy(last, told, sizeof(last));
    told[0] = '\0';
    return last;
}

// A block whose records have `slots` words, and which leaves the stack pointer 8 lower.
static void begin(u16 slots)
{
    memset(&draft, 0, sizeof(draft));
    draft.block = (struct record_block){
        .pc = 0x1000,
        .map = 3,
        .slots = slots,
        .sp = RECORD_STACK_SLOT,
        .sp_add = -8,
        .counter = 9,
        .branch = 0x1230,
        .taken = 0x5000,
        .nexts = 1,
        .blocks = 1,
    };
}

static struct record_op *op(enum record_kind kind, u8 insn)
{
    struct record_op *o = &draft.op[draft.block.nops++];

    *o = (struct record_op){ .kind = (u8)kind,
                             .insn = insn,
                             .base = RECORD_NO_SLOT,
                             .index = RECORD_NO_SLOT,
                             .counter = 20u + insn,
                             .add = 0x100u + insn };
    return o;
}

static void fetch(u8 insn)
{
    struct record_op *o = op(RECORD_FETCH, insn);

    o->bytes = 3;
    o->first = 7;
    o->last = 8;
}

static u32 publish(void)
{
    u32 id = arena_next_id();

    replay_publish(&draft);
    assert_true(arena_has(id));
    return id;
}

static const char *run(const u64 *words, u32 n)
{
    replay_run(t, words, words + n);
    if (n)
        assert_int_equal(t->replay_end, words + n);
    return what_was_told();
}

#define RUN(...) run((const u64[]){ __VA_ARGS__ }, sizeof((const u64[]){ __VA_ARGS__ }) / 8)

// A fetch with two lines is handled apart where the state is a second one.
static void test_second_state(void **state)
{
    u32 id;

    (void)state;
    begin(1);
    draft.op[0] =
        (struct record_op){ .kind = RECORD_FETCH, .bytes = 5, .counter = 6, .add = 0x103e };
    draft.op[0].first = 7;
    draft.op[0].last = 8;
    draft.op[1] = draft.op[0];
    draft.op[1].last = 7;
    draft.block.nops = 2;
    id = publish();
    t->is_ahead = 1;
    assert_string_equal(RUN(id), "T103e,5,7,8,6 F103e,5,7,7 d");
    assert_int_equal(notes, 1); // at the buffer's end
    assert_string_equal(RUN(RECORD_ENTER | 0x1230ul << 32, RECORD_LEAVE | 0x1230ul << 32, 77),
                        "H0,1230,0 H1,1230,77 d");
    t->is_ahead = 0;
    assert_string_equal(RUN(id), "F103e,5,7,8 F103e,5,7,7 d");
}

// -- the arena --

static void test_arena(void **state)
{
    u32 first, second;
    const struct record_block *b;

    (void)state;
    begin(3);
    for (u8 i = 0; i < 5; i++)
        fetch(i);
    draft.block.nsides = 2;
    draft.side[0] = (struct record_side){ .slots = 1, .nops = 2, .sp_add = 4 };
    draft.side[1] = (struct record_side){ .slots = 2, .nops = 3, .sp_add = 5 };
    assert_int_equal(arena_next_id(), RECORD_FIRST + 16);
    first = publish();
    begin(1);
    fetch(9);
    second = publish();
    assert_int_equal(first, RECORD_FIRST + 16);
    assert_int_equal(second, first + 16);
    b = arena_block(first);
    assert_int_equal(b->slots, 3);
    assert_int_equal(b->nops, 5);
    for (u8 i = 0; i < 5; i++)
        assert_int_equal(record_ops(b)[i].insn, i);
    assert_int_equal(record_sides(b)[0].slots, 1);
    assert_int_equal(record_sides(b)[1].slots, 2);
    assert_int_equal(record_sides(b)[1].sp_add, 5);
    assert_int_equal(record_ops(arena_block(second))[0].insn, 9);
    // Nothing overlaps.
    assert_ptr_equal(record_ops(arena_block(second)) + 1, b);
    assert_ptr_equal(record_sides(b), record_ops(b) + 5);
    assert_ptr_equal(record_sides(b) + 2, REPLAY_BASE + REPLAY_SIZE / 2);
    // Ids.
    assert_false(arena_has(0));
    assert_false(arena_has(RECORD_END));
    assert_false(arena_has(RECORD_FIRST));
    assert_false(arena_has(first + 1));
    assert_false(arena_has(second + 16));
    // Extents: the whole, and two that end before.
    u64 record = first;
    assert_int_equal(arena_extent(b, &record).nops, 5);
    record |= 2ul << 32;
    assert_int_equal(arena_extent(b, &record).nops, 3);
    arena_flush();
    assert_false(arena_has(first));
    assert_int_equal(arena_next_id(), RECORD_FIRST + 16);
}

// Until there is less than the longest routine and two drafts.
static void test_room(void **state)
{
    u64 left = ARENA_CODE_MAX + 2 * sizeof(struct record_draft);

    (void)state;
    assert_true(arena_has_space());
    arena_code_ends((const u8 *)(REPLAY_BASE + REPLAY_SIZE / 2 - left - 1));
    assert_true(arena_has_space());
    arena_code_ends((const u8 *)(REPLAY_BASE + REPLAY_SIZE / 2 - left));
    assert_false(arena_has_space());
    arena_flush();
    assert_int_equal((u64)arena_take(&arena_first, 1), REPLAY_BASE + REPLAY_SIZE / 2 - 8);
    assert_int_equal((u64)arena_take(&arena_first, 8), REPLAY_BASE + REPLAY_SIZE / 2 - 16);
    // And two of the longest late ones.
    assert_int_equal((u64)arena_take(&arena_second, 8), REPLAY_BASE + REPLAY_SIZE - 8);
    arena_second.low = arena_second.high - 2 * ARENA_CODE_MAX - 1;
    assert_true(arena_has_space());
    arena_second.low++;
    assert_false(arena_has_space());
}

// With routines each follows its id, and the next id follows it.
static void test_routines(void **state)
{
    u32 id;
    u64 words[] = { 0, RECORD_END }, begun[] = { 0, 77 };

    (void)state;
    tb_config.stamps = true;
    replay_init();
    begin(1);
    id = publish();
    assert_int_equal(routines, 1);
    assert_int_equal(arena_next_id(), (id + 100 + 8 + 15) & ~15u);
    words[0] = begun[0] = id;
    replay_run(t, words, words + 1);
    assert_int_equal(entered, 1);
    assert_int_equal(begins_with, id);
    assert_ptr_equal(ends_at, words + 1);
    // The last record is incomplete: it stays.
    replay_run(t, begun, begun + 1);
    assert_int_equal(entered, 2);
    assert_ptr_equal(ends_at, begun + 1);
    assert_int_equal(begun[1], 77);
    assert_string_equal(what_was_told(), "d d");
    // Only the outcome of a branch.
    t->record_tail = arena_block(id);
    words[0] = RECORD_TAKEN;
    replay_run(t, words, words + 1);
    assert_int_equal(entered, 2);
    assert_string_equal(what_was_told(), "C1230,9 d");
    // A killed replay had counted that branch: it continues after it.
    words[0] = RECORD_NOT_TAKEN;
    replay_run(t, words, words + 1);
    assert_int_equal(entered, 2);
    assert_string_equal(what_was_told(), "d");
}

// -- references --

static void test_references(void **state)
{
    struct record_op *o;
    u32 id;

    (void)state;
    begin(4);
    fetch(0);
    o = op(RECORD_REF, 1);
    o->size = 8;
    o->base = 1;
    o->index = 2;
    o->scale = 3;
    o->way = REFTRACE_WRITE;
    o = op(RECORD_REF, 2);
    o->size = 100;
    o->base = RECORD_STACK_SLOT;
    o = op(RECORD_REP, 3);
    o->base = 3;
    o->what = 5;
    o = op(RECORD_VEC, 4);
    o->base = 2;
    o->what = 6;
    op(RECORD_LOCKED, 5);
    o = op(RECORD_SAME, 6);
    o->bytes = 2;
    id = publish();
    assert_string_equal(RUN(id, 0x4000, 0x10, 0x33),
                        "F100,3,7,8 R4181,8,21 R7102,64,22 S33,103,5,23 V10,6,24 N105,25 d");
    assert_int_equal(t->replay_sp, SP - 8);
    assert_int_equal(t->replay_from_sp, SP);
    misses_i1 = true;
    reftrace_on = true;
    assert_string_equal(RUN(id, 0x4000, 0x10, 0x33),
                        "m3,1000 f100,3 F100,3,7,8 M100,3,20 r2,4181,8 R4181,8,21 r0,70fa,100 "
                        "R70fa,64,22 S33,103,5,23 V10,6,24 x n105 N105,25 f106,2 d");
    assert_int_equal(t->replay_sp, SP - 16);
    assert_non_null(
        strstr(RUN(RECORD_STACK, 0x9000, id, 0x4000, 0x10, 0x33), " r0,9102,100 R9102,64,22 "));
}

// Up to an instruction that has faulted, and including it. A string instruction's part is known
// otherwise. A target that was not read, and a branch that did not happen, are not simulated.
static void test_part(void **state)
{
    u64 record[2] = { 0, 0x33 };

    (void)state;
    begin(2);
    fetch(0);
    op(RECORD_REP, 0)->base = 1;
    fetch(1);
    op(RECORD_REP, 1)->base = 1;
    op(RECORD_LOCKED, 1);
    op(RECORD_JOINT, 1)->way = RECORD_JOINT_TAKEN;
    fetch(2);
    record[0] = publish();
    replay_part(t, record, 1);
    assert_string_equal(what_was_told(), "F100,3,7,8 S33,100,0,20 F101,3,7,8 N101,21 d");
    reftrace_on = true;
    replay_part(t, record, 1);
    assert_string_equal(what_was_told(), "m3,1000 f100,3 F100,3,7,8 S33,100,0,20 f101,3! "
                                         "F101,3,7,8 n101! N101,21 d");
    replay_part(t, record, 0);
    assert_string_equal(what_was_told(), "m3,1000 f100,3! F100,3,7,8 d");
    replay_part(t, record, 2);
    assert_string_equal(what_was_told(),
                        "m3,1000 f100,3 F100,3,7,8 S33,100,0,20 f101,3 F101,3,7,8 S33,101,0,21 x "
                        "n101 N101,21 c101 C101,21 f102,3! F102,3,7,8 d");
    t->record_tail = arena_block((u32)record[0]); // the branch before it ends here
    replay_part(t, record, 0);
    assert_string_equal(what_was_told(), "m3,1230 n1230 N1230,9 m3,1000 f100,3! F100,3,7,8 d");
    assert_null(t->record_tail);
}

static void test_single(void **state)
{
    (void)state;
    interpret_d1(t, 5, 8, 0x1234);
    interpret_i1(t, 6, 7, 0x40);
    assert_string_equal(what_was_told(), "R1234,8,5 F40,1,7,7");
    misses_i1 = true;
    interpret_i1(t, 6, 7, 0x40);
    assert_string_equal(what_was_told(), "F40,1,7,7 M40,1,6");
}

// -- branches --

// A conditional branch at the end is counted with the next word: its outcome, or a block.
static void test_conditional(void **state)
{
    u32 cond, at_target, elsewhere;

    (void)state;
    begin(1);
    elsewhere = publish();
    draft.block.pc = 0x5000;
    at_target = publish();
    draft.block.tail = RECORD_COND;
    draft.block.pc = 0x1000;
    cond = publish();
    assert_string_equal(RUN(cond, at_target, cond, elsewhere), "C1230,9 N1230,9 d");
    assert_null(t->record_tail);
    assert_string_equal(RUN(cond, RECORD_TAKEN, cond, RECORD_NOT_TAKEN, elsewhere),
                        "C1230,9 N1230,9 d");
    // The next record is in the next buffer, or is told.
    assert_string_equal(RUN(cond), "d");
    assert_ptr_equal(t->record_tail, arena_block(cond));
    assert_string_equal(RUN(RECORD_TAKEN), "C1230,9 d");
    assert_null(t->record_tail);
    RUN(cond);
    assert_string_equal(RUN(at_target), "C1230,9 d");
    RUN(cond);
    interpret_came(t, 0x5000);
    assert_string_equal(what_was_told(), "C1230,9");
    interpret_came(t, 0x5000);
    assert_string_equal(what_was_told(), "");
    RUN(cond);
    interpret_came(t, 0x5001);
    assert_string_equal(what_was_told(), "N1230,9");
    assert_int_equal(t->replay_sp, SP - 8 * 12); // twelve records
}

static void test_indirect(void **state)
{
    u32 id;

    (void)state;
    begin(3);
    draft.block.tail = RECORD_INDIRECT;
    draft.block.branch = 0x12345;
    id = publish();
    assert_string_equal(RUN(id, 1, 0x7777), "J12345,7777 d");
    assert_int_equal(misses[9], 0);
    mispredicts = reftrace_on = true;
    assert_string_equal(RUN(id, 1, 0x7777, id, 1, 0x8888),
                        "m3,1000 j7777 J12345,7777 m3,1000 j8888 J12345,8888 d");
    assert_int_equal(misses[9], 2);
}

// A superblock with a joint of each kind, and the simulation of each side exit: there the other way
// is taken. Returns are not predicted.
static void test_joints(void **state)
{
    struct record_op *o;
    u32 id;

    (void)state;
    begin(4);
    draft.block.nsides = 3;
    draft.block.blocks = 5;
    draft.side[0] =
        (struct record_side){ .slots = 1, .nops = 1, .sp = RECORD_STACK_SLOT, .sp_add = 2 };
    draft.side[1] = (struct record_side){ .slots = 2, .nops = 2, .sp = 1, .sp_add = 3 };
    draft.side[2] =
        (struct record_side){ .slots = 3, .nops = 3, .sp = RECORD_NO_SLOT, .sp_add = 4 };
    fetch(0);
    op(RECORD_JOINT, 1)->way = RECORD_JOINT_TAKEN;
    op(RECORD_JOINT, 2)->way = RECORD_JOINT_NOT_TAKEN;
    o = op(RECORD_JOINT, 3);
    o->way = RECORD_JOINT_INDIRECT;
    o->first = 0x1111;
    o->last = 0x2222;
    op(RECORD_JOINT, 4)->way = RECORD_JOINT_UNPREDICTED;
    fetch(5);
    id = publish();
    assert_string_equal(RUN(id, 1, 2, 3),
                        "F100,3,7,8 C101,21 N102,22 J103,222200001111 F105,3,7,8 d");
    assert_int_equal(t->replay_sp, SP - 8);
    assert_string_equal(RUN(1ul << 32 | id), "F100,3,7,8 N101,21 d");
    assert_int_equal(t->replay_sp, SP - 6);
    assert_string_equal(RUN(2ul << 32 | id, 0x6000), "F100,3,7,8 C101,21 C102,22 d");
    assert_int_equal(t->replay_sp, 0x6003);
    mispredicts = true;
    assert_string_equal(RUN(3ul << 32 | id, 1, 0x7777), "F100,3,7,8 C101,21 N102,22 J103,7777 d");
    assert_int_equal(t->replay_sp, 4);
    assert_int_equal(misses[23], 1);
    tb_config.branch = false;
    assert_string_equal(RUN(id, 1, 2, 3), "F100,3,7,8 F105,3,7,8 d");
}

// -- entries between records --

static void test_calls(void **state)
{
    u32 id;

    (void)state;
    begin(1);
    fetch(0);
    id = publish();
    assert_string_equal(RUN(0x1234ul << 32 | RECORD_ENTER, id, 0x1234ul << 32 | RECORD_LEAVE, 55,
                            0x99ul << 32 | RECORD_BACK, id),
                        "d e1234 F100,3,7,8 d l1234,55 d b99 F100,3,7,8 d");
    assert_int_equal(t->replay_sp, SP - 16);
}

// Vector registers are saved where they are changed; without records nothing is done.
static void test_vectors(void **state)
{
    u32 id;

    (void)state;
    tb_config.vectors = true;
    begin(1);
    fetch(0);
    id = publish();
    assert_string_equal(RUN(id), "< F100,3,7,8 d >");
    assert_int_equal(besides, 1);
    assert_string_equal(run(NULL, 0), "");
    assert_int_equal(besides, 1);
    waits = true;
    assert_string_equal(run(NULL, 0), "< d >");
    assert_int_equal(besides, 2);
}

static int first(void **state)
{
    (void)state;
    return (int)arena_init();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_arena, setup),
        cmocka_unit_test_setup(test_room, setup),
        cmocka_unit_test_setup(test_routines, setup),
        cmocka_unit_test_setup(test_references, setup),
        cmocka_unit_test_setup(test_second_state, setup),
        cmocka_unit_test_setup(test_part, setup),
        cmocka_unit_test_setup(test_single, setup),
        cmocka_unit_test_setup(test_conditional, setup),
        cmocka_unit_test_setup(test_indirect, setup),
        cmocka_unit_test_setup(test_joints, setup),
        cmocka_unit_test_setup(test_calls, setup),
        cmocka_unit_test_setup(test_vectors, setup),
    };

    return cmocka_run_group_tests_name("replay/replay", tests, first, NULL);
}
