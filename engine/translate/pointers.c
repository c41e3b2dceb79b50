// SPDX-License-Identifier: MIT
// Which load has brought the address of a reference (pointers.h).
//
// From the code of one block: each register, and each word of the frame that the block stores to,
// is followed from the load that brought its value through moves and additions of constants. A
// register that is added to itself is followed no further: a walk by a constant is none by
// pointers. A block that jumps to its own beginning is followed twice, for the words of the frame.
// A store through any register but rsp and rbp is taken not to change them.
#include "engine/translate/pointers.h"

#include "engine/base/nolibc.h"
#include "engine/spool/spooler.h"

#define SLOTS 8u

// A word of the frame that was stored to.
struct slot {
    u8 base, from;
    s64 disp;
};

// What brought the values of registers and words: enum spool_from.
struct values {
    u8 reg[16];
    struct slot slot[SLOTS];
    u32 turn;
};

static bool is_frame(const struct memref *r)
{
    return (r->base == R_RSP || r->base == R_RBP) && r->index == REG_NONE &&
           !(r->flags & (MEMREF_FS | MEMREF_GS | MEMREF_BITOFF));
}

static const struct slot *slot_of(const struct values *v, const struct memref *r)
{
    for (u32 i = 0; i < SLOTS; i++)
        if (v->slot[i].from && v->slot[i].base == r->base && v->slot[i].disp == r->disp)
            return &v->slot[i];
    return NULL;
}

// The only register of a set, or REG_NONE.
static u8 only(u32 set)
{
    return set && !(set & (set - 1)) ? (u8)__builtin_ctz(set) : REG_NONE;
}

// What the address of a reference was made of. The index of an array is no pointer.
static u8 address_from(const struct values *v, const struct memref *r)
{
    u8 from = r->base < 16 ? v->reg[r->base] : 0;

    if (!from && r->index < 16 && r->scale == 1)
        from = v->reg[r->index];
    return from;
}

static void forget_frame(struct values *v, u8 base)
{
    for (u32 i = 0; i < SLOTS; i++)
        if (v->slot[i].base == base)
            v->slot[i].from = 0;
}

static void stored(struct values *v, const struct insn *in, const struct memref *r)
{
    u8 source = only(in->regs & ~(1u << r->base)), from;

    for (u32 i = 0; i < SLOTS; i++) {
        struct slot *s = &v->slot[i];

        if (s->base == r->base && r->disp < s->disp + 8 && s->disp < r->disp + r->size)
            s->from = 0;
    }
    if ((r->flags & MEMREF_READ) || r->size != 8 || source >= 16)
        return;
    from = v->reg[source];
    if (from)
        v->slot[v->turn++ % SLOTS] = (struct slot){ r->base, from, r->disp };
}

static u8 loaded(const struct values *v, const struct insn *in, u8 number)
{
    const struct slot *s = is_frame(&in->refs[0]) ? slot_of(v, &in->refs[0]) : NULL;

    return s ? s->from : number;
}

// A conditional move keeps what is known of both values.
static u8 chosen(const struct values *v, const struct insn *in, u8 to, u8 number)
{
    u8 source = only(in->regs & 0xffff & ~(1u << to));

    if (in->nrefs) // of both from memory, the last one
        return v->reg[to] && !(v->reg[to] & SPOOL_FROM_REGISTER) ? number : 0;
    return source >= 16 || v->reg[source] == v->reg[to] ? v->reg[to] : 0;
}

// The values after an instruction.
static void follow(struct values *v, const struct insn *in, u8 number)
{
    u8 to = only(in->written & 0xffff), from = 0;

    for (u32 i = 0; i < in->nrefs; i++)
        if ((in->refs[i].flags & MEMREF_WRITE) && is_frame(&in->refs[i]))
            stored(v, in, &in->refs[i]);
    if (in->brings == INSN_BRINGS_LOAD && to < 16)
        from = loaded(v, in, number);
    else if (in->brings == INSN_BRINGS_CHOICE && to < 16)
        from = chosen(v, in, to, number);
    else if (in->sum.to < 16 && in->sum.to == to && in->sum.from < 16 && in->sum.from != to)
        from = v->reg[in->sum.from];
    for (u8 r = 0; r < 16; r++) {
        if (in->regs_known && !(in->written & 1u << r))
            continue;
        v->reg[r] = r == to ? from : 0;
        forget_frame(v, r);
    }
}

// Registers have what they had at the block's beginning; words of the frame what loads have
// brought.
static void begin(struct values *v)
{
    for (u8 r = 0; r < 16; r++)
        v->reg[r] = SPOOL_FROM_REGISTER | r;
    for (u32 i = 0; i < SLOTS; i++)
        if (v->slot[i].from & SPOOL_FROM_REGISTER)
            v->slot[i].from = 0;
}

static void find(struct tb *b, const struct tb_block *t, struct values *v)
{
    begin(v);
    for (u32 i = 0; i < t->n; i++) {
        const struct insn *in = &b->insn[t->first + i];
        u8 from = 0;

        for (u32 k = 0; k < in->nrefs && !from; k++)
            from = is_frame(&in->refs[k]) ? 0 : address_from(v, &in->refs[k]);
        b->rec[t->first + i].from = from;
        follow(v, in, i + 1 < SPOOL_FROM_REGISTER ? (u8)(i + 1) : 0);
    }
}

static enum spool_flow_end end_of(const struct insn *last)
{
    switch ((int)last->kind) {
    case INSN_JMP: return SPOOL_FLOW_JUMPS;
    case INSN_JCC:
    case INSN_LOOP: return SPOOL_FLOW_MAY_JUMP;
    case INSN_CALL:
    case INSN_CALL_IND: return SPOOL_FLOW_CALLS;
    case INSN_JMP_IND:
    case INSN_RET: return SPOOL_FLOW_ENDS;
    default: return SPOOL_FLOW_GOES_ON;
    }
}

void pointers_find(struct tb *b, const struct tb_block *t, struct spool_data_flow *flow)
{
    const struct insn *last = &b->insn[t->first + t->n - 1];
    enum spool_flow_end end = end_of(last);
    bool jumps = end == SPOOL_FLOW_JUMPS || end == SPOOL_FLOW_MAY_JUMP;
    struct values v;

    memset(&v, 0, sizeof(v));
    find(b, t, &v);
    if (jumps && last->target == t->pc)
        find(b, t, &v);
    *flow = (struct spool_data_flow){ .end = end };
    if (jumps || last->kind == INSN_CALL)
        flow->target = last->target;
    memcpy(flow->reg, v.reg, sizeof(flow->reg));
}

void pointers_append(struct spool_data_flow *flow, u32 block)
{
    u64 used = spool->data.flows_used;

    if (used >= SPOOL_DATA_FLOWS_MAX)
        return;
    flow->block = block;
    ((struct spool_data_flow *)(DATA_BASE + SPOOL_DATA_FLOWS_OFF))[used] = *flow;
    __atomic_store_n(&spool->data.flows_used, used + 1, __ATOMIC_RELEASE);
}
