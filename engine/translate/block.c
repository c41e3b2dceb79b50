// SPDX-License-Identifier: MIT
// From client memory to the instructions of a block (block.h).
#include "engine/translate/block.h"

#include "engine/base/mini.h"
#include "engine/base/safemem.h"
#include "engine/base/sys.h"
#include "engine/codecache/vmmap.h"
#include "engine/spool/config.h"
#include "engine/x86/decode.h"

#define FETCH_MAX 256u

// Client code that has been read but not decoded.
struct source {
    u8 buf[FETCH_MAX + INSN_BYTES_MAX];
    u32 at, have;
};

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

// So that a whole instruction is there, unless what follows cannot be fetched: its address is then
// in *fault, if nothing is there at all.
static bool refill(struct tb *b, struct source *s, u64 pc, u64 *fault)
{
    u32 left = s->have - s->at;
    u64 bad = 0;

    if (left >= INSN_BYTES_MAX)
        return true;
    memmove(s->buf, s->buf + s->at, left);
    s->at = 0;
    s->have = left + fetch(pc + left, s->buf + left, FETCH_MAX, &b->writable, &bad);
    if (s->have == 0)
        *fault = bad;
    return s->have != 0;
}

bool block_ends(const struct insn *in)
{
    switch (in->kind) {
    case INSN_PLAIN:
    case INSN_STRING:
    case INSN_RDGS: return false;
    default: return true;
    }
}

u32 block_takes(const struct insn *in)
{
    return in->kind == INSN_RET ? 1u << R_RCX : 0;
}

// A block of one instruction of `len` bytes (0: not known), which is stepped.
static void block_step(struct tb *b, struct insn *in, const u8 *code, int len)
{
    u64 pc = b->end;

    b->step = true;
    b->n = 1;
    in->pc = pc;
    in->len = len > 0 ? (u8)len : 1;
    memcpy(in->bytes, code, in->len);
    in->kind = INSN_STEP;
    in->nrefs = 0;
    in->flags = 0;
    in->vec_kind = VEC_NONE;
    b->end = pc + in->len;
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

static bool steps(const struct insn *in, int len)
{
    return len == 0 || in->kind == INSN_STEP ||
           (in->kind == INSN_STRING && (in->flags & INSN_F_SEG_GS));
}

static void decode(struct tb *b, u32 limit, u64 *fault)
{
    struct source s = { .at = 0, .have = 0 };

    while (b->n < limit && !(b->n && b->end >= b->function.end) && refill(b, &s, b->end, fault)) {
        struct insn *in = &b->insn[b->n];
        bool refs = tb_config.cache || tb_config.branch || tb_config.calls;
        int len = decode_insn(in, b->end, s.buf + s.at, s.have - s.at, refs);

        if (len < 0) {
            if (b->n == 0)
                *fault = b->end + (s.have - s.at);
            return;
        }
        if (steps(in, len)) {
            if (b->n == 0)
                block_step(b, in, s.buf + s.at, len);
            return;
        }
        b->n++;
        b->end += (u32)len;
        s.at += (u32)len;
        // in code that may be rewritten the next instruction must see what a store changes
        if (block_ends(in) || (b->writable && (in->flags & INSN_F_STORE)))
            return;
    }
}

bool block_decode(struct tb *b, u32 limit, u64 *fault)
{
    b->n = 0;
    b->end = b->pc;
    b->step = false;
    b->writable = false;
    b->function.end = ~0ul;
    if (tb_config.calls)
        b->function = functions_at(b->pc);
    decode(b, limit, fault);
    liveness(b);
    return b->n != 0;
}
