// SPDX-License-Identifier: MIT
// What a core must know of an instruction (coreop.h). Registers follow from the operands that Zydis
// gives, the class from the mnemonic (coreop.def) and, for some, from the operands.
#include "engine/x86/coreop.h"

#include <Zydis/Zydis.h>

#include "engine/base/nolibc.h"

static ZydisDecoder decoder;

// An instruction as Zydis has it.
struct decoded {
    ZydisDecodedInstruction i;
    ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];
    const char *name;                  // its mnemonic, without the v of vectors
    const ZydisDecodedOperand *memory; // its operand there; NULL: none, or an address alone
    bool vector, x87;                  // some register is
    bool stack;                        // rsp is changed beside the units: push, pop, call, ret
    u32 widest;                        // of vectors, in bits
};

void coreop_init(void)
{
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
}

// ---- Registers ----

static bool between(ZydisRegister r, ZydisRegister first, ZydisRegister last)
{
    return r >= first && r <= last;
}

// CORE_REGISTERS: none that instructions wait for.
static u32 number_of(ZydisRegister r)
{
    ZydisRegister e = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);

    if (between(r, ZYDIS_REGISTER_K0, ZYDIS_REGISTER_K7))
        return CORE_MASKS + (u32)(r - ZYDIS_REGISTER_K0);
    if (between(r, ZYDIS_REGISTER_ST0, ZYDIS_REGISTER_ST7))
        return CORE_X87;
    if (between(r, ZYDIS_REGISTER_MM0, ZYDIS_REGISTER_MM7))
        return CORE_MMX + (u32)(r - ZYDIS_REGISTER_MM0) % 7;
    if (between(e, ZYDIS_REGISTER_RAX, ZYDIS_REGISTER_R15))
        return (u32)(e - ZYDIS_REGISTER_RAX);
    if (between(e, ZYDIS_REGISTER_ZMM0, ZYDIS_REGISTER_ZMM31))
        return CORE_VECTOR + (u32)(e - ZYDIS_REGISTER_ZMM0);
    return CORE_REGISTERS;
}

static bool fits(const char *row, const char *name)
{
    for (; *row && *row != '*'; row++, name++)
        if (*row != *name)
            return false;
    return *row == '*' || !*name;
}

static bool is(const struct decoded *d, const char *name)
{
    return fits(name, d->name);
}

static bool is_general(const ZydisDecodedOperand *o)
{
    return o->type == ZYDIS_OPERAND_TYPE_REGISTER && number_of(o->reg.value) < CORE_FLAGS;
}

static void add(u8 *list, u8 *n, u32 most, u32 r)
{
    if (r >= CORE_REGISTERS || *n == most)
        return;
    for (u32 i = 0; i < *n; i++)
        if (list[i] == r)
            return;
    list[(*n)++] = (u8)r;
}

static void add_source(struct core_op *op, u32 r)
{
    add(op->source, &op->sources, CORE_SOURCES, r);
}

// Operations on a part of a register keep the rest of it, in encodings of SSE.
static bool merges(const struct decoded *d)
{
    if (d->i.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY || !d->vector)
        return false;
    return is(d, "movhp*") || is(d, "movlp*") || is(d, "movhlps") || is(d, "movlhps") ||
           is(d, "sqrts*") || is(d, "rcpss") || is(d, "rsqrtss") || is(d, "rounds*") ||
           is(d, "cvtsi2s*") || is(d, "cvtss2sd") || is(d, "cvtsd2ss") ||
           (!d->memory && (is(d, "movss") || is(d, "movsd")));
}

static void add_register(struct core_op *op, const struct decoded *d, const ZydisDecodedOperand *o)
{
    u32 r = number_of(o->reg.value);
    bool writes = o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
    // what is written in part, or perhaps, keeps the rest
    bool keeps = writes && ((r < CORE_FLAGS && o->size < 32) ||
                            !(o->actions & ZYDIS_OPERAND_ACTION_WRITE) || merges(d));

    if (o->encoding == ZYDIS_OPERAND_ENCODING_MASK && r == CORE_MASKS)
        return; // no mask
    if ((o->actions & ZYDIS_OPERAND_ACTION_MASK_READ) || keeps)
        add_source(op, r);
    if (writes)
        add(op->result, &op->results, CORE_RESULTS, r);
}

static void add_address(struct core_op *op, const struct decoded *d, const ZydisDecodedOperand *o)
{
    if (o->mem.type == ZYDIS_MEMOP_TYPE_AGEN) {
        add_source(op, number_of(o->mem.base));
        add_source(op, number_of(o->mem.index));
        return;
    }
    if (d->stack && o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN)
        return;
    add(op->address, &op->addresses, CORE_ADDRESSES, number_of(o->mem.base));
    add(op->address, &op->addresses, CORE_ADDRESSES, number_of(o->mem.index));
}

static void add_flags(struct core_op *op, const ZydisDecodedInstruction *i)
{
    const ZydisAccessedFlags *f = i->cpu_flags;

    if (!f)
        return;
    if (f->tested)
        add_source(op, CORE_FLAGS);
    if (f->modified | f->set_0 | f->set_1 | f->undefined)
        add(op->result, &op->results, CORE_RESULTS, CORE_FLAGS);
}

static void add_registers(struct core_op *op, const struct decoded *d)
{
    for (u32 k = 0; k < d->i.operand_count; k++) {
        const ZydisDecodedOperand *o = &d->o[k];

        if (o->type == ZYDIS_OPERAND_TYPE_MEMORY)
            add_address(op, d, o);
        else if (o->type == ZYDIS_OPERAND_TYPE_REGISTER &&
                 !(d->stack && o->reg.value == ZYDIS_REGISTER_RSP &&
                   o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN))
            add_register(op, d, o);
    }
    add_flags(op, &d->i);
}

// ---- The class ----

struct row {
    const char *name;
    u8 class;
};

static const struct row general[] = {
#define COREOP_GENERAL(name, class) { name, CORE_C_##class },
#define COREOP_X87(name, class)
#define COREOP_VECTOR(name, class)
#include "engine/x86/coreop.def"
};

static const struct row x87[] = {
#define COREOP_GENERAL(name, class)
#define COREOP_X87(name, class) { name, CORE_C_##class },
#define COREOP_VECTOR(name, class)
#include "engine/x86/coreop.def"
};

static const struct row vector[] = {
#define COREOP_GENERAL(name, class)
#define COREOP_X87(name, class)
#define COREOP_VECTOR(name, class) { name, CORE_C_##class },
#include "engine/x86/coreop.def"
};

// The last row fits all.
static u8 class_by_name(const struct row *r, const char *name)
{
    while (!fits(r->name, name))
        r++;
    return r->class;
}

static u8 class_of_name(const struct decoded *d)
{
    if (d->i.meta.category == ZYDIS_CATEGORY_STRINGOP && !d->vector)
        return CORE_C_STRING;
    if (d->i.meta.category == ZYDIS_CATEGORY_NOP || d->i.meta.category == ZYDIS_CATEGORY_WIDENOP)
        return CORE_C_NONE;
    if (d->x87 || d->i.meta.isa_ext == ZYDIS_ISA_EXT_X87)
        return class_by_name(x87, d->name);
    return class_by_name(d->vector ? vector : general, d->name);
}

static bool by_cl(const struct decoded *d)
{
    const ZydisDecodedOperand *last = &d->o[d->i.operand_count_visible - 1];

    return d->i.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY &&
           last->type == ZYDIS_OPERAND_TYPE_REGISTER && last->reg.value == ZYDIS_REGISTER_CL;
}

// psllw by a register, not by elements.
static bool by_vector_count(const struct decoded *d)
{
    return d->o[d->i.operand_count_visible - 1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE &&
           !is(d, "psllv*") && !is(d, "psrlv*") && !is(d, "psrav*") && !is(d, "pro*") &&
           !is(d, "psh*");
}

static u8 class_of_lea(const struct decoded *d)
{
    const ZydisDecodedOperandMem *m = &d->o[1].mem;

    return m->base != ZYDIS_REGISTER_NONE && m->index != ZYDIS_REGISTER_NONE && m->disp.value
               ? CORE_C_LEA3
               : CORE_C_LEA;
}

// Of a move: nothing if memory is one side, else by the sorts of its registers.
static u8 class_of_move(const struct decoded *d, u8 class)
{
    if (d->memory)
        return CORE_C_NONE;
    if (d->i.operand_count_visible > 1 && is_general(&d->o[1]))
        return CORE_C_TO_VECTOR;
    return is_general(&d->o[0]) ? CORE_C_FROM_VECTOR : class;
}

static bool to_mask(const struct decoded *d)
{
    return d->o[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
           between(d->o[0].reg.value, ZYDIS_REGISTER_K0, ZYDIS_REGISTER_K7);
}

static u8 class_of_general(const struct decoded *d, u8 class)
{
    switch ((int)class) {
    case CORE_C_MOVE:
        if (d->memory)
            return CORE_C_NONE;
        return d->o[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE ? CORE_C_ALU : CORE_C_MOVE;
    case CORE_C_ALU:
        // an extension of what is loaded is part of the load
        return d->memory && is(d, "mov*") ? CORE_C_NONE : class;
    case CORE_C_LEA: return class_of_lea(d);
    case CORE_C_SHIFT: return by_cl(d) ? CORE_C_SHIFT_CL : class;
    case CORE_C_BSWAP32: return d->i.operand_width == 64 ? CORE_C_BSWAP64 : class;
    case CORE_C_MUL: return d->i.operand_count_visible == 1 ? CORE_C_MUL_WIDE : class;
    case CORE_C_DIV32: return d->i.operand_width == 64 ? CORE_C_DIV64 : class;
    default: return class;
    }
}

static bool writes_memory(const struct decoded *d)
{
    return d->memory && (d->memory->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE);
}

static u8 class_of_shuffle(const struct decoded *d, u8 class)
{
    bool extends = is(d, "pmovzx*") || is(d, "pmovsx*");

    if (writes_memory(d) && (is(d, "mov*") || is(d, "extract*")))
        return CORE_C_NONE;
    // loads can repeat an element
    if (d->memory && (is(d, "broadcast*") || is(d, "pbroadcast*") || is(d, "movddup") ||
                      is(d, "movshdup") || is(d, "movsldup")))
        return CORE_C_NONE;
    if (is(d, "pbroadcast*") && is_general(&d->o[1]))
        return CORE_C_TO_VECTOR;
    return extends && d->widest > 128 ? CORE_C_SHUFFLE_LANES : class;
}

static u8 class_of_vector(const struct decoded *d, u8 class)
{
    switch ((int)class) {
    case CORE_C_VMOVE: return class_of_move(d, class);
    case CORE_C_MASK: return is(d, "kmov*") ? class_of_move(d, class) : class;
    case CORE_C_VALU:
    case CORE_C_FCOMPARE:
        if (d->memory && is(d, "mov*"))
            return CORE_C_NONE;
        return to_mask(d) ? CORE_C_VCOMPARE_K : class;
    case CORE_C_VSHIFT: return by_vector_count(d) ? CORE_C_VSHIFT_X : class;
    case CORE_C_INSERT: return d->memory ? CORE_C_SHUFFLE : class;
    case CORE_C_SHUFFLE:
    case CORE_C_SHUFFLE_LANES: return class_of_shuffle(d, class);
    default: return class;
    }
}

// ---- Flags ----

static bool same_registers(const ZydisDecodedOperand *a, const ZydisDecodedOperand *b)
{
    return a->type == ZYDIS_OPERAND_TYPE_REGISTER && b->type == ZYDIS_OPERAND_TYPE_REGISTER &&
           a->reg.value == b->reg.value;
}

// Two sources that are one register, in an operation that gives a constant then.
static bool of_itself(const struct decoded *d)
{
    bool three = d->i.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY;
    u32 first = three ? d->i.operand_count_visible - 2u : 0;

    return d->i.operand_count_visible >= 2 &&
           same_registers(&d->o[first], &d->o[d->i.operand_count_visible - 1]);
}

static bool gives_zero(const struct decoded *d)
{
    if (!of_itself(d))
        return false;
    if (is(d, "xor") || is(d, "sub"))
        return d->i.operand_width >= 32;
    return is(d, "pxor*") || is(d, "xorp*") || is(d, "psub*") || is(d, "pcmpgt*");
}

// All bits set: it waits for nothing, but needs a unit.
static bool gives_ones(const struct decoded *d)
{
    return of_itself(d) && is(d, "pcmpeq*");
}

static bool moves_whole(const struct core_op *op, const struct decoded *d)
{
    if (op->class == CORE_C_MOVE)
        return d->i.operand_width >= 32 && is_general(&d->o[0]) && is_general(&d->o[1]);
    return op->class == CORE_C_VMOVE && d->widest && op->sources == 1 && op->results == 1;
}

static u16 branch_flags(const struct insn *in)
{
    switch ((int)in->kind) {
    case INSN_JCC:
    case INSN_LOOP: return CORE_F_BRANCH | CORE_F_COND;
    case INSN_RET: return CORE_F_BRANCH | CORE_F_RETURN;
    case INSN_JMP:
    case INSN_CALL: return CORE_F_BRANCH;
    case INSN_JMP_IND:
    case INSN_CALL_IND: return CORE_F_BRANCH | CORE_F_INDIRECT;
    default: return 0;
    }
}

// Conditions by their codes, in pairs: o b z be s p l le, each with its opposite.
#define PAIR(code) (3u << (code))

// Which conditional branches are one micro-op with it.
static u16 fuses(const struct decoded *d, enum core_fusing fusing)
{
    const u16 of_carry = PAIR(2) | PAIR(6), of_order = PAIR(4) | PAIR(12) | PAIR(14);
    bool all = fusing == CORE_FUSE_ARITHMETIC;
    const ZydisDecodedOperand *last = &d->o[d->i.operand_count_visible - 1];

    if (fusing == CORE_FUSE_NONE || writes_memory(d))
        return 0;
    switch ((int)d->i.mnemonic) {
    case ZYDIS_MNEMONIC_CMP:
    case ZYDIS_MNEMONIC_TEST:
        if (d->memory && last->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
            return 0;
        return d->i.mnemonic == ZYDIS_MNEMONIC_TEST || !all ? UINT16_MAX : of_carry | of_order;
    case ZYDIS_MNEMONIC_AND: return all ? UINT16_MAX : 0;
    case ZYDIS_MNEMONIC_ADD:
    case ZYDIS_MNEMONIC_SUB: return all ? of_carry | of_order : 0;
    case ZYDIS_MNEMONIC_INC:
    case ZYDIS_MNEMONIC_DEC: return all ? of_order : 0;
    default: return 0;
    }
}

static bool is_scaled(const ZydisDecodedOperandMem *m)
{
    return m->index != ZYDIS_REGISTER_NONE &&
           (m->scale > 1 || (m->base != ZYDIS_REGISTER_NONE && m->disp.value));
}

// An addition of a constant of 11 bits to 64 bits of a general register: as Golden Cove has it in
// its renamer. Not of memory; lea may give the sum to another register.
static bool adds_constant(const struct core_op *op, const struct decoded *d)
{
    const ZydisDecodedOperand *last = &d->o[d->i.operand_count_visible - 1];
    s64 by = 1;

    if (d->memory || d->i.operand_width != 64 || op->sources != 1 || !is_general(&d->o[0]))
        return false;
    if (is(d, "add") || is(d, "sub")) {
        if (last->type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
            return false;
        by = last->imm.value.s;
    } else if (is(d, "lea")) {
        if (last->mem.index != ZYDIS_REGISTER_NONE || last->mem.base == ZYDIS_REGISTER_RIP)
            return false;
        by = last->mem.disp.value;
    } else if (!is(d, "inc") && !is(d, "dec")) {
        return false;
    }
    return by >= -1024 && by < 1024;
}

static u16 flags_of(const struct core_op *op, const struct decoded *d, const struct insn *in)
{
    u16 flags = branch_flags(in);

    for (u32 k = 0; k < d->i.operand_count; k++) {
        if (d->o[k].type != ZYDIS_OPERAND_TYPE_MEMORY || d->o[k].mem.type == ZYDIS_MEMOP_TYPE_AGEN)
            continue;
        if (d->o[k].actions & ZYDIS_OPERAND_ACTION_MASK_READ)
            flags |= CORE_F_LOAD;
        if (d->o[k].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
            flags |= CORE_F_STORE;
    }
    if ((d->i.attributes & ZYDIS_ATTRIB_HAS_LOCK) ||
        (d->i.mnemonic == ZYDIS_MNEMONIC_XCHG && d->memory))
        flags |= CORE_F_LOCKED;
    if (op->class == CORE_C_SERIALIZE || op->class == CORE_C_SYSCALL)
        flags |= CORE_F_SERIAL;
    if (moves_whole(op, d))
        flags |= CORE_F_MOVE;
    if (adds_constant(op, d))
        flags |= CORE_F_CONSTANT;
    if (d->vector && (flags & (CORE_F_LOAD | CORE_F_STORE)))
        flags |= CORE_F_VECTOR;
    if ((flags & CORE_F_LOAD) && is_scaled(&d->memory->mem))
        flags |= CORE_F_SCALED;
    if ((flags & CORE_F_LOAD) && is(d, "movs*") && is_general(&d->o[0]))
        flags |= CORE_F_SIGNED; // movsx, movsxd
    if (d->widest == 512)
        flags |= CORE_F_512;
    else if (d->widest == 256)
        flags |= CORE_F_256;
    return flags;
}

// ---- All of it ----

static void read_operands(struct decoded *d)
{
    for (u32 k = 0; k < d->i.operand_count; k++) {
        const ZydisDecodedOperand *o = &d->o[k];
        u32 r = o->type == ZYDIS_OPERAND_TYPE_REGISTER ? number_of(o->reg.value) : 0;

        if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.type != ZYDIS_MEMOP_TYPE_AGEN &&
            !d->memory)
            d->memory = o;
        if (r == CORE_REGISTERS)
            continue;
        d->x87 |= r == CORE_X87;
        d->vector |= r >= CORE_VECTOR;
        if (r >= CORE_VECTOR && r < CORE_MASKS && o->size > d->widest)
            d->widest = o->size;
    }
}

static bool changes_stack(const ZydisDecodedInstruction *i)
{
    return i->meta.category == ZYDIS_CATEGORY_PUSH || i->meta.category == ZYDIS_CATEGORY_POP ||
           i->meta.category == ZYDIS_CATEGORY_CALL || i->meta.category == ZYDIS_CATEGORY_RET;
}

// The expression of the address: a load with that of a store before has its address, if registers
// hold the same.
static void add_place(struct core_op *op, const struct decoded *d, const struct insn *in)
{
    const ZydisDecodedOperandMem *m;

    // Relative to rsp at the time, whatever it is.
    if (d->stack && d->memory && d->memory->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN)
        op->place = R_RSP + 1;
    if (!d->memory || d->stack || d->memory->mem.segment == ZYDIS_REGISTER_FS ||
        d->memory->mem.segment == ZYDIS_REGISTER_GS)
        return;
    m = &d->memory->mem;
    if (m->index != ZYDIS_REGISTER_NONE && number_of(m->index) >= CORE_FLAGS)
        return; // a vector: many places
    if (m->index != ZYDIS_REGISTER_NONE)
        op->index = (u8)(number_of(m->index) + 1 + 32 * (u32)__builtin_ctz(m->scale));
    op->offset = (s32)m->disp.value;
    if (m->base == ZYDIS_REGISTER_RIP) {
        op->place = CORE_FLAGS + 1;
        op->offset += (s32)(in->pc + in->len);
    } else if (number_of(m->base) < CORE_FLAGS) {
        op->place = (u8)(number_of(m->base) + 1);
    } else if (m->base == ZYDIS_REGISTER_NONE) {
        op->place = CORE_FLAGS + 2;
    }
}

static void drop_references(struct core_op *op)
{
    op->flags &= (u16) ~(CORE_F_LOAD | CORE_F_STORE);
    op->sources = op->results = op->addresses = op->place = 0;
}

// Displacements and immediate operands, that of a branch, too; one of eight bytes takes two places.
static u8 constants_of(const ZydisDecodedInstruction *i)
{
    u32 n = i->raw.disp.size != 0;

    for (u32 k = 0; k < 2; k++)
        n += (i->raw.imm[k].size != 0) + (i->raw.imm[k].size == 64);
    return (u8)n;
}

void coreop_make(struct core_op *op, const struct insn *in, enum core_fusing fusing)
{
    struct decoded d = { 0 };

    memset(op, 0, sizeof(*op));
    op->bytes = in->len;
    op->class = CORE_C_SLOW;
    if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, in->bytes, in->len, &d.i, d.o)))
        return;
    op->constants = constants_of(&d.i);
    d.name = ZydisMnemonicGetString(d.i.mnemonic);
    if (d.i.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY && d.name[0] == 'v')
        d.name++;
    d.stack = changes_stack(&d.i);
    read_operands(&d);
    op->repeats = (d.i.attributes &
                   (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)) != 0;
    op->class = class_of_name(&d);
    op->class = d.vector ? class_of_vector(&d, op->class) : class_of_general(&d, op->class);
    add_registers(op, &d);
    op->flags = flags_of(op, &d, in);
    op->fuses = in->kind == INSN_JCC ? (u16)(1u << in->cond) : fuses(&d, fusing);
    add_place(op, &d, in);
    if (op->class == CORE_C_NONE && (is(&d, "nop") || is(&d, "prefetch*") || is(&d, "endbr*")))
        drop_references(op);
    if (gives_zero(&d))
        op->flags |= CORE_F_ZERO;
    if (gives_zero(&d) || gives_ones(&d))
        op->sources = 0; // a register that is read is the same whatever it holds
}
