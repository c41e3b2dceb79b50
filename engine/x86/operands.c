// SPDX-License-Identifier: MIT
// Data references and registers of an instruction (operands.h). Called by decode.c with want_refs.
#include "engine/x86/operands.h"

#include "engine/base/cpu.h"
#include "engine/base/nolibc.h"

// Relies on Zydis' order: al cl dl bl ah ch dh bh spl bpl sil dil r8b.., ax.., eax.., rax..
u8 operands_gpr(ZydisRegister r)
{
    if (r >= ZYDIS_REGISTER_RAX && r <= ZYDIS_REGISTER_R15)
        return (u8)(r - ZYDIS_REGISTER_RAX);
    if (r >= ZYDIS_REGISTER_EAX && r <= ZYDIS_REGISTER_R15D)
        return (u8)(r - ZYDIS_REGISTER_EAX);
    if (r >= ZYDIS_REGISTER_AX && r <= ZYDIS_REGISTER_R15W)
        return (u8)(r - ZYDIS_REGISTER_AX);
    if (r >= ZYDIS_REGISTER_AL && r <= ZYDIS_REGISTER_BL)
        return (u8)(r - ZYDIS_REGISTER_AL);
    if (r >= ZYDIS_REGISTER_AH && r <= ZYDIS_REGISTER_BH)
        return (u8)(r - ZYDIS_REGISTER_AH);
    if (r >= ZYDIS_REGISTER_SPL && r <= ZYDIS_REGISTER_R15B)
        return (u8)(r - ZYDIS_REGISTER_SPL + 4);
    return REG_NONE;
}

static bool no_data_reference(const ZydisDecodedInstruction *zi)
{
    switch ((int)zi->meta.category) {
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_WIDENOP:
    case ZYDIS_CATEGORY_PREFETCH:
    case ZYDIS_CATEGORY_CLDEMOTE:
    case ZYDIS_CATEGORY_CLFLUSHOPT:
    case ZYDIS_CATEGORY_CLWB: return true;
    default: break;
    }
    switch ((int)zi->mnemonic) {
    case ZYDIS_MNEMONIC_LEA:
    case ZYDIS_MNEMONIC_NOP:
    case ZYDIS_MNEMONIC_CLFLUSH:
    case ZYDIS_MNEMONIC_PREFETCHW:
    case ZYDIS_MNEMONIC_PREFETCH:
    case ZYDIS_MNEMONIC_PREFETCHWT1:
    case ZYDIS_MNEMONIC_INVLPG:
    case ZYDIS_MNEMONIC_CLZERO: return true;
    default: return false;
    }
}

static u16 implicit_size(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *op)
{
    if (op->size)
        return (u16)(op->size / 8);
    switch ((int)zi->mnemonic) {
    case ZYDIS_MNEMONIC_FXSAVE:
    case ZYDIS_MNEMONIC_FXSAVE64:
    case ZYDIS_MNEMONIC_FXRSTOR:
    case ZYDIS_MNEMONIC_FXRSTOR64: return 512;
    default:
        // the xsave family: at least legacy area and header; larger than any simulated line
        return 576;
    }
}

static void add_ref(struct insn *in, const struct memref *r)
{
    if (in->nrefs < INSN_REFS_MAX)
        in->refs[in->nrefs++] = *r;
}

// The stack operand of push, call, pop and similar; not the destination of movdir64b, which is
// hidden, too, and may be (%rsp).
static bool is_stack_operand(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *op)
{
    return op->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
           op->mem.base == ZYDIS_REGISTER_RSP && zi->mnemonic != ZYDIS_MNEMONIC_MOVDIR64B;
}

// Number of a vector register of any width, and that width.
static u8 vector_number(ZydisRegister r, u32 *bits)
{
    if (r >= ZYDIS_REGISTER_ZMM0 && r <= ZYDIS_REGISTER_ZMM31) {
        *bits = 512;
        return (u8)(r - ZYDIS_REGISTER_ZMM0);
    }
    if (r >= ZYDIS_REGISTER_YMM0 && r <= ZYDIS_REGISTER_YMM31) {
        *bits = 256;
        return (u8)(r - ZYDIS_REGISTER_YMM0);
    }
    *bits = 128;
    return (u8)(r - ZYDIS_REGISTER_XMM0);
}

// v[p]gather and v[p]scatter, then d or q for the indexes, then the elements.
static u8 index_size(ZydisMnemonic m)
{
    switch ((int)m) {
    case ZYDIS_MNEMONIC_VGATHERDPD:
    case ZYDIS_MNEMONIC_VGATHERDPS:
    case ZYDIS_MNEMONIC_VPGATHERDD:
    case ZYDIS_MNEMONIC_VPGATHERDQ:
    case ZYDIS_MNEMONIC_VSCATTERDPD:
    case ZYDIS_MNEMONIC_VSCATTERDPS:
    case ZYDIS_MNEMONIC_VPSCATTERDD:
    case ZYDIS_MNEMONIC_VPSCATTERDQ: return 4;
    default: return 8;
    }
}

// Width in bits of the widest vector register among the operands.
static u32 vector_length(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops)
{
    u32 longest = 128, bits;

    for (u32 i = 0; i < zi->operand_count_visible; i++) {
        ZydisRegister r = ops[i].reg.value;

        if (ops[i].type != ZYDIS_OPERAND_TYPE_REGISTER || r < ZYDIS_REGISTER_YMM0 ||
            r > ZYDIS_REGISTER_ZMM31)
            continue;
        vector_number(r, &bits);
        if (bits > longest)
            longest = bits;
    }
    return longest;
}

// Visible operand i, if it is a register, is the mask.
static void vector_mask(struct insn *in, const ZydisDecodedInstruction *zi,
                        const ZydisDecodedOperand *ops, u32 i)
{
    u32 bits;

    if (i < zi->operand_count_visible && ops[i].type == ZYDIS_OPERAND_TYPE_REGISTER)
        in->vec_mask = vector_number(ops[i].reg.value, &bits);
}

static void gather(struct insn *in, const ZydisDecodedInstruction *zi,
                   const ZydisDecodedOperand *ops, const ZydisDecodedOperand *mem)
{
    u32 index_bits, n, m;

    in->vec_index = vector_number(mem->mem.index, &index_bits);
    in->vec_isize = index_size(zi->mnemonic);
    in->vec_esize = (u8)(mem->element_size / 8 ? mem->element_size / 8 : mem->size / 8);
    // limited by the destination and by the indexes
    n = vector_length(zi, ops) / 8 / in->vec_esize;
    m = index_bits / 8 / in->vec_isize;
    in->vec_count = (u8)(n < m ? n : m);
    in->flags |= INSN_F_DYN;
    if (zi->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX) {
        in->vec_kind = VEC_KGATHER;
        in->vec_mask = (u8)(zi->avx.mask.reg - ZYDIS_REGISTER_K0);
    } else {
        in->vec_kind = VEC_GATHER;
        vector_mask(in, zi, ops, 2);
    }
}

// tileloadd, tileloaddt1, tilestored: the number and length of rows is in the tile configuration.
// Without AMX they fault; so do their copies.
static void tile(struct insn *in, const ZydisDecodedOperand *ops)
{
    const ZydisDecodedOperand *op = &ops[ops[0].type == ZYDIS_OPERAND_TYPE_REGISTER ? 0 : 1];

    if (!cpu.amx)
        return;
    in->vec_kind = VEC_TILE;
    in->vec_mask = (u8)(op->reg.value - ZYDIS_REGISTER_TMM0);
    in->vec_count = TILE_ROWS;
    in->flags |= INSN_F_DYN;
}

static void vector_refs(struct insn *in, const ZydisDecodedInstruction *zi,
                        const ZydisDecodedOperand *ops)
{
    const ZydisDecodedOperand *mem = NULL;

    for (u32 i = 0; i < zi->operand_count && !mem; i++) {
        if (ops[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
            mem = &ops[i];
    }
    if (!mem)
        return;
    if (mem->mem.type == ZYDIS_MEMOP_TYPE_VSIB) {
        gather(in, zi, ops, mem);
        return;
    }
    switch ((int)zi->mnemonic) {
    case ZYDIS_MNEMONIC_VMASKMOVPS:
    case ZYDIS_MNEMONIC_VPMASKMOVD: in->vec_esize = 4; break;
    case ZYDIS_MNEMONIC_VMASKMOVPD:
    case ZYDIS_MNEMONIC_VPMASKMOVQ: in->vec_esize = 8; break;
    case ZYDIS_MNEMONIC_TILELOADD:
    case ZYDIS_MNEMONIC_TILELOADDT1:
    case ZYDIS_MNEMONIC_TILESTORED: tile(in, ops); return;
    // maskmovq and [v]maskmovdqu are a read and a write of all their bytes: ordinary references
    // (tests/compat/reference-model.md)
    default: return;
    }
    in->vec_kind = VEC_MASKMOV;
    in->flags |= INSN_F_DYN;
    in->vec_count = (u8)(mem->size / 8 / in->vec_esize);
    vector_mask(in, zi, ops, 1); // load: dst, mask, mem; store: mem, mask, src
}

// Base, index and displacement of a memory operand.
static struct memref address(const struct insn *in, const ZydisDecodedInstruction *zi,
                             const ZydisDecodedOperand *op)
{
    struct memref r;

    memset(&r, 0, sizeof(r));
    r.base = operands_gpr(op->mem.base);
    r.index = operands_gpr(op->mem.index);
    r.scale = op->mem.scale;
    r.disp = op->mem.disp.value;
    r.bitreg = REG_NONE;
    if (op->mem.base == ZYDIS_REGISTER_RIP || op->mem.base == ZYDIS_REGISTER_EIP) {
        r.base = REG_RIP;
        r.disp += (s64)(in->pc + zi->length);
    }
    return r;
}

static u8 ref_flags(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *op)
{
    u32 flags = 0;

    if (op->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
        flags |= MEMREF_READ;
    if (op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
        flags |= MEMREF_WRITE;
    if (zi->address_width == 32)
        flags |= MEMREF_A32;
    if (op->mem.segment == ZYDIS_REGISTER_FS)
        flags |= MEMREF_FS;
    if (op->mem.segment == ZYDIS_REGISTER_GS)
        flags |= MEMREF_GS;
    if (zi->mnemonic == ZYDIS_MNEMONIC_XLAT)
        flags |= MEMREF_XLAT;
    return (u8)flags;
}

static void add_first(struct insn *in, const struct memref *r)
{
    for (u32 k = in->nrefs; k > 0; k--)
        in->refs[k < INSN_REFS_MAX ? k : INSN_REFS_MAX - 1] = in->refs[k - 1];
    in->refs[0] = *r;
    if (in->nrefs < INSN_REFS_MAX)
        in->nrefs++;
}

// push and call write below the stack pointer, after an explicit operand was read (true: this
// reference is last); pop, ret and leave read at it, before an explicit operand is written.
static bool stack_ref(struct insn *in, const ZydisDecodedInstruction *zi, struct memref *r)
{
    r->disp = 0;
    if (zi->mnemonic == ZYDIS_MNEMONIC_LEAVE) {
        r->base = R_RBP;
        in->regs |= 1u << R_RBP;
    } else if (r->flags & MEMREF_WRITE) {
        r->flags &= (u8)~MEMREF_READ;
        r->disp = -(s64)r->size;
    }
    if (r->flags & MEMREF_WRITE)
        return true;
    add_first(in, r);
    return false;
}

// Whether the operand is a reference that is simulated: not bndldx and bndstx (MIB), whose table no
// longer exists in 64-bit Linux.
static bool is_reference(const ZydisDecodedOperand *op)
{
    return op->mem.type != ZYDIS_MEMOP_TYPE_AGEN && op->mem.type != ZYDIS_MEMOP_TYPE_MIB &&
           (op->actions & (ZYDIS_OPERAND_ACTION_MASK_READ | ZYDIS_OPERAND_ACTION_MASK_WRITE));
}

static bool tests_bit(ZydisMnemonic m)
{
    return m == ZYDIS_MNEMONIC_BT || m == ZYDIS_MNEMONIC_BTS || m == ZYDIS_MNEMONIC_BTR ||
           m == ZYDIS_MNEMONIC_BTC;
}

// An explicit operand, or an implied one other than the stack.
static void plain_ref(struct insn *in, const ZydisDecodedInstruction *zi,
                      const ZydisDecodedOperand *ops, struct memref *r)
{
    if (zi->mnemonic == ZYDIS_MNEMONIC_POP && r->base == R_RSP)
        r->disp += zi->operand_width / 8; // pop [rsp+d]: the address uses the incremented rsp
    if (tests_bit(zi->mnemonic) && ops[1].type == ZYDIS_OPERAND_TYPE_REGISTER) {
        r->flags |= MEMREF_BITOFF;
        r->bitreg = operands_gpr(ops[1].reg.value);
        r->bitlog = zi->operand_width == 64 ? 6 : zi->operand_width == 32 ? 5 : 4;
    }
    add_ref(in, r);
}

static void collect(struct insn *in, const ZydisDecodedInstruction *zi,
                    const ZydisDecodedOperand *ops)
{
    struct memref later[INSN_REFS_MAX];
    u32 nlater = 0;
    bool counts = !no_data_reference(zi) && in->kind != INSN_STRING && in->kind != INSN_STEP;

    for (u32 i = 0; i < zi->operand_count; i++) {
        const ZydisDecodedOperand *op = &ops[i];
        struct memref r;
        u8 n;

        if (op->type == ZYDIS_OPERAND_TYPE_REGISTER) {
            n = operands_gpr(op->reg.value);
            if (n == REG_NONE)
                continue;
            in->regs |= 1u << n;
            if (op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
                in->written |= 1u << n;
            continue;
        }
        if (op->type != ZYDIS_OPERAND_TYPE_MEMORY)
            continue;
        r = address(in, zi, op);
        if (r.base < 16)
            in->regs |= 1u << r.base;
        if (r.index < 16)
            in->regs |= 1u << r.index;
        if (!counts || !is_reference(op))
            continue;
        r.flags = ref_flags(zi, op);
        r.size = implicit_size(zi, op);
        if (!is_stack_operand(zi, op))
            plain_ref(in, zi, ops, &r);
        else if (stack_ref(in, zi, &r))
            later[nlater++] = r;
    }
    for (u32 i = 0; i < nlater; i++)
        add_ref(in, &later[i]);
    vector_refs(in, zi, ops);
}

// Zydis does not say that cmps and scas move their pointers.
static void string_written(struct insn *in)
{
    u32 si = 1u << R_RSI, di = 1u << R_RDI;

    if (in->str_op == STR_CMPS || in->str_op == STR_SCAS)
        in->written |= in->str_op == STR_CMPS ? si | di : di;
}

// A string instruction without rep: one element, in the order of Cachegrind (reference-model.md).
static void string_refs(struct insn *in, const ZydisDecodedInstruction *zi)
{
    struct memref si = {
        .base = R_RSI, .index = REG_NONE, .bitreg = REG_NONE, .size = in->str_size
    };
    struct memref di = {
        .base = R_RDI, .index = REG_NONE, .bitreg = REG_NONE, .size = in->str_size
    };

    if (zi->address_width == 32) {
        si.flags |= MEMREF_A32;
        di.flags |= MEMREF_A32;
    }
    if (zi->attributes & ZYDIS_ATTRIB_HAS_SEGMENT_FS)
        si.flags |= MEMREF_FS;
    si.flags |= MEMREF_READ;
    di.flags |= in->str_op == STR_MOVS || in->str_op == STR_STOS ? MEMREF_WRITE : MEMREF_READ;
    switch (in->str_op) {
    case STR_MOVS:
        add_ref(in, &si);
        add_ref(in, &di);
        break;
    case STR_LODS: add_ref(in, &si); break;
    case STR_CMPS:
        add_ref(in, &di);
        add_ref(in, &si);
        break;
    default: add_ref(in, &di); break;
    }
}

static bool is_gpr64(const ZydisDecodedOperand *op)
{
    return op->type == ZYDIS_OPERAND_TYPE_REGISTER && op->reg.value >= ZYDIS_REGISTER_RAX &&
           op->reg.value <= ZYDIS_REGISTER_R15;
}

// A register and perhaps a constant; or only a constant.
static void sum_of_mov(struct insn *in, const ZydisDecodedOperand *ops)
{
    u8 to = operands_gpr(ops[0].reg.value);
    bool gpr32 = ops[0].reg.value >= ZYDIS_REGISTER_EAX && ops[0].reg.value <= ZYDIS_REGISTER_R15D;

    if (ops[0].type != ZYDIS_OPERAND_TYPE_REGISTER)
        return;
    if (is_gpr64(&ops[0]) && ops[1].type == ZYDIS_OPERAND_TYPE_MEMORY)
        in->brings = INSN_BRINGS_LOAD;
    if (is_gpr64(&ops[0]) && is_gpr64(&ops[1]))
        in->sum = (struct sum){ to, operands_gpr(ops[1].reg.value), 0 };
    else if (ops[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
        return;
    else if (is_gpr64(&ops[0]))
        in->sum = (struct sum){ to, REG_NONE, ops[1].imm.value.s };
    else if (gpr32)
        in->sum = (struct sum){ to, REG_NONE, (s64)(u32)ops[1].imm.value.u };
}

static void sum_of_lea(struct insn *in, const ZydisDecodedInstruction *zi,
                       const ZydisDecodedOperand *ops)
{
    struct memref m = address(in, zi, &ops[1]);

    if (!is_gpr64(&ops[0]) || zi->address_width != 64 || m.index != REG_NONE)
        return;
    if (m.base == REG_RIP || m.base < 16)
        in->sum = (struct sum){ operands_gpr(ops[0].reg.value),
                                m.base == REG_RIP ? REG_NONE : m.base, m.disp };
}

static void sum_of_stack(struct insn *in, const ZydisDecodedInstruction *zi,
                         const ZydisDecodedOperand *ops)
{
    s64 by = zi->operand_width / 8;

    switch ((int)zi->mnemonic) {
    case ZYDIS_MNEMONIC_PUSH: in->sum = (struct sum){ R_RSP, R_RSP, -by }; break;
    case ZYDIS_MNEMONIC_POP:
        if (ops[0].type != ZYDIS_OPERAND_TYPE_REGISTER || operands_gpr(ops[0].reg.value) != R_RSP)
            in->sum = (struct sum){ R_RSP, R_RSP, by };
        break;
    default:
        if (by == 8)
            in->sum = (struct sum){ R_RSP, R_RBP, by };
        break;
    }
}

// Addresses that use the register before the instruction then differ by a constant from later ones.
static void collect_sum(struct insn *in, const ZydisDecodedInstruction *zi,
                        const ZydisDecodedOperand *ops)
{
    u8 to = operands_gpr(ops[0].reg.value);
    bool by_imm = is_gpr64(&ops[0]) && ops[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;

    in->sum.to = REG_NONE;
    in->brings = INSN_BRINGS_OTHER;
    if (zi->meta.category == ZYDIS_CATEGORY_CMOV && is_gpr64(&ops[0]))
        in->brings = INSN_BRINGS_CHOICE;
    switch ((int)zi->mnemonic) {
    case ZYDIS_MNEMONIC_MOV: sum_of_mov(in, ops); break;
    case ZYDIS_MNEMONIC_LEA: sum_of_lea(in, zi, ops); break;
    case ZYDIS_MNEMONIC_ADD:
        if (by_imm)
            in->sum = (struct sum){ to, to, ops[1].imm.value.s };
        break;
    case ZYDIS_MNEMONIC_SUB:
        if (by_imm)
            in->sum = (struct sum){ to, to, -ops[1].imm.value.s };
        break;
    case ZYDIS_MNEMONIC_INC:
    case ZYDIS_MNEMONIC_DEC:
        if (is_gpr64(&ops[0]))
            in->sum = (struct sum){ to, to, zi->mnemonic == ZYDIS_MNEMONIC_INC ? 1 : -1 };
        break;
    case ZYDIS_MNEMONIC_PUSH:
    case ZYDIS_MNEMONIC_POP:
    case ZYDIS_MNEMONIC_LEAVE: sum_of_stack(in, zi, ops); break;
    default: break;
    }
}

// As in context switches, longjmp and exceptions, not for a function's own frame.
static bool sets_stack(const struct insn *in, const ZydisDecodedInstruction *zi)
{
    if (!(in->written & 1u << R_RSP) || zi->meta.branch_type != ZYDIS_BRANCH_TYPE_NONE)
        return false;
    if (in->sum.to == R_RSP && (in->sum.from == R_RSP || in->sum.from == R_RBP))
        return false;
    switch ((int)zi->mnemonic) {
    case ZYDIS_MNEMONIC_ADD:
    case ZYDIS_MNEMONIC_SUB:
    case ZYDIS_MNEMONIC_AND:
    case ZYDIS_MNEMONIC_PUSH:
    case ZYDIS_MNEMONIC_PUSHF:
    case ZYDIS_MNEMONIC_PUSHFQ:
    case ZYDIS_MNEMONIC_POPF:
    case ZYDIS_MNEMONIC_POPFQ:
    case ZYDIS_MNEMONIC_ENTER:
    case ZYDIS_MNEMONIC_LEAVE: return false;
    default: return true;
    }
}

// Registers that some processors read or change, and that Zydis does not report.
static void unnamed(struct insn *in, const ZydisDecodedInstruction *zi)
{
    u32 ax = 1u << R_RAX, cx = 1u << R_RCX, dx = 1u << R_RDX;

    switch ((int)zi->mnemonic) {
    case ZYDIS_MNEMONIC_PAUSE: // F3 41 90 exchanges r8d and eax; a pause has no REX.B
        if (zi->raw.rex.B)
            in->written = in->regs |= ax | 1u << 8;
        break;
    // Where there are protection keys and no user interrupts (Zen 3), F3 is ignored: these are
    // rdpkru and wrpkru.
    case ZYDIS_MNEMONIC_CLUI:
        in->regs |= ax | cx | dx;
        in->written |= ax | dx;
        break;
    case ZYDIS_MNEMONIC_STUI: in->regs |= ax | cx | dx; break;
    default: break;
    }
}

void operands_collect(struct insn *in, const ZydisDecodedInstruction *zi,
                      const ZydisDecodedOperand *ops)
{
    collect(in, zi, ops);
    collect_sum(in, zi, ops);
    if (sets_stack(in, zi))
        in->flags |= INSN_F_SETS_SP;
    if (in->kind == INSN_STRING) {
        string_written(in);
        if (!(in->flags & INSN_F_REP))
            string_refs(in, zi);
    }
    in->regs_known = true;
    unnamed(in, zi);
    for (u32 i = 0; i < in->nrefs; i++) {
        if (in->refs[i].flags & MEMREF_WRITE)
            in->flags |= INSN_F_STORE;
    }
}
