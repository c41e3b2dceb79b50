// SPDX-License-Identifier: MIT
// Stubs that search a set of I1 or D1 behind its first way: made once for a pair of registers, called by the cold parts of
// fragments (translate_sim.c). A hit in a deeper way is ten to a thousand times as frequent as a miss in programs whose
// working set fits, and all it takes is to move some words; a call of C costs more than that. Misses go on into prof.c.
//
// On entry r1 is the byte offset of the set (before scaling), r2 the tag; the flags are free. The ways move down one by one
// until the tag's old place is reached, as sim_cache_search() does it. See prof.h for what lies behind the call.
#include "engine/translate/translate.h"

#include "engine/base/mini.h"
#include "engine/codecache/tcache_priv.h"
#include "engine/count/prof.h"
#include "engine/spool/spooler.h"

#define WAYS_MAX 16u // more are left to C

struct ways {
    u32 r1, r2, r3, r4; // registers: set, tag, and two to use
    u32 wide;           // tags have 64 bits
    u32 scale, disp;    // the set is at gs:disp + (r1 << scale)
    u32 assoc;
    u32 set_mask; // of the tag, giving r1 again; 0: the reference is known to lie in one line
    u32 line;
};

static u64 d1_stub[16][16], i1_stub;

static void way_op(struct emit *e, const struct ways *w, u32 opcode, u32 reg, u32 way)
{
    emit_gs_index_op(e, w->wide, opcode, reg, w->r1, w->scale, w->disp + way * (w->wide ? 8 : 4));
}

static void push_pop(struct emit *e, u32 opcode, u32 reg)
{
    if (reg >= 8)
        emit_u8(e, 0x41);
    emit_u8(e, opcode | (reg & 7));
}

static void leave(struct emit *e, const struct ways *w)
{
    push_pop(e, 0x58, w->r4);
    push_pop(e, 0x58, w->r3);
}

static u8 *jcc(struct emit *e, u32 cond)
{
    emit_u8(e, 0x0f);
    emit_u8(e, 0x80 | cond);
    emit_u32(e, 0);
    return e->p;
}

static void land(struct emit *e, u8 *behind)
{
    u32 rel = (u32)(e->p - behind);

    if (!e->full)
        __builtin_memcpy(behind - 4, &rel, 4);
}

// The rest is C's: it finds the tag, and for `slow` the set.
static void to_c(struct emit *e, const struct ways *w, enum prof_stub stub)
{
    if (w->wide)
        emit_gs_store(e, TH_H_ADDR, w->r2);
    if (stub == PROF_STUB_D1_SLOW)
        emit_gs_op(e, 0, 0x89, w->r1, TH_H_DESC);
    emit_u8(e, 0xe9);
    emit_u32(e, (u32)(prof_stub(stub) - ((u64)e->p + 4)));
}

// The reference lies in two lines: nothing moves when both are the most recent of their sets.
static void straddling(struct emit *e, const struct ways *w)
{
    u8 *second, *first;

    emit_gs_index_op(e, 1, 0x3b, w->r2, w->r4, w->scale, w->disp); // r4: the second line's set
    second = jcc(e, 5);
    emit_lea(e, w->r3, w->r2, REG_NONE, 1, -(s64)w->line);
    way_op(e, w, 0x3b, w->r3, 0);
    first = jcc(e, 5);
    leave(e, w);
    emit_u8(e, 0xc3);
    land(e, second);
    land(e, first);
    leave(e, w);
    to_c(e, w, PROF_STUB_D1_SLOW);
}

static void search(struct emit *e, const struct ways *w, enum prof_stub miss)
{
    u8 *found[WAYS_MAX], *not_second = NULL, *two_lines = NULL;
    u32 a = w->r3, b = w->r4;

    push_pop(e, 0x50, w->r3);
    if (w->assoc > 1) {
        way_op(e, w, 0x8b, a, 1);
        emit_u8(e, 0x40 | w->wide << 3 | (w->r2 >> 3) << 2 | a >> 3); // cmp r2, a
        emit_u8(e, 0x39);
        emit_u8(e, 0xc0 | (w->r2 & 7) << 3 | (a & 7));
        not_second = jcc(e, 5);
        way_op(e, w, 0x8b, a, 0);
        way_op(e, w, 0x89, a, 1);
        way_op(e, w, 0x89, w->r2, 0);
        push_pop(e, 0x58, w->r3);
        emit_u8(e, 0xc3);
        land(e, not_second);
    }
    push_pop(e, 0x50, w->r4);
    if (w->set_mask) {
        emit_mov(e, b, w->r2);
        if (b >= 8)
            emit_u8(e, 0x41);
        emit_u8(e, 0x81); // and $mask, b
        emit_u8(e, 0xe0 | (b & 7));
        emit_u32(e, w->set_mask);
        emit_u8(e, 0x40 | (b >> 3) << 2 | w->r1 >> 3); // cmp b, r1
        emit_u8(e, 0x39);
        emit_u8(e, 0xc0 | (b & 7) << 3 | (w->r1 & 7));
        two_lines = jcc(e, 5);
    }
    if (w->assoc > 1) { // a holds way 1
        way_op(e, w, 0x8b, b, 0);
        way_op(e, w, 0x89, b, 1);
    }
    for (u32 i = 2; i < w->assoc; i++) { // a holds way i - 1, which has been overwritten
        way_op(e, w, 0x8b, b, i);
        way_op(e, w, 0x89, a, i);
        emit_u8(e, 0x40 | w->wide << 3 | (w->r2 >> 3) << 2 | b >> 3); // cmp r2, b
        emit_u8(e, 0x39);
        emit_u8(e, 0xc0 | (w->r2 & 7) << 3 | (b & 7));
        found[i] = jcc(e, 4);
        a = a == w->r3 ? w->r4 : w->r3;
        b = b == w->r3 ? w->r4 : w->r3;
    }
    way_op(e, w, 0x89, w->r2, 0);
    leave(e, w);
    to_c(e, w, miss);
    for (u32 i = 2; i < w->assoc; i++)
        land(e, found[i]);
    if (w->assoc > 2) {
        way_op(e, w, 0x89, w->r2, 0);
        leave(e, w);
        emit_u8(e, 0xc3);
    }
    if (two_lines) {
        land(e, two_lines);
        straddling(e, w);
    }
}

// Makes the stub; 0 when there is no room for it, which a number of stubs below STUBS_MADE / 1 KiB never meets.
static u64 make(struct ways *w, enum prof_stub miss, bool by_hand)
{
    struct emit e;
    u32 left =
        (1u << R_RAX | 1u << R_RCX | 1u << R_RDX | 1u << R_RSI) & ~(1u << w->r1 | 1u << w->r2);
    u64 room, at;

    w->r3 = (u32)__builtin_ctz(left);
    w->r4 = (u32)__builtin_ctz(left & (left - 1));
    e.start = e.p = tcache_made_room(&room);
    e.end = e.p + room;
    e.full = false;
    at = (u64)e.p;
    if (by_hand)
        search(&e, w, miss);
    else
        to_c(&e, w, PROF_STUB_D1_SLOW);
    if (e.full)
        engine_die("no room for a stub that searches ways");
    tcache_made((u64)e.p);
    return at;
}

u64 ways_d1(u32 r1, u32 r2)
{
    struct ways w = { .r1 = r1,
                      .r2 = r2,
                      .wide = 1,
                      .scale = tb_config.d1_scale,
                      .disp = TA_D1,
                      .assoc = spool->d1.assoc,
                      .set_mask = tb_config.d1_mask,
                      .line = spool->d1.line };

    if (!d1_stub[r1][r2])
        d1_stub[r1][r2] = make(&w, PROF_STUB_D1_MISS, tb_config.way_search && w.assoc <= WAYS_MAX);
    return d1_stub[r1][r2];
}

u64 ways_i1(void)
{
    struct ways w = { .r1 = R_RAX, .r2 = R_RCX, .disp = TA_I1, .assoc = spool->i1.assoc };

    if (!tb_config.way_search || w.assoc > WAYS_MAX)
        return 0;
    if (!i1_stub)
        i1_stub = make(&w, PROF_STUB_I1_MISS, true);
    return i1_stub;
}
