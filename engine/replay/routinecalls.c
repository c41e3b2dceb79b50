// SPDX-License-Identifier: MIT
// Generated code for the frames of calls (routinecalls.h).
//
// Changes of a frame are entries between records, mostly after the call or return: they are
// expected there, and this code is called. It does what frames_replay() does, for all totals at
// once. Within a superblock's record they are ops of it: entered and left, after drained.
//
// With tb_config.calls_lazy a call that has no miss costs a store when it is made, and a comparison
// and a store when it ends. Nothing is drained before: references that wait belong to frames that
// have noted the totals, and those that come next have to call `note`.
#include "engine/replay/routinecalls.h"

#include "engine/base/nolibc.h"
#include "share/spool.h"

struct routinecalls routinecalls;
static struct routinecalls_asm by;

u64 routinecalls_note; // routinecalls.note, for routine.S

u32 routinecalls_events; // for routine.S: a mask of the totals of a frame's misses

static struct x86_mem before(u32 i)
{
    return MEM(R_RCX, (s64)(offsetof(struct spool_frame, before) + i * 8));
}

// Whether one vector has all of them, in the frame, too, where it is stored as a whole.
static bool frame_is_vector(void)
{
    u64 end = sizeof(struct spool_frame) + (tb_config.calls_often + 8) * 8;

    return tb_config.vectors == 64 && tb_config.calls_events - tb_config.calls_often <= 8 &&
           end <= tb_config.calls_frame;
}

// rcx := the replay's data of the frame whose address begins so, rdx := its counters.
static void find_frame(struct x86 *a)
{
    x86_sub32_rm(a, R_RCX, MEM(R12, TH_CALLS_BASE));
    x86_add_rm(a, R_RCX, MEM(R12, TH_CALLS_LATE));
    x86_mov(a, R_RDX, MEM(R12, TH_MISSES));
}

// rcx, rax := the places of the first of these totals.
static void point_at_totals(struct x86 *a)
{
    x86_lea(a, R_RCX, before(tb_config.calls_often));
    x86_lea(a, R_RAX, routinecalls_total(R_RDX, tb_config.calls_often));
}

// The totals at the beginning of the frame are those of now.
static void begin_frame(struct x86 *a)
{
    if (frame_is_vector()) {
        point_at_totals(a);
        x86_fix(a, x86_call(a), (u64)by.begin_frame);
        return;
    }
    for (u32 i = tb_config.calls_often; i < tb_config.calls_events; i++) {
        x86_mov(a, R_RAX, routinecalls_total(R_RDX, i));
        x86_not_r(a, R_RAX);
        x86_mov(a, before(i), R_RAX);
    }
}

static void make_enter(struct x86 *a)
{
    routinecalls_drain(a, by.to_ll);
    x86_mov32(a, R_RCX, MEM(R_RBX, 4));
    find_frame(a);
    begin_frame(a);
    routinecalls_skip(a, 1);
    x86_ret(a);
}

// Adds what the frame has cost to the counters from number r10 on. `anew`: it costs nothing then,
// so that a replay that is repeated after a SIGKILL adds nothing a second time. (A handler's frame
// still needs its totals, to go back to them.)
static void end_frame(struct x86 *a, bool anew)
{
    x86_lea(a, R10, MEM_X(R_RDX, R10, 3, 0));
    if (frame_is_vector()) {
        point_at_totals(a);
        x86_fix(a, x86_call(a), (u64)(anew ? by.renew_frame : by.end_frame));
        return;
    }
    for (u32 i = tb_config.calls_often; i < tb_config.calls_events; i++) {
        x86_mov(a, R_RAX, routinecalls_total(R_RDX, i));
        x86_mov(a, R11, before(i));
        x86_lea(a, R11, MEM_X(R_RAX, R11, 0, 1));
        x86_add_mr(a, MEM(R10, (i - tb_config.calls_often) * 8), R11);
        if (anew) {
            x86_not_r(a, R_RAX);
            x86_mov(a, before(i), R_RAX);
        }
    }
}

static void make_leave(struct x86 *a)
{
    routinecalls_drain(a, by.to_ll);
    x86_mov32(a, R_RCX, MEM(R_RBX, 4));
    find_frame(a);
    x86_mov(a, R10, MEM(R_RBX, 8));
    end_frame(a, false);
    routinecalls_skip(a, 2);
    x86_ret(a);
}

static void make_back(struct x86 *a)
{
    routinecalls_drain(a, by.to_ll);
    x86_mov32(a, R_RCX, MEM(R_RBX, 4));
    find_frame(a);
    for (u32 i = tb_config.calls_often; i < tb_config.calls_events; i++) {
        x86_mov(a, R_RAX, before(i));
        x86_not_r(a, R_RAX);
        x86_mov(a, routinecalls_total(R_RDX, i), R_RAX);
    }
    routinecalls_skip(a, 1);
    x86_ret(a);
}

// within: the code of the same change within a record, with the low half of the frame's address in
// ecx.
static const u8 *make_between(u32 id, u32 next, void (*make)(struct x86 *),
                              void (*make_within)(struct x86 *), const u8 **within)
{
    struct x86 a = routinecalls_between(id, next);
    struct x86_label body = x86_call(&a);
    const u8 *at;

    routinecalls_look_up(&a);
    at = a.p;
    x86_land(&a, body);
    make(&a);
    if (make_within) {
        *within = a.p;
        make_within(&a);
    }
    if (a.full || a.p > (u8 *)arena_head(next))
        engine_die("no space for the replay of calls");
    return at;
}

static void drain_within(struct x86 *a)
{
    struct x86_label none;

    x86_movzx16_rm(a, R_RAX, MEM(R12, TH_LL));
    x86_test32_rr(a, R_RAX, R_RAX);
    none = x86_jcc8(a, CC_E);
    x86_fix(a, x86_call(a), (u64)by.drain);
    x86_land(a, none);
}

// -- with tb_config.calls_lazy --

// t->late_last := the frame at reg; uses rdx.
static void put_last(struct x86 *a, u32 reg)
{
    x86_mov(a, MEM(R12, TH_LATE_LAST), reg);
    x86_lea(a, reg, MEM(reg, tb_config.calls_frame));
    x86_mov(a, R_RDX, MEM(R12, TH_MISSES));
    x86_mov(a, MEM(R_RDX, (s64)(tb_config.calls_top + 2 + tb_config.calls_events) * 8), reg);
}

// rcx := the address of the client's frame in the entry's word.
static void frame_of_entry(struct x86 *a)
{
    x86_mov32(a, R_RCX, MEM(R_RBX, 4));
    x86_sub32_rm(a, R_RCX, MEM(R12, TH_CALLS_BASE));
    x86_add_rm(a, R_RCX, MEM(R12, TH_CALLS_BASE));
}

// r10 := the replay's data of the frame at rcx.
static void find_late(struct x86 *a)
{
    x86_mov(a, R10, R_RCX);
    x86_sub_rm(a, R10, MEM(R12, TH_CALLS_BASE));
    x86_add_rm(a, R10, MEM(R12, TH_CALLS_LATE));
}

// Where the state is a second one, jumps to `to`.
static void unless_ahead(struct x86 *a, const char *to)
{
    if (!tb_config.ahead)
        return;
    x86_cmp8_mi(a, MEM(R12, TH_IS_AHEAD), 0);
    x86_fix(a, x86_jcc(a, CC_NE), (u64)to);
}

// All frames that have not noted the totals do. Called by routines and by routine.S; keeps rax.
static void make_note(struct x86 *a)
{
    struct x86_label due, none;
    u64 again;

    x86_mov(a, R_RCX, MEM(R12, TH_LATE_LAST));
    x86_cmp(a, R_RCX, MEM(R12, TH_LATE_TOP));
    due = x86_jcc8(a, CC_NE);
    x86_ret(a);
    x86_land(a, due);
    unless_ahead(a, by.ahead_note);
    x86_push_r(a, R_RAX);
    x86_push_r(a, R_RAX); // for the alignment
    x86_movzx16_rm(a, R_RAX, MEM(R12, TH_LL));
    x86_test32_rr(a, R_RAX, R_RAX);
    none = x86_jcc8(a, CC_E);
    x86_fix(a, x86_call(a), (u64)by.drain);
    x86_land(a, none);
    x86_mov(a, R_RDX, MEM(R12, TH_MISSES));
    again = x86_here(a);
    x86_lea(a, R_RCX, MEM(R_RCX, tb_config.calls_frame));
    find_late(a);
    for (u32 i = tb_config.calls_often; i < tb_config.calls_events; i++) {
        x86_mov(a, R11, routinecalls_total(R_RDX, i));
        x86_not_r(a, R11);
        x86_mov(a, MEM(R10, (s64)(offsetof(struct spool_frame, before) + i * 8)), R11);
    }
    x86_cmp(a, R_RCX, MEM(R12, TH_LATE_TOP));
    x86_fix(a, x86_jcc(a, CC_B), again);
    put_last(a, R_RCX);
    x86_pop_r(a, R_RAX);
    x86_pop_r(a, R_RAX);
    x86_ret(a);
}

// The frame at rcx, which has noted the totals, ends; its counters begin with number r10.
static void make_left_lazily(struct x86 *a)
{
    unless_ahead(a, by.ahead_left);
    drain_within(a);
    x86_mov(a, R11, R10);
    find_late(a);
    x86_lea(a, R_RCX, MEM(R_RCX, -(s64)tb_config.calls_frame));
    x86_mov(a, MEM(R12, TH_LATE_TOP), R_RCX);
    put_last(a, R_RCX);
    x86_lea(a, R11, MEM_X(R_RDX, R11, 3, 0));
    for (u32 i = tb_config.calls_often; i < tb_config.calls_events; i++) {
        x86_mov(a, R_RAX, routinecalls_total(R_RDX, i));
        x86_mov(a, R_RCX, MEM(R10, (s64)(offsetof(struct spool_frame, before) + i * 8)));
        x86_lea(a, R_RAX, MEM_X(R_RAX, R_RCX, 0, 1));
        x86_add_mr(a, MEM(R11, (i - tb_config.calls_often) * 8), R_RAX);
    }
    x86_ret(a);
}

static void make_enter_lazily(struct x86 *a)
{
    frame_of_entry(a);
    x86_mov(a, MEM(R12, TH_LATE_TOP), R_RCX);
    routinecalls_skip(a, 1);
    x86_ret(a);
}

static void make_leave_lazily(struct x86 *a)
{
    struct x86_label none, done;

    frame_of_entry(a);
    x86_mov(a, R_RAX, MEM(R12, TH_LATE_LAST));
    x86_mov(a, MEM(R12, TH_LATE_WAS), R_RAX);
    x86_cmp(a, R_RCX, R_RAX);
    none = x86_jcc8(a, CC_A);
    x86_mov(a, R10, MEM(R_RBX, 8));
    x86_push_r(a, R_RAX); // for the alignment
    x86_fix(a, x86_call(a), (u64)routinecalls.left);
    x86_pop_r(a, R_RAX);
    done = x86_jmp(a);
    x86_land(a, none);
    x86_lea(a, R_RCX, MEM(R_RCX, -(s64)tb_config.calls_frame));
    x86_mov(a, MEM(R12, TH_LATE_TOP), R_RCX);
    x86_land(a, done);
    routinecalls_skip(a, 2);
    x86_ret(a);
}

static void make_back_lazily(struct x86 *a)
{
    struct x86_label none, over = { 0, 0 };

    if (tb_config.ahead) {
        x86_cmp8_mi(a, MEM(R12, TH_IS_AHEAD), 0);
        over = x86_jcc8(a, CC_E);
        frame_of_entry(a);
        x86_push_r(a, R_RAX); // for the alignment
        x86_fix(a, x86_call(a), (u64)by.ahead_back);
        x86_pop_r(a, R_RAX);
        routinecalls_skip(a, 1);
        x86_ret(a);
        x86_land(a, over);
    }
    routinecalls_drain(a, by.to_ll);
    frame_of_entry(a);
    x86_cmp(a, R_RCX, MEM(R12, TH_LATE_WAS));
    none = x86_jcc(a, CC_A);
    find_late(a);
    x86_mov(a, R_RDX, MEM(R12, TH_MISSES));
    for (u32 i = tb_config.calls_often; i < tb_config.calls_events; i++) {
        x86_mov(a, R_RAX, MEM(R10, (s64)(offsetof(struct spool_frame, before) + i * 8)));
        x86_not_r(a, R_RAX);
        x86_mov(a, routinecalls_total(R_RDX, i), R_RAX);
    }
    x86_land(a, none);
    routinecalls_skip(a, 1);
    x86_ret(a);
}

static void make_entered(struct x86 *a)
{
    drain_within(a);
    find_frame(a);
    begin_frame(a);
    x86_ret(a);
}

static void make_left(struct x86 *a)
{
    drain_within(a);
    find_frame(a);
    end_frame(a, true);
    x86_ret(a);
}

// The code of a call that ends within a record is used by that between records.
static const u8 *make_between_left(u32 id, u32 next)
{
    struct x86 a = routinecalls_between(id, next);
    struct x86_label body = x86_call(&a);
    const u8 *at;

    routinecalls_look_up(&a);
    routinecalls.left = a.p;
    make_left_lazily(&a);
    at = a.p;
    x86_land(&a, body);
    make_leave_lazily(&a);
    if (a.full || a.p > (u8 *)arena_head(next))
        engine_die("no space for the replay of calls");
    return at;
}

void routinecalls_make(const struct routinecalls_asm *code)
{
    by = *code;
    if (!tb_config.calls)
        return;
    routinecalls_events = (1u << (tb_config.calls_events - tb_config.calls_often)) - 1;
    if (tb_config.calls_lazy) {
        routinecalls.enter = make_between(RECORD_ENTER, RECORD_LEAVE, make_enter_lazily, make_note,
                                          &routinecalls.note);
        routinecalls.leave = make_between_left(RECORD_LEAVE, RECORD_BACK);
        routinecalls.back = make_between(RECORD_BACK, RECORD_OBJECTS, make_back_lazily, NULL, NULL);
        routinecalls_note = (u64)routinecalls.note;
        return;
    }
    routinecalls.enter =
        make_between(RECORD_ENTER, RECORD_LEAVE, make_enter, make_entered, &routinecalls.entered);
    routinecalls.leave =
        make_between(RECORD_LEAVE, RECORD_BACK, make_leave, make_left, &routinecalls.left);
    routinecalls.back = make_between(RECORD_BACK, RECORD_OBJECTS, make_back, NULL, NULL);
}
