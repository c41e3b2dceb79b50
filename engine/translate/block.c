// SPDX-License-Identifier: MIT
// From client memory to the instructions of a block (block.h).
#include "engine/translate/block.h"

#include "engine/base/clientmem.h"
#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/codecache/vmmap.h"
#include "engine/spool/config.h"
#include "engine/x86/decode.h"
#include "engine/x86/forms.h"

#define FETCH_MAX 64u

// Client code that has been read and not yet decoded.
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
        got = clientmem_read_some(buf + have, pc + have, room);
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

// Reads until a whole instruction is in the buffer, or the following bytes cannot be fetched. If
// the buffer is then empty, *fault is their address.
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

// Whether a superblock may continue at `next` after it.
static bool block_joins(const struct insn *in, u64 next)
{
    switch (in->kind) {
    case INSN_RET:
    case INSN_JMP_IND:
    case INSN_CALL_IND: return true;
    case INSN_JMP:
    case INSN_CALL: return next == in->target;
    case INSN_JCC:
        return in->target != in->pc + in->len && (next == in->target || next == in->pc + in->len);
    default: return !block_ends(in) && next == in->pc + in->len;
    }
}

u32 block_takes(const struct insn *in)
{
    return in->kind == INSN_RET ? 1u << R_RCX : 0;
}

// A block of one stepped instruction of `len` bytes (0: not known), of which `have` were read.
static void block_step(struct tb *b, struct insn *in, const u8 *code, int len, u32 have)
{
    u64 pc = b->end;
    u8 *stepped = b->draft.stepped;

    if (len > 0)
        have = (u32)len;
    stepped[0] = have < STEPPED_BYTES_MAX ? (u8)have : STEPPED_BYTES_MAX;
    memcpy(stepped + 1, code, stepped[0]);

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

// Every flag is live where control may leave a superblock.
static void liveness(struct tb *b)
{
    u32 live = FLAGS_ARITH, at = b->nblocks;

    b->live[b->n] = FLAGS_ARITH;
    for (u32 i = b->n; i-- > 0;) {
        if (at && b->block[at - 1].first + b->block[at - 1].n - 1 == i) {
            at--;
            if (b->insn[i].kind != INSN_JMP && b->insn[i].kind != INSN_CALL)
                live = FLAGS_ARITH;
        }
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

// Appends a block from b->end on, which does not go beyond `end`.
static void decode(struct tb *b, u32 limit, u64 end, u64 *fault)
{
    struct source s = { .at = 0, .have = 0 };
    u32 first = b->n;

    while (b->n - first < limit && !(b->n != first && b->end >= end) &&
           refill(b, &s, b->end, fault)) {
        struct insn *in = &b->insn[b->n];
        bool refs = tb_config.cache || tb_config.branch || tb_config.calls;
        int len = (tb_config.forms ? forms_decode : decode_insn)(in, b->end, s.buf + s.at,
                                                                 s.have - s.at, refs);

        if (len < 0) {
            if (b->n == first)
                *fault = b->end + (s.have - s.at);
            return;
        }
        if (steps(in, len)) {
            if (b->n == 0)
                block_step(b, in, s.buf + s.at, len, s.have - s.at);
            return;
        }
        b->n++;
        b->end += (u32)len;
        s.at += (u32)len;
        // code that may be rewritten: the next instruction must see what a store changes
        if (block_ends(in) || (b->writable && (in->flags & INSN_F_STORE)))
            return;
    }
}

static void begin(struct tb *b)
{
    b->n = b->nblocks = 0;
    b->step = false;
    b->writable = false;
}

static void decode_block(struct tb *b, u64 pc, u32 limit, u64 *fault)
{
    struct function f = { .end = ~0ul };
    u32 first = b->n;

    if (tb_config.calls)
        f = functions_at(pc);
    b->end = pc;
    decode(b, limit, f.end, fault);
    if (b->n != first)
        b->block[b->nblocks++] = (struct tb_block){
            .pc = pc, .end = b->end, .first = first, .n = b->n - first, .function = f
        };
}

bool block_decode(struct tb *b, u32 limit, u64 *fault)
{
    begin(b);
    decode_block(b, b->pc, limit, fault);
    liveness(b);
    return b->n != 0;
}

// Drops the last block, which cannot be part of a superblock.
static void drop_last(struct tb *b)
{
    b->nblocks--;
    b->n = b->block[b->nblocks].first;
    if (b->nblocks)
        b->end = b->block[b->nblocks - 1].end;
}

bool block_decode_along(struct tb *b, u32 limit, const u64 *pc, u32 n, block_joins_fn *joins)
{
    u64 fault;

    begin(b);
    b->pc = pc[0];
    for (u32 k = 0; k < n && b->n + limit <= TB_INSNS_MAX; k++) {
        if (k && (!block_joins(&b->insn[b->n - 1], pc[k]) || !joins(b, pc[k])))
            break;
        decode_block(b, pc[k], limit, &fault);
        if (b->nblocks != k + 1) {
            b->writable = false; // the bytes that were read are not part of it
            break;
        }
        if (b->writable || b->step || b->insn[b->n - 1].kind == INSN_REQUEST) {
            b->writable = b->step = false;
            drop_last(b);
            break;
        }
    }
    liveness(b);
    return b->nblocks >= 2;
}
