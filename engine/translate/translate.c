// SPDX-License-Identifier: MIT
// The translator: a basic block of client code becomes a fragment of the code cache in which the
// same instructions run with counting between them. Decode, find which flags are live, give the
// block its record in the spool, emit.
//
// A block ends at a branch, a system call, an instruction that is single-stepped, the end of the
// mapping, or after a fixed number of instructions. It has one counter; what its instructions do
// statically (Ir, Dr, Dw, Bc) follows from that, and only misses and what depends on data are
// counted one by one.
#include "engine/translate/translate.h"

#include "engine/base/cpu.h"
#include "engine/base/heap.h"
#include "engine/base/mini.h"
#include "engine/base/safemem.h"
#include "engine/base/sys.h"
#include "engine/codecache/tcache_priv.h"
#include "engine/codecache/vmmap.h"
#include "engine/count/prof.h"
#include "engine/spool/spooler.h"

static struct tb tb;
static struct insn insns[TB_INSNS_MAX];

// Blocks that have a record already: a flushed or evicted block finds its counters again.
static struct {
    u32 *index; // spool block index + 1
    u32 size, used;
} known;

static u32 known_hash(u64 pc, u32 hash)
{
    return (u32)((pc * 0x9e3779b97f4a7c15ul) >> 32) ^ hash;
}

#define CLOCK_THREAD_CPUTIME 3 // the translator's own time, whatever else the machine does

static u64 now_ns(void)
{
    struct k_timespec ts = { 0, 0 };

    sys_clock_gettime(CLOCK_THREAD_CPUTIME, &ts);
    return (u64)ts.sec * 1000000000u + (u64)ts.nsec;
}

static u64 clock_cost; // ns that reading it twice takes; 0 without -v

// What lies between two readings with nothing between them: it is not the translator's.
static u64 measure_clock(void)
{
    u64 least = ~0ul;

    for (u32 i = 0; i < 16; i++) {
        u64 t0 = now_ns(), t = now_ns() - t0;

        if (t < least)
            least = t;
    }
    return least;
}

void translate_init(void)
{
    decode_init(!(spool->flags & SPOOL_F_NO_FLAG_PROBE));
    if (spool->flags & SPOOL_F_VERBOSE)
        clock_cost = measure_clock();
    known.size = 8192;
    known.index = heap_alloc(known.size * sizeof(u32));
}

// -- decoding -----------------------------------------------------------------------------------------------

// Bytes of client code from pc on, up to n. Follows into adjoining executable mappings.
static u32 fetch(u64 pc, u8 *buf, u32 n, bool *writable, u64 *fault)
{
    struct vmmap_info m;
    u32 have = 0;

    while (have < n) {
        u64 room, got;

        if (!vmmap_find_code(pc + have, &m) || !(m.prot & PROT_EXEC)) {
            *fault = pc + have;
            break;
        }
        if ((m.prot & PROT_WRITE) || (m.flags & VMMAP_SHARED))
            *writable = true;
        room = m.end - (pc + have);
        if (room > n - have)
            room = n - have;
        got = safe_read_some(buf + have, pc + have, room);
        have += (u32)got;
        if (got < room) {
            *fault = pc + have;
            break;
        }
        if (have >= 64)
            break; // enough for now: the next chunk is fetched when it is reached
    }
    return have;
}

static bool ends_block(u32 kind)
{
    switch (kind) {
    case INSN_PLAIN:
    case INSN_STRING:
    case INSN_RDGS: return false;
    default: return true;
    }
}

// Decodes up to `limit` instructions. Returns false when not even one can be fetched.
static bool decode_block(struct tb *b, u32 limit, u64 *fault)
{
    u8 buf[1024];
    u32 have = 0, at = 0;
    u64 pc = b->pc;

    b->n = 0;
    b->step = false;
    b->writable = false;
    while (b->n < limit) {
        struct insn *in = &b->insn[b->n];
        u64 bad = 0;
        int len;

        if (have - at < 15) {
            u32 left = have - at;

            memmove(buf, buf + at, left);
            at = 0;
            have = left + fetch(pc + left, buf + left, 256, &b->writable, &bad);
            if (have == 0) {
                *fault = bad;
                break;
            }
        }
        len = decode_insn(in, pc, buf + at, have - at, tb_config.cache || tb_config.branch);
        if (len < 0) {
            if (b->n == 0)
                *fault = pc + (have - at);
            break;
        }
        if (len == 0 || in->kind == INSN_STEP ||
            (in->kind == INSN_STRING && (in->flags & INSN_F_SEG_GS))) {
            if (b->n)
                break;
            b->step = true;
            in->pc = pc;
            in->len = len > 0 ? (u8)len : 1;
            in->kind = INSN_STEP;
            in->nrefs = 0;
            in->flags = 0;
            in->vec_kind = VEC_NONE;
            b->n = 1;
            pc += in->len;
            break;
        }
        b->n++;
        pc += (u32)len;
        at += (u32)len;
        if (ends_block(in->kind))
            break;
        // code that may be rewritten: what a store changes must be seen by the next instruction
        if (b->writable && (in->flags & INSN_F_STORE))
            break;
    }
    b->end = pc;
    return b->n != 0;
}

static void liveness(struct tb *b)
{
    u32 live = FLAGS_ARITH;

    b->live[b->n] = FLAGS_ARITH;
    for (u32 i = b->n; i-- > 0;) {
        live &= ~(u32)b->insn[i].flags_kill;
        live |= b->insn[i].flags_read;
        b->live[i] = (u16)live;
    }
}

// -- the record ---------------------------------------------------------------------------------------------

static bool is_locked(const struct insn *in)
{
    bool lock = false, xchg;
    u32 i = 0;

    for (;; i++) {
        u8 c = in->bytes[i];

        if (c == 0xf0)
            lock = true;
        else if (c != 0x66 && c != 0x67 && c != 0xf2 && c != 0xf3 && c != 0x2e && c != 0x36 &&
                 c != 0x3e && c != 0x26 && c != 0x64 && c != 0x65)
            break;
    }
    if ((in->bytes[i] & 0xf0) == 0x40)
        i++;
    xchg =
        !in->encoding && (in->bytes[i] == 0x86 || in->bytes[i] == 0x87) && (in->flags & INSN_F_MEM);
    // cmpxchg, cmpxchg8b and 16b are no loop in Cachegrind's translation
    if (in->bytes[i] == 0x0f &&
        (in->bytes[i + 1] == 0xb0 || in->bytes[i + 1] == 0xb1 || in->bytes[i + 1] == 0xc7))
        return false;
    return !in->encoding && (lock || xchg);
}

static void make_record(struct tb *b)
{
    u64 line = ~0ul;
    u32 shift = tb_config.i1_shift;

    for (u32 i = 0; i < b->n; i++) {
        const struct insn *in = &b->insn[i];
        struct spool_insn *r = &b->rec[i];
        u64 first = in->pc >> shift, last = (in->pc + in->len - 1) >> shift;

        memset(r, 0, sizeof(*r));
        r->len = in->len;
        if (first != line || last != line)
            r->flags |= SPOOL_I_FETCH;
        line = last;
        if (in->kind == INSN_STEP) {
            r->flags = SPOOL_I_STEPPED;
            continue;
        }
        if (in->kind == INSN_JCC || in->kind == INSN_LOOP)
            r->flags |= SPOOL_I_BC;
        if (in->kind == INSN_JMP_IND || in->kind == INSN_CALL_IND)
            r->flags |= SPOOL_I_BI;
        if (in->kind == INSN_STRING && (in->flags & INSN_F_REP)) {
            r->flags |= SPOOL_I_DYN | SPOOL_I_REP;
            continue;
        }
        if (in->vec_kind != VEC_NONE) {
            r->flags |= SPOOL_I_DYN;
            continue;
        }
        for (u32 k = 0; k < in->nrefs; k++) {
            if ((in->refs[k].flags & (MEMREF_READ | MEMREF_WRITE)) == MEMREF_WRITE)
                r->writes++;
            else
                r->reads++;
        }
        if (tb_config.rep_cachegrind && is_locked(in)) {
            // Cachegrind's translation of a locked operation: a load, a compare-and-swap, and a
            // loop that never loops
            r->reads = 2;
            r->flags |= SPOOL_I_BC;
        }
    }
}

static u32 hash_code(const struct tb *b)
{
    u32 h = 2166136261u;

    for (u32 i = 0; i < b->n; i++) {
        for (u32 k = 0; k < b->insn[i].len; k++)
            h = (h ^ b->insn[i].bytes[k]) * 16777619u;
    }
    return h ^ b->n;
}

static void known_grow(void)
{
    u32 size = known.size * 2, *index = heap_alloc(size * sizeof(u32));

    for (u32 i = 0; i < known.size; i++) {
        struct spool_block *s;
        u32 k;

        if (!known.index[i])
            continue;
        s = spooler_block_at(known.index[i] - 1);
        for (k = known_hash(s->pc, s->hash) & (size - 1); index[k]; k = (k + 1) & (size - 1))
            ;
        index[k] = known.index[i];
    }
    heap_free(known.index, known.size * sizeof(u32));
    known.index = index;
    known.size = size;
}

// Finds or makes the block's record; returns its index and sets its counters.
static u32 block_record(struct tb *b)
{
    u32 hash = hash_code(b), map = vmmap_spool_map(b->pc), k, total = 1, first;
    struct spool_block *s;

    make_record(b);
    for (u32 i = 0; i < b->n; i++) {
        b->cnt[i] = spool_insn_counters(b->rec[i], tb_config.flags);
        b->first[i] = total; // made absolute below
        total += b->cnt[i].count;
    }
    for (k = known_hash(b->pc, hash) & (known.size - 1); known.index[k];
         k = (k + 1) & (known.size - 1)) {
        s = spooler_block_at(known.index[k] - 1);
        if (s->pc == b->pc && s->hash == hash && s->map == map && s->insns == b->n) {
            first = s->counter;
            goto found;
        }
    }
    if (known.used * 2 >= known.size) {
        known_grow();
        for (k = known_hash(b->pc, hash) & (known.size - 1); known.index[k];
             k = (k + 1) & (known.size - 1))
            ;
    }
    s = spooler_block_append(b->pc, map, b->writable ? SPOOL_B_WRITABLE : 0, hash, b->rec, b->n,
                             total, &first);
    known.index[k] = spooler_block_index(s) + 1;
    known.used++;
found:
    b->counter = first;
    for (u32 i = 0; i < b->n; i++)
        b->first[i] += first;
    return known.index[k] - 1;
}

// -- emission -----------------------------------------------------------------------------------------------

// The displacement of an exit is patched while other threads run: it must not cross a cache line of
// the host. `opcode`: bytes before it.
static void align_exit(struct tb *b, u32 opcode)
{
    u64 at = x86_here(&b->code) + opcode;

    if ((at & 63) > 60)
        x86_nops(&b->code, 64 - (u32)(at & 63));
}

static void note_exit(struct tb *b, struct x86_label l, u64 target)
{
    struct fragment_exit *x = &b->exit[b->nexits++];

    x->rel32 = (u16)l.at;
    x->target = target;
}

static void emit_exit(struct tb *b, u64 target)
{
    align_exit(b, 1);
    note_exit(b, x86_jmp(&b->code), target);
}

static void emit_jcc_exit(struct tb *b, u32 cond, u64 target)
{
    align_exit(b, 2);
    note_exit(b, x86_jcc(&b->code, cond), target);
}

// Looks the client address in rcx (spilled) up in the thread's table and goes there; flags are not
// touched.
static void emit_ibl(struct tb *b)
{
    struct x86 *a = &b->code;
    struct x86_label hit;

    x86_mov(a, GS(TH_IBL_TARGET), R_RCX);
    if (!tb_config.ibl) {
        tb_clean(b);
        tb_jmp_out(b, tcache_stub_ibl_miss());
        return;
    }
    tb_spill(b, R_RDX);
    tb_spill(b, R_RAX);
    if (cpu.bmi2) { // tcache_ibl_index(), flag-free
        x86_rorx32_rri(a, R_RDX, R_RCX, 13);
        x86_lea32(a, R_RDX, MEM_X(R_RDX, R_RCX, 0, 0));
        x86_movzx16_rr(a, R_RDX, R_RDX);
    } else {
        x86_movzx16_rr(a, R_RDX, R_RCX);
    }
    x86_lea32(a, R_RDX, MEM_X(R_RDX, R_RDX, 0, 0)); // entries have 16 bytes
    x86_mov(a, R_RAX, GS_X(TA_IBL + 8, R_RDX, 3));
    x86_mov(a, GS(TH_IBL_HOST), R_RAX);
    x86_mov(a, R_RDX, GS_X(TA_IBL, R_RDX, 3)); // minus the entry's client address
    x86_lea(a, R_RCX, MEM_X(R_RCX, R_RDX, 0, 0));
    tb_unspill_mask(b, 0xffffu & ~(1u << R_RCX));
    hit = x86_jrcxz(a);
    x86_mov(a, R_RCX, GS(TH_REGS + R_RCX * 8));
    tb_jmp_out(b, tcache_stub_ibl_miss());
    x86_land(a, hit);
    tb_unspill(b, R_RCX);
    b->ibl_jmp = tb_off(b);
    x86_jmp_m(a, GS(TH_IBL_HOST));
}

static void emit_indirect(struct tb *b, u32 i)
{
    const struct insn *in = &b->insn[i];

    tb_clean(b);
    tb_spill(b, R_RCX);
    if (in->kind == INSN_RET) {
        tb_mark(b);
        x86_pop_r(&b->code, R_RCX);
        if (in->imm)
            x86_lea(&b->code, R_RSP, MEM(R_RSP, in->imm));
    } else {
        rewrite_target(b, in, R_RCX);
        if (in->kind == INSN_CALL_IND)
            rewrite_push(b, in->pc + in->len);
        sim_indirect(b, i);
    }
    emit_ibl(b);
}

static void emit_syscall(struct tb *b, const struct insn *in)
{
    struct x86 *a = &b->code;
    struct x86_label behind;

    tb_clean(b);
    tb_spill(b, R_RCX);
    x86_mov_imm(a, R_RCX, in->pc + in->len);
    x86_mov(a, GS(TH_SC_NEXT), R_RCX);
    behind = x86_lea_rip(a, R_RCX);
    x86_mov(a, GS(TH_SC_CONT), R_RCX);
    b->sc_jmp = tb_off(b) + 1;
    tb_jmp_out(b, tcache_stub_gate());
    x86_land(a, behind);
    b->spilled = 0;
    emit_exit(b, in->pc + in->len);
}

// The block's counter is incremented where the flags that inc writes (all but CF) are dead, as late
// as possible.
static u32 counter_place(const struct tb *b)
{
    for (u32 i = b->n; i-- > 0;) {
        if (!(b->live[i] & ~FLAG_CF))
            return i;
    }
    return b->n - 1;
}

static void emit_count(struct tb *b)
{
    u32 disp = TA_COUNTERS + b->counter * 8;

    if (!(b->live[b->cur] & ~FLAG_CF) || b->flags_saved) {
        x86_inc_m(&b->code, GS(disp));
    } else {
        u32 r = tb_scratch(b, 0);

        x86_mov(&b->code, r, GS(disp));
        x86_lea(&b->code, r, MEM(r, 1));
        x86_mov(&b->code, GS(disp), r);
    }
    b->bumped = true;
    tb_mark(b);
}

// A block from writable memory compares its bytes before it runs.
static void emit_self_check(struct tb *b)
{
    struct x86 *a = &b->code;
    u8 code[TB_INSNS_MAX * 15];
    u32 n = 0, r1, r2;

    for (u32 i = 0; i < b->n; i++) {
        memcpy(code + n, b->insn[i].bytes, b->insn[i].len);
        n += b->insn[i].len;
    }
    tb_flags_free(b, b->live[0]);
    r1 = tb_scratch(b, 0);
    r2 = tb_scratch(b, 1u << r1);
    x86_mov_imm(a, r1, b->pc);
    tb_mark(b);
    for (u32 at = 0; at < n;) {
        // Aligned, because the client may run with alignment checks on (HotSpot's probe of the
        // processor does).
        u32 step = n - at >= 8 && !((b->pc + at) & 7)   ? 8
                   : n - at >= 4 && !((b->pc + at) & 3) ? 4
                                                        : 1;
        struct cold *c;

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
        c = tb_cold(b, COLD_SMC);
        c->from = x86_jcc(a, CC_NE);
    }
}

static void emit_edge_exit(struct tb *b, u32 i, bool taken, u64 target)
{
    sim_edge(b, i, taken);
    tb_clean(b);
    emit_exit(b, target);
}

// jmp or jcc or loop to a cold edge
static void cold_edge(struct tb *b, u32 i, bool taken, struct x86_label from)
{
    struct cold *c = tb_cold(b, COLD_EDGE);

    c->from = from;
    c->taken = taken;
    c->insn = (u16)i;
}

static void emit_conditional(struct tb *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    struct x86 *a = &b->code;
    struct x86_label over;
    u64 next = in->pc + in->len;

    tb_clean(b);
    if (in->kind == INSN_JCC) {
        if (!tb_config.branch) {
            emit_jcc_exit(b, in->cond, in->target);
            emit_exit(b, next);
            return;
        }
        cold_edge(b, i, true, x86_jcc(a, in->cond));
        emit_edge_exit(b, i, false, next);
        return;
    }
    // loop and jrcxz have only a short form: it jumps over the jump that leads to the other edge
    over = rewrite_loop(b, in);
    cold_edge(b, i, false, x86_jmp(a));
    x86_land(a, over);
    emit_edge_exit(b, i, true, in->target);
}

static void emit_insn(struct tb *b, u32 i)
{
    const struct insn *in = &b->insn[i];

    switch (in->kind) {
    case INSN_PLAIN:
    case INSN_STRING:
    case INSN_RDGS:
        // flags that the instruction reads or changes have to be in place
        if (b->flags_saved) {
            if (!b->live[i])
                b->flags_saved = false;
            else if (in->flags_touch)
                tb_flags_restore(b);
        }
        if (in->regs_known)
            tb_unspill_mask(b, in->regs);
        else
            tb_unspill_mask(b, 0xffff);
        if (in->kind == INSN_STRING) {
            sim_string(b, i);
        } else if (in->kind == INSN_RDGS) {
            if (in->str_size == 8)
                x86_mov(&b->code, in->ireg, GS(TH_CLIENT_GS));
            else
                x86_mov32(&b->code, in->ireg, GS(TH_CLIENT_GS));
        } else {
            rewrite_insn(b, in);
        }
        break;
    case INSN_JMP:
        tb_clean(b);
        emit_exit(b, in->target);
        break;
    case INSN_XBEGIN: // aborts at once with status 0
        tb_clean(b);
        tb_mark(b);
        // Illegal where the processor does not know it. A transaction that begins ends with the
        // xabort, which does nothing otherwise.
        x86_land(&b->code, x86_xbegin(&b->code));
        x86_xabort(&b->code, 0);
        x86_mov_imm(&b->code, R_RAX, 0);
        emit_exit(b, in->target);
        break;
    case INSN_JCC:
    case INSN_LOOP: emit_conditional(b, i); break;
    case INSN_CALL:
        tb_clean(b);
        rewrite_push(b, in->pc + in->len);
        tb_clean(b);
        emit_exit(b, in->target);
        break;
    case INSN_JMP_IND:
    case INSN_CALL_IND:
    case INSN_RET: emit_indirect(b, i); break;
    case INSN_SYSCALL: emit_syscall(b, in); break;
    default: break;
    }
}

static void emit_cold(struct tb *b, struct cold *c, u32 index)
{
    switch (c->kind) {
    case COLD_SMC:
        x86_land(&b->code, c->from);
        b->spilled = c->spilled;
        b->flags_saved = c->flags_saved;
        tb_clean(b);
        x86_mov_mi(&b->code, GS(TH_EXIT_ID), (u32)(-2 - (s32)index));
        tb_jmp_out(b, tcache_stub_exit());
        break;
    case COLD_EDGE: {
        const struct insn *in = &b->insn[c->insn];

        x86_land(&b->code, c->from);
        b->spilled = c->spilled;
        b->flags_saved = c->flags_saved;
        b->cur = c->insn;
        emit_edge_exit(b, c->insn, c->taken, c->taken ? in->target : in->pc + in->len);
        break;
    }
    default: sim_cold(b, c); break;
    }
}

// Emits the whole fragment at the cache's free end. Returns false when it does not fit.
static bool emit_block(struct tb *b, u32 index)
{
    struct x86 *a = &b->code;
    u32 place = counter_place(b);
    u64 room;

    a->start = a->p = tcache_room(&room);
    a->end = a->p + (room > FRAGMENT_MAX ? FRAGMENT_MAX : room);
    a->full = false;
    b->nrecipes = b->nrelocs = b->ncold = b->nexits = 0;
    b->spilled = 0;
    b->flags_saved = b->bumped = b->in_rep = b->overflow = false;
    b->iline = ~0ul;
    b->ibl_jmp = b->sc_jmp = 0;
    b->cur = 0;

    if (b->writable)
        emit_self_check(b);
    for (u32 i = 0; i < b->n; i++) {
        b->cur = i;
        if (i == place)
            emit_count(b);
        sim_insn_before(b, i);
        if (b->rec[i].flags & SPOOL_I_BC && b->insn[i].kind == INSN_PLAIN)
            sim_edge(b, i, false); // a locked operation in Cachegrind's count
        emit_insn(b, i);
    }
    if (!ends_block(b->insn[b->n - 1].kind)) {
        b->cur = b->n;
        tb_clean(b);
        emit_exit(b, b->end);
    }
    for (u32 i = 0; i < b->ncold; i++)
        emit_cold(b, &b->cold[i], index);
    for (u32 i = 0; i < b->nexits; i++) {
        struct x86_label exit = { b->exit[i].rel32, 4 };

        b->exit[i].stub = (u16)tb_off(b);
        x86_land(a, exit);
        x86_mov_mi(a, GS(TH_EXIT_ID), index * 2 + i);
        tb_jmp_out(b, tcache_stub_exit());
    }
    return !a->full && !b->overflow;
}

struct fragment *translate_block(struct thread *t, u64 pc, u64 *fault)
{
    struct tb *b = &tb;
    struct fragment *f;
    u32 limit = tb_config.cache ? 32 : TB_INSNS_MAX, block;
    u64 t0 = 0;

    *fault = TRANSLATE_NO_FAULT;
    if (spool->flags & SPOOL_F_VERBOSE)
        t0 = now_ns();
    b->t = t;
    b->pc = pc;
    b->insn = insns;
    for (;;) {
        if (!decode_block(b, limit, fault))
            return NULL;
        *fault = TRANSLATE_NO_FAULT;
        liveness(b);
        if (!tcache_has_room(b->n))
            return NULL;
        block = block_record(b);
        if (b->step) {
            b->nrecipes = b->nrelocs = b->nexits = b->ibl_jmp = b->sc_jmp = 0;
            b->code.start = b->code.p = tcache_room(NULL);
            break;
        }
        if (emit_block(b, tcache_next_index()))
            break;
        if (limit == 1)
            engine_die("the instruction at 0x%lx does not fit into a fragment", pc);
        limit = b->n > 1 ? b->n / 2 : 1;
    }
    f = tcache_publish(b, block);
    spool->n_translated++;
    spool->n_translated_insns += b->n;
    if (spool->flags & SPOOL_F_VERBOSE) {
        t0 = now_ns() - t0;
        spool->ns_translating += t0 > clock_cost ? t0 - clock_cost : 0;
    }
    return f;
}
