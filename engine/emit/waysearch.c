// SPDX-License-Identifier: MIT
// Stubs that search the further ways of a set of I1 or D1: generated once for a pair of registers,
// called by the cold parts of fragments (refs.c). In programs whose working set fits, a hit in a
// further way is ten to a thousand times as frequent as a miss. It only moves some words; a call of
// C costs more than that. Misses continue in helpers.c.
//
// On entry r1 is the byte offset of the set (before scaling), r2 the tag; the flags are free. The
// ways move down one by one until the old way of the tag is reached, as in sim_cache_search().
// helperdesc.h describes the data after the call.
#include "engine/emit/waysearch.h"

#include "engine/base/nolibc.h"
#include "engine/codecache/dump.h"
#include "engine/codecache/region.h"
#include "engine/codecache/stubs.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/thread/thread.h"
#include "engine/x86/asm.h"

#define WAYSEARCH_MAX 16u // C code searches sets with more ways

struct waysearch {
    u32 r1, r2, r3, r4; // registers: set, tag, two scratch registers
    u32 wide;           // tags have 64 bits
    u32 scale, disp;    // the set is at gs:disp + (r1 << scale)
    u32 assoc;
    u32 set_mask; // tag & set_mask is r1; 0: the reference is known to be in one line
    u32 line;
};

static u64 d1_stub[16][16], i1_stub;

static struct x86_mem way_at(const struct waysearch *w, u32 way)
{
    return GS_X(w->disp + way * (w->wide ? 8 : 4), w->r1, w->scale);
}

static void load(struct x86 *a, const struct waysearch *w, u32 reg, u32 way)
{
    if (w->wide)
        x86_mov(a, reg, way_at(w, way));
    else
        x86_mov32(a, reg, way_at(w, way));
}

static void store(struct x86 *a, const struct waysearch *w, u32 way, u32 reg)
{
    if (w->wide)
        x86_mov(a, way_at(w, way), reg);
    else
        x86_mov32(a, way_at(w, way), reg);
}

static void compare(struct x86 *a, const struct waysearch *w, u32 reg)
{
    if (w->wide)
        x86_cmp(a, reg, w->r2);
    else
        x86_cmp32(a, reg, w->r2);
}

static void pop_scratch(struct x86 *a, const struct waysearch *w)
{
    x86_pop_r(a, w->r4);
    x86_pop_r(a, w->r3);
}

// Continues in C, with the tag and, for STUB_D1_SLOW, the set.
static void to_c(struct x86 *a, const struct waysearch *w, enum stub stub)
{
    if (w->wide)
        x86_mov(a, GS(TH_H_ADDR), w->r2);
    if (stub == STUB_D1_SLOW)
        x86_mov32(a, GS(TH_H_DESC), w->r1);
    x86_fix(a, x86_jmp(a), stubs_at(stub));
}

// The reference is in two lines: nothing moves when each is in the first way of its set.
static void straddling(struct x86 *a, const struct waysearch *w)
{
    struct x86_label second, first;

    x86_cmp(a, w->r2, GS_X(w->disp, w->r4, w->scale)); // r4: the second line's set
    second = x86_jcc(a, CC_NE);
    x86_lea(a, w->r3, MEM(w->r2, -(s64)w->line));
    x86_cmp(a, w->r3, way_at(w, 0));
    first = x86_jcc(a, CC_NE);
    pop_scratch(a, w);
    x86_ret(a);
    x86_land(a, second);
    x86_land(a, first);
    pop_scratch(a, w);
    to_c(a, w, STUB_D1_SLOW);
}

// A hit in the second way: swaps it with the first.
static void search_second(struct x86 *a, const struct waysearch *w)
{
    struct x86_label not_second;

    load(a, w, w->r3, 1);
    compare(a, w, w->r3);
    not_second = x86_jcc(a, CC_NE);
    load(a, w, w->r3, 0);
    store(a, w, 1, w->r3);
    store(a, w, 0, w->r2);
    x86_pop_r(a, w->r3);
    x86_ret(a);
    x86_land(a, not_second);
}

static void search(struct x86 *a, const struct waysearch *w, enum stub miss)
{
    struct x86_label found[WAYSEARCH_MAX], two_lines = { 0, 0 };
    u32 x = w->r3, y = w->r4;

    x86_push_r(a, w->r3);
    if (w->assoc > 1)
        search_second(a, w);
    x86_push_r(a, w->r4);
    if (w->set_mask) {
        x86_mov(a, y, w->r2);
        x86_and32_ri(a, y, w->set_mask);
        x86_cmp32(a, w->r1, y);
        two_lines = x86_jcc(a, CC_NE);
    }
    if (w->assoc > 1) { // x holds way 1
        load(a, w, y, 0);
        store(a, w, 1, y);
    }
    for (u32 i = 2; i < w->assoc; i++) { // x holds way i - 1, which has been overwritten
        load(a, w, y, i);
        store(a, w, i, x);
        compare(a, w, y);
        found[i] = x86_jcc(a, CC_E);
        x = x == w->r3 ? w->r4 : w->r3;
        y = y == w->r3 ? w->r4 : w->r3;
    }
    store(a, w, 0, w->r2);
    pop_scratch(a, w);
    to_c(a, w, miss);
    for (u32 i = 2; i < w->assoc; i++)
        x86_land(a, found[i]);
    if (w->assoc > 2) {
        store(a, w, 0, w->r2);
        pop_scratch(a, w);
        x86_ret(a);
    }
    if (w->set_mask) {
        x86_land(a, two_lines);
        straddling(a, w);
    }
}

// Generates the stub. There is space for STUBS_MADE / 1 KiB stubs, and there are fewer.
static u64 make(struct waysearch *w, const char *name, enum stub miss, bool inline_search)
{
    struct x86 a;
    u32 left =
        (1u << R_RAX | 1u << R_RCX | 1u << R_RDX | 1u << R_RSI) & ~(1u << w->r1 | 1u << w->r2);
    u64 room;

    w->r3 = (u32)__builtin_ctz(left);
    w->r4 = (u32)__builtin_ctz(left & (left - 1));
    a.start = a.p = region_made_space(&room);
    a.end = a.p + room;
    a.full = false;
    if (inline_search)
        search(&a, w, miss);
    else
        to_c(&a, w, STUB_D1_SLOW);
    if (a.full)
        engine_die("no space for a stub that searches ways");
    region_made(x86_here(&a));
    dump_stub(name, (u64)a.start, (u64)(a.p - a.start));
    return (u64)a.start;
}

u64 waysearch_d1(u32 r1, u32 r2)
{
    struct waysearch w = { .r1 = r1,
                           .r2 = r2,
                           .wide = 1,
                           .scale = tb_config.d1_scale,
                           .disp = TA_D1,
                           .assoc = spool->d1.assoc,
                           .set_mask = tb_config.d1_mask,
                           .line = spool->d1.line };

    if (!d1_stub[r1][r2])
        d1_stub[r1][r2] = make(&w, "waysearch_d1", STUB_D1_MISS,
                               tb_config.way_search && w.assoc <= WAYSEARCH_MAX);
    return d1_stub[r1][r2];
}

u64 waysearch_i1(void)
{
    struct waysearch w = { .r1 = R_RAX, .r2 = R_RCX, .disp = TA_I1, .assoc = spool->i1.assoc };

    if (!tb_config.way_search || w.assoc > WAYSEARCH_MAX)
        return 0;
    if (!i1_stub)
        i1_stub = make(&w, "waysearch_i1", STUB_I1_MISS, true);
    return i1_stub;
}
