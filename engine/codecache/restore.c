// SPDX-License-Identifier: MIT
// The client's state at a host address, for signal handlers (restore.h).
#include "engine/codecache/restore.h"

#include "engine/base/cpu.h"
#include "engine/base/nolibc.h"
#include "engine/codecache/region.h"
#include "engine/codecache/stubs.h"
#include "engine/codecache/tcache.h"
#include "engine/spool/spooler.h"

enum restore_where restore_find(u64 hpc)
{
    if (hpc < region_start() || hpc >= region_end())
        return RESTORE_OUTSIDE;
    if (hpc >= region_escapes())
        return RESTORE_ESCAPE;
    if (hpc >= region_fragments())
        return RESTORE_FRAGMENT;
    if (hpc >= stubs_at(STUB_HELPERS)) // and the stubs generated at run time
        return RESTORE_HELPER;
    if (stubs_between(hpc, STUB_IBL_MISS, STUB_EXIT_END))
        return RESTORE_EXIT;
    if (stubs_between(hpc, STUB_ENTER, STUB_ENTER_END))
        return RESTORE_ENTER;
    if (stubs_between(hpc, STUB_WATCH, STUB_WATCH_END))
        return RESTORE_WATCH;
    if (stubs_between(hpc, STUB_GATE, STUB_GATE_AFTER))
        return RESTORE_GATE_BEFORE;
    if (stubs_between(hpc, STUB_GATE_AFTER, STUB_GATE_AFTER_END))
        return RESTORE_GATE_AFTER;
    return RESTORE_OUTSIDE;
}

static void merge_flags(struct thread *t, u64 rflags, bool saved)
{
    if (saved) {
        u64 ah = t->flags_save >> 8 & 0xff, al = t->flags_save & 0xff;

        rflags &= ~(u64)FLAGS_ARITH;
        rflags |= ah & (FLAG_SF | FLAG_ZF | FLAG_AF | FLAG_PF | FLAG_CF);
        if (al & 1)
            rflags |= FLAG_OF;
    }
    t->rflags = rflags;
}

// The fragment at a host address, which may be in this thread's escape copy, and the offset in it.
static struct fragment *fragment_of(struct thread *t, u64 hpc, u32 *off)
{
    struct fragment *f;

    if (restore_find(hpc) != RESTORE_ESCAPE) {
        f = tcache_at(hpc);
        *off = (u32)(hpc - f->hpc);
        return f;
    }
    f = (struct fragment *)t->escape_fragment;
    if (!f)
        engine_die("fault at host address 0x%lx in an escape buffer that is not in use", hpc);
    *off = (u32)(hpc - t->escape_buffer);
    return f;
}

static const struct recipe *recipe_at(const struct fragment *f, u32 off)
{
    u32 lo = 0, hi = f->nrecipes;

    if (hi == 0 || off < fragment_recipes(f)[0].off)
        engine_die("no recipe for host address 0x%lx (block 0x%lx + %u)", f->hpc + off, f->pc, off);
    while (hi - lo > 1) {
        u32 mid = (lo + hi) / 2;

        if (fragment_recipes(f)[mid].off <= off)
            lo = mid;
        else
            hi = mid;
    }
    return &fragment_recipes(f)[lo];
}

// The block of f that holds instruction `insn`. The blocks before it are counted here: they have
// been executed, and a superblock counts at its end.
static struct fragment_block block_of(struct thread *t, const struct fragment *f, u32 insn)
{
    struct fragment_block b = { f->pc, f->end, f->block, f->own, 0, 0 };

    for (u32 i = 0; i < f->nmore && f->more[i].insn <= insn; i++) {
        t->counters[b.counter]++;
        b = f->more[i];
    }
    return b;
}

static void add_total(struct restore_progress *l, u32 block, u32 insns, s32 by)
{
    l->total[l->ntotals].block = block;
    l->total[l->ntotals].insns = insns;
    l->total[l->ntotals++].by = by;
}

// b: the block that was left. If it has been counted, the totals have all of the fragment, else the
// blocks before it up to b->summed.
static void find_totals(struct restore_progress *l, const struct fragment *f,
                        const struct fragment_block *b, u32 before, bool bumped)
{
    u32 block = f->block, first = 0, end;

    for (u32 i = 0; first != b->insn; i++, first = end) {
        end = f->more[i].insn;
        if (i >= b->summed && !bumped)
            add_total(l, block, end - first, 1);
        block = f->more[i].block;
    }
    if (bumped)
        add_total(l, b->block, f->ninsns - b->insn, -1);
    add_total(l, b->block, before, 1);
}

static struct restore_progress left_at(const struct fragment *f, const struct recipe *r)
{
    struct restore_progress l = { .log = f->log,
                                  .insn = r->insn,
                                  .open = r->flags & RECIPE_OPEN,
                                  .closed = r->flags & RECIPE_CLOSED,
                                  .rep = r->flags & RECIPE_REP };

    return l;
}

struct restore_progress restore_recover(struct thread *t, const struct host_regs *u)
{
    u32 off;
    struct fragment *f = fragment_of(t, u->rip, &off);
    const struct recipe *r = recipe_at(f, off);
    struct fragment_block b = block_of(t, f, r->insn);
    struct restore_progress left = left_at(f, r);
    u32 before = r->insn - b.insn;

    for (u32 i = 0; i < 16; i++) {
        if (!(r->spilled & 1u << i))
            t->regs[i] = u->r[i];
    }
    if ((r->flags & RECIPE_RECORD) && (r->spilled & 1u << 11))
        t->record_at = u->r[11];
    merge_flags(t, u->rflags, r->flags & RECIPE_FLAGS_SAVED);
    t->pc = b.pc;
    for (u32 i = b.insn; i < r->insn; i++)
        t->pc += fragment_lens(f)[i];
    if (r->flags & RECIPE_BUMPED)
        t->counters[f->counter]--;
    if (before && !(f->flags & FRAGMENT_UNCOUNTED)) {
        spooler_partial(b.block, before, t->slot, t->calls_context);
        t->partial_insns += before;
    }
    if (r->flags & RECIPE_REP) {
        t->h_save[1] = u->r[R_RCX];
        t->h_save[3] = u->r[R_RSI];
        t->h_save[4] = u->r[R_RDI];
        t->h_save[9] = (u->rflags & 0xff) << 8;
    }
    if (!(f->flags & FRAGMENT_UNCOUNTED))
        find_totals(&left, f, &b, before, r->flags & RECIPE_BUMPED);
    return left;
}

void restore_gate_state(struct thread *t, const struct host_regs *u)
{
    // The gate's first instruction saves the client's stack pointer: before that the slot is stale.
    bool engine_stack = stubs_between(u->rip, STUB_GATE, STUB_GATE_GO) &&
                        u->rip != stubs_at(STUB_GATE) && u->r[R_RSP] != t->regs[R_RSP];
    u64 rcx = t->regs[R_RCX], rsp = t->regs[R_RSP], r11 = t->regs[11];
    u64 rax = t->regs[R_RAX], rdx = t->regs[R_RDX];
    const u64 high[] = { t->regs[8], t->regs[9], t->regs[10] };

    memcpy(t->regs, u->r, sizeof(t->regs));
    if (stubs_between(u->rip, STUB_GATE_LOOK, STUB_GATE_LOOK_END)) {
        t->regs[R_RAX] = rax;
        t->regs[R_RDX] = rdx;
        memcpy(&t->regs[8], high, sizeof(high));
    }
    t->regs[R_RCX] = rcx;
    if (stubs_recording())
        t->regs[11] = r11;
    if (engine_stack)
        t->regs[R_RSP] = rsp;
    if (!stubs_between(u->rip, STUB_GATE_FLAGS, STUB_GATE_GO))
        t->rflags = u->rflags;
    t->pc = t->sc_next - 2;
    t->sc_restart = t->sc_block;
}

void restore_watch_state(struct thread *t, const struct host_regs *u)
{
    u64 rax = t->regs[R_RAX], rcx = t->regs[R_RCX];

    memcpy(t->regs, u->r, sizeof(t->regs));
    if (stubs_between(u->rip, STUB_WATCH_SAVED, STUB_WATCH_END)) {
        t->regs[R_RAX] = rax;
        t->regs[R_RCX] = rcx;
    }
    t->rflags = u->rflags & ~FLAG_TF;
    t->pc = tcache_by_index((u32)t->watch / 8)->pc;
}

void restore_leave(struct thread *t, u64 *ret)
{
    __atomic_store_n(&t->leaving, true, __ATOMIC_SEQ_CST);
    if (restore_find(*ret) == RESTORE_FRAGMENT)
        *ret = restore_escape(t, *ret);
    __atomic_store_n(&t->leaving, false, __ATOMIC_SEQ_CST);
}

u64 restore_escape(struct thread *t, u64 hpc)
{
    struct fragment *f = tcache_at(hpc);
    u8 *copy = (u8 *)t->escape_buffer;
    u64 delta = t->escape_buffer - f->hpc;

    memcpy(copy, (const void *)f->hpc, f->size);
    for (u32 i = 0; i < f->nrelocs; i++) {
        u16 at = fragment_relocs(f)[i];
        u32 rel;

        memcpy(&rel, copy + at, 4);
        rel -= (u32)delta;
        memcpy(copy + at, &rel, 4);
    }
    for (u32 i = 0; i < f->nexits; i++) {
        u32 rel = f->exit[i].stub - (f->exit[i].rel32 + 4u);

        memcpy(copy + f->exit[i].rel32, &rel, 4);
    }
    for (u32 i = 0; i < ARRAY_SIZE(f->ibl_jmp) && f->ibl_jmp[i]; i++) {
        // to the miss path instead of to the target
        u8 *jump = copy + f->ibl_jmp[i];
        u32 rel = (u32)(stubs_at(STUB_IBL_MISS) - ((u64)jump + 5));

        *jump = 0xe9;
        memcpy(jump + 1, &rel, 4);
    }
    if (f->watch && copy[f->watch + WATCH_JUMP] == 0xe9) { // an allocator's point goes to C anyway
        u8 *jump = copy + f->watch + WATCH_JUMP;
        u32 rel = (u32)(stubs_at(STUB_WATCHED) - ((u64)jump + 5));

        memcpy(jump + 1, &rel, 4);
    }
    if (f->sc_jmp) {
        // back to the dispatcher at the syscall instruction instead of into the gate
        u32 rel = (u32)(stubs_at(STUB_SYSCALL_ESCAPED) - ((u64)copy + f->sc_jmp + 4));

        memcpy(copy + f->sc_jmp, &rel, 4);
    }
    t->escape_fragment = (u64)f;
    t->escape_delta = (s64)delta;
    return hpc + delta;
}
