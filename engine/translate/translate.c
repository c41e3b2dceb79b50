// SPDX-License-Identifier: MIT
// The translator: a basic block of client code becomes a fragment of the code cache, where the same
// instructions run with counting between them. Decode and find the live flags (block.c), find or
// make the block's record in the spool (blockrecord.c), emit.
//
// A block ends at a branch, a system call, an instruction that is single-stepped, the end of the
// mapping, or after a fixed number of instructions. It has one counter, from which its static
// events (Ir, Dr, Dw, Bc) follow; only misses and what depends on data are counted one by one.
#include "engine/translate/translate.h"

#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/codecache/dump.h"
#include "engine/codecache/region.h"
#include "engine/codecache/tcache.h"
#include "engine/emit/state.h"
#include "engine/emit/tb.h"
#include "engine/objects/alloc.h"
#include "engine/replay/recordbuf.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/translate/block.h"
#include "engine/translate/blockrecord.h"
#include "engine/translate/calls.h"
#include "engine/translate/cpucheck.h"
#include "engine/translate/exits.h"
#include "engine/translate/pcache.h"
#include "engine/translate/predict.h"
#include "engine/translate/recording.h"
#include "engine/translate/refs.h"
#include "engine/translate/relocate.h"
#include "engine/translate/timing.h"
#include "engine/x86/coreop.h"
#include "engine/x86/decode.h"

static struct tb tb;

void translate_init(void)
{
    decode_init(!(spool->flags & SPOOL_F_NO_FLAG_PROBE));
    if (tb_config.core)
        coreop_init();
    timing_init();
    blockrecord_init();
    tb.dumped = dump_init();
}

// The instruction before which the block's counter is incremented: the last one where the flags
// that inc writes (all but CF) are dead.
static u32 counter_place(const struct tb *b, const struct tb_block *t)
{
    u32 end = t->first + t->n;

    for (u32 i = tb_config.calls ? end : t->first; i-- > t->first;) {
        if (!b->live[i]) // the add to the running totals writes CF, too
            return i;
    }
    for (u32 i = end; i-- > t->first;) {
        if (!(b->live[i] & ~FLAG_CF))
            return i;
    }
    return end - 1;
}

static void emit_count(struct tb *b)
{
    u32 disp = TA_COUNTERS + b->counter * 8;

    if (!(b->live[b->cur] & ~FLAG_CF) || b->flags_saved) {
        x86_inc_m(&b->code, GS(disp));
    } else {
        // A return needs rcx anyway.
        u32 r = b->insn[b->cur].kind == INSN_RET ? R_RCX : state_scratch(b, 0);

        state_spill(b, r);
        x86_mov(&b->code, r, GS(disp));
        x86_lea(&b->code, r, MEM(r, 1));
        x86_mov(&b->code, GS(disp), r);
    }
    calls_emit_totals(b, b->nblocks, !b->live[b->cur] || b->flags_saved, 0);
    b->bumped = true;
    tb_mark(b);
}

// A block from writable memory compares its bytes before it runs.
static void emit_self_check(struct tb *b)
{
    struct x86 *a = &b->code;
    u8 code[TB_INSNS_MAX * INSN_BYTES_MAX];
    u32 n = 0, r1, r2;

    b->nchanged = 0;
    for (u32 i = 0; i < b->n; i++) {
        memcpy(code + n, b->insn[i].bytes, b->insn[i].len);
        n += b->insn[i].len;
    }
    state_flags_free(b, b->live[0]);
    r1 = state_scratch(b, 0);
    r2 = state_scratch(b, 1u << r1);
    x86_mov_imm(a, r1, b->pc);
    tb_mark(b);
    for (u32 at = 0; at < n;) {
        // Aligned, because the client may run with alignment checks on (HotSpot's probe of the
        // processor does).
        u32 step = n - at >= 8 && !((b->pc + at) & 7)   ? 8
                   : n - at >= 4 && !((b->pc + at) & 3) ? 4
                                                        : 1;

        if (step == 8) {
            u64 v;

            memcpy(&v, code + at, 8);
            x86_mov_imm(a, r2, v);
            x86_cmp(a, MEM(r1, at), r2);
        } else if (step == 4) {
            u32 v;

            memcpy(&v, code + at, 4);
            x86_cmp32_mi(a, MEM(r1, at), v);
        } else {
            x86_cmp8_mi(a, MEM(r1, at), code[at]);
        }
        at += step;
        // one cold part for all of them: the state is the same
        b->changed[b->nchanged++] = x86_jcc(a, CC_NE);
    }
    tb_cold(b, COLD_SMC, b->changed[--b->nchanged]);
}

// Restores the flags that the instruction reads or changes, and the registers that it uses.
static void prepare(struct tb *b, u32 i)
{
    const struct insn *in = &b->insn[i];

    if (b->flags_saved) {
        if (!b->live[i])
            b->flags_saved = false;
        else if (in->flags_touch)
            state_flags_restore(b);
    }
    state_unspill_mask(b, in->regs_known ? in->regs : 0xffff);
}

static void emit_rdgs(struct tb *b, const struct insn *in)
{
    if (in->str_size == 8)
        x86_mov(&b->code, in->ireg, GS(TH_CLIENT_GS));
    else
        x86_mov32(&b->code, in->ireg, GS(TH_CLIENT_GS));
}

// xbegin aborts at once with status 0. Illegal where the processor does not know it. If a
// transaction begins, the xabort ends it; otherwise that does nothing.
static void emit_xbegin(struct tb *b)
{
    tb_mark(b);
    x86_land(&b->code, x86_xbegin(&b->code));
    x86_xabort(&b->code, 0);
    x86_mov_imm(&b->code, R_RAX, 0);
}

static void plain(struct tb *b, const struct insn *in)
{
    calls_emit_stack_set(b, in);
    relocate_insn(b, in);
}

static void close_record(struct tb *b, u32 i)
{
    calls_expect(b, i);
    recording_close(b, i);
}

static void emit_insn(struct tb *b, u32 i)
{
    const struct insn *in = &b->insn[i];

    if (!block_ends(in))
        prepare(b, i);
    else if (b->given)
        close_record(b, i);
    else
        state_clean_but(b, block_takes(in));
    if (!(b->spilled & b->given) && (!in->regs_known || (in->written & b->given)))
        b->given_dirty = true;
    switch (in->kind) {
    case INSN_PLAIN: plain(b, in); break;
    case INSN_STRING:
        if (b->given && (in->flags & INSN_F_REP))
            recording_string(b, i);
        else
            refs_string(b, i);
        break;
    case INSN_RDGS: emit_rdgs(b, in); break;
    case INSN_REQUEST: // its exit is never linked: the dispatcher answers
    case INSN_JMP:
        calls_emit_goto(b, i);
        state_clean(b);
        exits_exit(b, in->target);
        break;
    case INSN_XBEGIN:
        emit_xbegin(b);
        exits_exit(b, in->target);
        break;
    case INSN_JCC:
    case INSN_LOOP: exits_conditional(b, i); break;
    case INSN_CALL:
        relocate_push(b, in->pc + in->len);
        if (!b->given)
            predict_call(b, i);
        calls_emit_call(b, i);
        state_clean(b);
        exits_exit(b, in->target);
        break;
    case INSN_JMP_IND:
    case INSN_CALL_IND:
    case INSN_RET: exits_indirect(b, i); break;
    case INSN_SYSCALL: exits_syscall(b, i); break;
    default: break;
    }
}

// To the next version of the block's code, or to the dispatcher.
static void emit_changed(struct tb *b, const struct cold *c)
{
    tb_cold_begin(b, c);
    for (u32 i = 0; i < b->nchanged; i++)
        x86_land(&b->code, b->changed[i]);
    state_clean(b);
    exits_exit(b, b->pc);
    b->draft.exit[b->draft.nexits - 1].side = true;
}

static void emit_cold(struct tb *b, const struct cold *c)
{
    switch ((enum cold_kind)c->kind) {
    case COLD_DREF:
    case COLD_IREF: refs_cold(b, c); break;
    case COLD_BC:
    case COLD_BI: predict_cold(b, c); break;
    case COLD_EDGE: exits_cold(b, c); break;
    case COLD_SIDE: exits_side(b, c); break;
    case COLD_CALLS: calls_emit_cold(b, c); break;
    case COLD_SMC: emit_changed(b, c); break;
    }
}

// An empty fragment at the cache's free end.
static void begin(struct tb *b)
{
    struct x86 *a = &b->code;
    struct draft *d = &b->draft;
    u64 room;

    a->start = a->p = region_space(&room);
    a->end = a->p + (room > FRAGMENT_MAX ? FRAGMENT_MAX : room);
    a->full = false;
    d->nrecipes = d->nrelocs = d->nexits = 0;
    d->ibl_jmp[0] = d->ibl_jmp[1] = d->sc_jmp = 0;
    d->watch = 0;
    b->side_look_up = 0;
    b->ncold = b->nparts = b->npushed = 0;
    b->spilled = 0;
    b->stack_set = false;
    b->flags_saved = b->bumped = b->in_rep = b->overflow = b->alone = b->joined = false;
    b->iline = b->core_line = ~0ul;
    b->nlines = 0;
    b->cur = b->summed = 0;
    recording_begin(b);
}

// A superblock counts the execution of all of its blocks in the last one. An exit in the middle
// counts the blocks before it, and so does a fault (codecache/restore.c).
static void emit_body(struct tb *b, u32 k)
{
    struct tb_block *t = &b->block[k];
    u32 place = counter_place(b, t), end = t->first + t->n;
    bool last = k + 1 == b->nblocks;

    b->at = k;
    t->summed = b->summed;
    b->counter = b->nblocks > 1 && last ? blockrecord_sum(b, b->nblocks) : t->counter;
    b->record = t->record;
    for (u32 i = t->first; i < end; i++) {
        b->cur = i;
        if (k && i == t->first)
            b->joined = true;
        tb_part(b, SPOOL_CODE_MAIN, i);
        if (i == place && last && tb_config.counts)
            emit_count(b);
        if (b->given)
            recording_insn(b, i);
        else
            refs_insn(b, i);
        if (!b->given && b->rec[i].flags & SPOOL_I_BC && b->insn[i].kind == INSN_PLAIN)
            predict_edge(b, i, false); // a locked operation in Cachegrind's count
        if (!last && i + 1 == end && block_ends(&b->insn[i])) {
            prepare(b, i);
            exits_joint(b, i, b->block[k + 1].pc);
        } else {
            emit_insn(b, i);
        }
    }
}

static bool is_watched(const struct tb *b)
{
    return tb_config.watch && tb_config.counts && !b->writable &&
           b->insn[b->n - 1].kind != INSN_REQUEST;
}

// The point of an allocator at which the fragment begins (objects/alloc.h), if it can have an entry
// of its own; 0: it has none, and is only entered by the dispatcher.
static u32 point_of(const struct tb *b)
{
    bool may = tb_config.data && !tb_config.each_block && !(spool->flags & SPOOL_F_NO_HINTS);

    return may && !b->writable && b->insn[b->n - 1].kind != INSN_REQUEST ? alloc_point(b->pc) : 0;
}

// Emits everything. Returns false when it does not fit.
static bool emit_block(struct tb *b, u32 index)
{
    u32 point = point_of(b);

    tb_part(b, SPOOL_CODE_HEAD, 0);
    if (b->writable)
        emit_self_check(b);
    if (b->given)
        recording_open(b);
    for (u32 k = 0; k < b->nblocks; k++)
        emit_body(b, k);
    if (!block_ends(&b->insn[b->n - 1])) {
        b->cur = b->n;
        if (b->given)
            close_record(b, b->n);
        calls_emit_jump(b, b->n - 1, b->end);
        state_clean(b);
        exits_exit(b, b->end);
    }
    for (u32 i = b->writable; i < b->ncold; i++)
        emit_cold(b, &b->cold[i]);
    if (b->writable) // the self-check's: its exit must be the last
        emit_cold(b, &b->cold[0]);
    exits_stubs(b, index);
    if (is_watched(b))
        exits_watch(b, index);
    else if (point)
        exits_point(b, index, point);
    return !b->code.full && !b->overflow;
}

static struct fragment *publish(struct tb *b)
{
    struct draft *d = &b->draft;

    d->pc = b->pc;
    d->end = b->block[0].end;
    d->hpc = (u64)b->code.start;
    d->size = tb_off(b);
    d->flags = (b->step ? FRAGMENT_STEP : 0) | (b->writable ? FRAGMENT_WRITABLE : 0) |
               (b->insn[b->n - 1].kind == INSN_REQUEST ? FRAGMENT_REQUEST : 0) |
               (tb_config.counts ? 0 : FRAGMENT_UNCOUNTED) |
               (tb_config.data && d->watch ? FRAGMENT_WATCHED : 0);
    d->again = b->again;
    d->block = b->block[0].record;
    d->counter = b->counter;
    d->own = b->block[0].counter;
    d->nmore = b->nblocks - 1;
    for (u32 i = 0; i < d->nmore; i++) {
        const struct tb_block *t = &b->block[i + 1];

        d->more[i] =
            (struct fragment_block){ t->pc, t->end, t->record, t->counter, t->first, t->summed };
    }
    d->log = 0;
    if (b->given && !b->step) {
        d->log = recordbuf_next_id();
        d->flags |= b->alone ? FRAGMENT_ALONE : 0;
        recordbuf_publish(&b->log);
    }
    d->ninsns = b->n;
    for (u32 i = 0; i < b->n; i++)
        d->len[i] = b->insn[i].len;
    spool->n_translated += b->nblocks;
    spool->n_translated_insns += b->n;
    if (b->dumped)
        dump_fragment(&(struct dump){ .pc = d->pc,
                                      .hpc = d->hpc,
                                      .insn = b->insn,
                                      .part = b->part,
                                      .bytes = d->size,
                                      .insns = b->n,
                                      .parts = b->nparts });
    return tcache_publish(d);
}

// Instructions of a block.
static u32 insns_max(void)
{
    return tb_config.cache ? 32 : 64;
}

static struct fragment *translate(struct tb *b, u64 *fault)
{
    u32 limit = insns_max();

    for (;;) {
        if (!block_decode(b, limit, fault))
            return NULL;
        *fault = TRANSLATE_NO_FAULT;
        if (!tcache_has_room() || !recordbuf_has_space())
            return NULL;
        blockrecord_make(b, &b->block[0]);
        b->counter = b->block[0].counter; // also for a stepped one, for which nothing is emitted
        cpucheck_check(b);
        begin(b);
        if (b->step || emit_block(b, tcache_next_index()))
            return publish(b);
        if (limit == 1)
            engine_die("the instruction at 0x%lx does not fit into a fragment", b->pc);
        limit = b->n > 1 ? b->n / 2 : 1;
    }
}

// Translates as many of the blocks that begin at pc[0..n) as fit into one fragment.
static struct fragment *translate_along(struct tb *b, const u64 *pc, u32 n)
{
    for (; n >= 2; n = b->nblocks - 1) {
        if (!block_decode_along(b, insns_max(), pc, n, calls_can_join) || !tcache_has_room() ||
            !recordbuf_has_space())
            return NULL;
        for (u32 k = 0; k < b->nblocks; k++)
            blockrecord_make(b, &b->block[k]);
        cpucheck_check(b);
        begin(b);
        if (emit_block(b, tcache_next_index()))
            return publish(b);
    }
    return NULL;
}

struct fragment *translate_superblock(const u64 *pc, u32 n)
{
    u64 begin = timing_begin();
    struct fragment *f = translate_along(&tb, pc, n);

    timing_end(begin, f != NULL);
    return f;
}

struct fragment *translate_block(u64 pc, u64 *fault)
{
    struct fragment *f = pcache_revive(pc) ? tcache_lookup(pc) : NULL;
    u64 begin;

    *fault = TRANSLATE_NO_FAULT;
    if (f)
        return f;
    begin = timing_begin();
    tb.pc = pc;
    f = translate(&tb, fault);
    timing_end(begin, f != NULL);
    return f;
}
