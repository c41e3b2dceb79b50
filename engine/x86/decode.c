// SPDX-License-Identifier: MIT
// Glue over Zydis; see decode.h. Called by the translator for every client instruction once per translation: warm, not hot.
#include "engine/x86/decode.h"

#include <Zydis/Zydis.h>

#include "engine/base/mini.h"
#include "engine/x86/decode_flags.h"

static ZydisDecoder decoder;
static bool is_amd;

// Hardware number of a general register of any width, REG_NONE for others. Relies on Zydis' order of registers
// (al cl dl bl ah ch dh bh spl bpl sil dil r8b.., ax.., eax.., rax..).
static u8 gpr_number(ZydisRegister r)
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

void decode_init(bool probe)
{
    u32 a, b, c, d;
    bool bmi1;

    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    __asm__ volatile("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(0), "c"(0));
    is_amd = c == 0x444d4163 || c == 0x656e6975; // AuthenticAMD, HygonGenuine
    if (is_amd)
        ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_AMD_BRANCHES, ZYAN_TRUE);
    __asm__ volatile("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(7), "c"(0));
    bmi1 = (b >> 3) & 1;
    __asm__ volatile("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(0x80000001), "c"(0));
    if (probe)
        decode_flags_init(bmi1, (c >> 5) & 1);
}

// A shift of 32 or 64 bits by a constant other than 0.
static bool shifts_surely(const ZydisDecodedInstruction *zi)
{
    u32 mask = zi->operand_width == 64 ? 63 : 31;

    if (zi->operand_width < 32 || zi->opcode_map != ZYDIS_OPCODE_MAP_DEFAULT)
        return false;
    if (zi->mnemonic != ZYDIS_MNEMONIC_SHL && zi->mnemonic != ZYDIS_MNEMONIC_SHR &&
        zi->mnemonic != ZYDIS_MNEMONIC_SAR)
        return false;
    return zi->opcode == 0xd1 || (zi->opcode == 0xc1 && (zi->raw.imm[0].value.u & mask));
}

// Instructions that write their flags only sometimes (a shift by zero writes none), so that the old ones stay alive.
static bool flags_conditional(ZydisMnemonic m)
{
    switch ((int)m) {
    case ZYDIS_MNEMONIC_SHL:
    case ZYDIS_MNEMONIC_SHR:
    case ZYDIS_MNEMONIC_SAR:
    case ZYDIS_MNEMONIC_ROL:
    case ZYDIS_MNEMONIC_ROR:
    case ZYDIS_MNEMONIC_RCL:
    case ZYDIS_MNEMONIC_RCR:
    case ZYDIS_MNEMONIC_SHLD:
    case ZYDIS_MNEMONIC_SHRD:
    case ZYDIS_MNEMONIC_CMPSB:
    case ZYDIS_MNEMONIC_CMPSW:
    case ZYDIS_MNEMONIC_CMPSD:
    case ZYDIS_MNEMONIC_CMPSQ:
    case ZYDIS_MNEMONIC_SCASB:
    case ZYDIS_MNEMONIC_SCASW:
    case ZYDIS_MNEMONIC_SCASD:
    case ZYDIS_MNEMONIC_SCASQ: return true;
    default: return false;
    }
}

static bool string_op(struct insn *in, const ZydisDecodedInstruction *zi)
{
    static const struct {
        u16 first; // mnemonic
        u8 op, size;
    } table[] = {
        { ZYDIS_MNEMONIC_MOVSB, STR_MOVS, 1 }, { ZYDIS_MNEMONIC_MOVSW, STR_MOVS, 2 },
        { ZYDIS_MNEMONIC_MOVSD, STR_MOVS, 4 }, { ZYDIS_MNEMONIC_MOVSQ, STR_MOVS, 8 },
        { ZYDIS_MNEMONIC_STOSB, STR_STOS, 1 }, { ZYDIS_MNEMONIC_STOSW, STR_STOS, 2 },
        { ZYDIS_MNEMONIC_STOSD, STR_STOS, 4 }, { ZYDIS_MNEMONIC_STOSQ, STR_STOS, 8 },
        { ZYDIS_MNEMONIC_LODSB, STR_LODS, 1 }, { ZYDIS_MNEMONIC_LODSW, STR_LODS, 2 },
        { ZYDIS_MNEMONIC_LODSD, STR_LODS, 4 }, { ZYDIS_MNEMONIC_LODSQ, STR_LODS, 8 },
        { ZYDIS_MNEMONIC_CMPSB, STR_CMPS, 1 }, { ZYDIS_MNEMONIC_CMPSW, STR_CMPS, 2 },
        { ZYDIS_MNEMONIC_CMPSD, STR_CMPS, 4 }, { ZYDIS_MNEMONIC_CMPSQ, STR_CMPS, 8 },
        { ZYDIS_MNEMONIC_SCASB, STR_SCAS, 1 }, { ZYDIS_MNEMONIC_SCASW, STR_SCAS, 2 },
        { ZYDIS_MNEMONIC_SCASD, STR_SCAS, 4 }, { ZYDIS_MNEMONIC_SCASQ, STR_SCAS, 8 },
    };

    // movsd and cmpsd are also SSE2 mnemonics; the string ones have one-byte opcodes
    if (zi->meta.category != ZYDIS_CATEGORY_STRINGOP || zi->opcode_map != ZYDIS_OPCODE_MAP_DEFAULT)
        return false;
    for (u32 i = 0; i < ARRAY_SIZE(table); i++) {
        if (table[i].first == (u16)zi->mnemonic) {
            in->str_op = table[i].op;
            in->str_size = table[i].size;
            return true;
        }
    }
    return false;
}

// The instructions that are executed by single-stepping the client's own bytes: rare, privileged, or raising a trap whose
// exact context the kernel should make.
static bool needs_step(const ZydisDecodedInstruction *zi)
{
    if (zi->attributes & ZYDIS_ATTRIB_IS_PRIVILEGED)
        return true;
    switch ((int)zi->mnemonic) {
    case ZYDIS_MNEMONIC_INT3:
    case ZYDIS_MNEMONIC_INT1:
    case ZYDIS_MNEMONIC_INT:
    case ZYDIS_MNEMONIC_INTO:
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_IN:
    case ZYDIS_MNEMONIC_OUT:
    case ZYDIS_MNEMONIC_INSB:
    case ZYDIS_MNEMONIC_INSW:
    case ZYDIS_MNEMONIC_INSD:
    case ZYDIS_MNEMONIC_OUTSB:
    case ZYDIS_MNEMONIC_OUTSW:
    case ZYDIS_MNEMONIC_OUTSD:
    case ZYDIS_MNEMONIC_CLI:
    case ZYDIS_MNEMONIC_STI:
    case ZYDIS_MNEMONIC_IRET:
    case ZYDIS_MNEMONIC_IRETD:
    case ZYDIS_MNEMONIC_IRETQ:
    case ZYDIS_MNEMONIC_SYSENTER:
    case ZYDIS_MNEMONIC_SYSEXIT:
    case ZYDIS_MNEMONIC_SYSRET:
    case ZYDIS_MNEMONIC_VMCALL:
    case ZYDIS_MNEMONIC_VMMCALL:
    case ZYDIS_MNEMONIC_ENCLU: return true;
    default: return false;
    }
}

// Whether a valid selector or address is given decides what becomes of %gs, or which fault is raised: in place, the
// processor decides (the base of the client is in %gs meanwhile).
static bool changes_gs(const ZydisDecodedInstruction *zi)
{
    switch ((int)zi->mnemonic) {
    case ZYDIS_MNEMONIC_WRGSBASE:
    case ZYDIS_MNEMONIC_LGS: return true;
    case ZYDIS_MNEMONIC_POP: return zi->opcode == 0xa9 && zi->opcode_map == ZYDIS_OPCODE_MAP_0F;
    case ZYDIS_MNEMONIC_MOV:
        return zi->opcode == 0x8e && zi->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT &&
               zi->raw.modrm.reg == 5;
    default: return false;
    }
}

// Memory operands that obey a gs prefix and that no modrm byte names: rewrite.c cannot add a base to them. Zydis does not
// say for all of them that the prefix has a meaning.
static bool implicit_gs(const ZydisDecodedInstruction *zi)
{
    bool gs = false;

    for (u32 i = 0; i < zi->raw.prefix_count; i++)
        gs |= zi->raw.prefixes[i].value == 0x65;
    if (!gs)
        return false;
    switch ((int)zi->mnemonic) {
    case ZYDIS_MNEMONIC_XLAT:
    case ZYDIS_MNEMONIC_MASKMOVQ:
    case ZYDIS_MNEMONIC_MASKMOVDQU:
    case ZYDIS_MNEMONIC_VMASKMOVDQU:
    case ZYDIS_MNEMONIC_MONITORX:
    case ZYDIS_MNEMONIC_UMONITOR:
    case ZYDIS_MNEMONIC_CLZERO: return true;
    default: return false;
    }
}

// With an operand size prefix, near branches are of 16 bits on AMD's processors, and of 64 on Intel's.
static bool truncates_rip(const ZydisDecodedInstruction *zi)
{
    bool o16 = false;

    for (u32 i = 0; i < zi->raw.prefix_count; i++)
        o16 |= zi->raw.prefixes[i].value == 0x66;
    return o16 && !zi->raw.rex.W && is_amd;
}

// Conditional jumps are 7x (one byte) or 0F 8x; everything else Zydis calls COND_BR is of the rcx family.
static void classify_branch(struct insn *in, const ZydisDecodedInstruction *zi)
{
    bool far = zi->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR;

    if (far || truncates_rip(zi)) {
        in->kind = INSN_STEP;
        return;
    }
    if (zi->raw.imm[0].is_relative)
        in->target = in->pc + zi->length + (u64)zi->raw.imm[0].value.s;
    switch ((int)zi->mnemonic) {
    case ZYDIS_MNEMONIC_RET:
        in->kind = INSN_RET;
        in->imm = (u16)(zi->opcode == 0xc2 ? zi->raw.imm[0].value.u : 0);
        return;
    case ZYDIS_MNEMONIC_CALL:
        in->kind = zi->raw.imm[0].is_relative ? INSN_CALL : INSN_CALL_IND;
        break;
    case ZYDIS_MNEMONIC_JMP: in->kind = zi->raw.imm[0].is_relative ? INSN_JMP : INSN_JMP_IND; break;
    case ZYDIS_MNEMONIC_JRCXZ:
    case ZYDIS_MNEMONIC_JECXZ:
    case ZYDIS_MNEMONIC_JCXZ:
    case ZYDIS_MNEMONIC_LOOP:
    case ZYDIS_MNEMONIC_LOOPE:
    case ZYDIS_MNEMONIC_LOOPNE: in->kind = INSN_LOOP; break;
    default:
        if (zi->meta.category == ZYDIS_CATEGORY_COND_BR && zi->raw.imm[0].is_relative) {
            in->kind = INSN_JCC;
            in->cond = zi->opcode & 15;
        }
        break;
    }
    if (in->kind == INSN_JMP_IND || in->kind == INSN_CALL_IND) {
        in->ireg = REG_NONE;
        if (zi->raw.modrm.mod == 3)
            in->ireg = zi->raw.modrm.rm | (zi->raw.rex.B ? 8u : 0u);
    }
}

// Every transaction aborts at once: the code of one would lie in the code cache, and so would what
// its abort returns to. Zydis does not call it a branch.
static void classify_xbegin(struct insn *in, const ZydisDecodedInstruction *zi)
{
    in->kind = INSN_XBEGIN;
    in->target = in->pc + zi->length + (u64)zi->raw.imm[0].value.s;
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

// Stores without a modrm operand, or that are no data references. (A push is a store only where references are asked for: code
// that its own push changes is not worth a block for each push.)
static bool stores_unseen(const ZydisDecodedInstruction *zi)
{
    switch ((int)zi->mnemonic) {
    case ZYDIS_MNEMONIC_CLZERO:
    case ZYDIS_MNEMONIC_MASKMOVQ:
    case ZYDIS_MNEMONIC_MASKMOVDQU:
    case ZYDIS_MNEMONIC_VMASKMOVDQU: return true;
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
        return 576; // the xsave family: at least legacy area and header; larger than any line that is simulated
    }
}

static void add_ref(struct insn *in, const struct memref *r)
{
    if (in->nrefs < INSN_REFS_MAX)
        in->refs[in->nrefs++] = *r;
}

// Of push, call, pop and their like; not of movdir64b, whose destination is hidden too and may be (%rsp).
static bool is_stack_operand(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *op)
{
    return op->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
           op->mem.base == ZYDIS_REGISTER_RSP && zi->mnemonic != ZYDIS_MNEMONIC_MOVDIR64B;
}

static void vector_refs(struct insn *in, const ZydisDecodedInstruction *zi,
                        const ZydisDecodedOperand *ops)
{
    const ZydisDecodedOperand *mem = NULL;

    for (u32 i = 0; i < zi->operand_count; i++) {
        if (ops[i].type == ZYDIS_OPERAND_TYPE_MEMORY) {
            mem = &ops[i];
            break;
        }
    }
    if (!mem)
        return;
    if (mem->mem.type == ZYDIS_MEMOP_TYPE_VSIB) {
        u32 index_bits = 128;
        ZydisRegister x = mem->mem.index;

        if (x >= ZYDIS_REGISTER_ZMM0 && x <= ZYDIS_REGISTER_ZMM31) {
            in->vec_index = (u8)(x - ZYDIS_REGISTER_ZMM0);
            index_bits = 512;
        } else if (x >= ZYDIS_REGISTER_YMM0 && x <= ZYDIS_REGISTER_YMM31) {
            in->vec_index = (u8)(x - ZYDIS_REGISTER_YMM0);
            index_bits = 256;
        } else {
            in->vec_index = (u8)(x - ZYDIS_REGISTER_XMM0);
        }
        // v[p]gather/scatter + d|q (index) + element: the mnemonic's index letter decides the index size
        switch ((int)zi->mnemonic) {
        case ZYDIS_MNEMONIC_VGATHERDPD:
        case ZYDIS_MNEMONIC_VGATHERDPS:
        case ZYDIS_MNEMONIC_VPGATHERDD:
        case ZYDIS_MNEMONIC_VPGATHERDQ:
        case ZYDIS_MNEMONIC_VSCATTERDPD:
        case ZYDIS_MNEMONIC_VSCATTERDPS:
        case ZYDIS_MNEMONIC_VPSCATTERDD:
        case ZYDIS_MNEMONIC_VPSCATTERDQ: in->vec_isize = 4; break;
        default: in->vec_isize = 8; break;
        }
        in->vec_esize = (u8)(mem->element_size / 8 ? mem->element_size / 8 : mem->size / 8);
        // elements: limited by the destination and by the indexes
        u32 vl = 128;
        for (u32 i = 0; i < zi->operand_count_visible; i++) {
            if (ops[i].type != ZYDIS_OPERAND_TYPE_REGISTER)
                continue;
            ZydisRegister r = ops[i].reg.value;
            if (r >= ZYDIS_REGISTER_ZMM0 && r <= ZYDIS_REGISTER_ZMM31)
                vl = 512;
            else if (r >= ZYDIS_REGISTER_YMM0 && r <= ZYDIS_REGISTER_YMM31 && vl < 256)
                vl = 256;
        }
        u32 n = vl / 8 / in->vec_esize, m = index_bits / 8 / in->vec_isize;
        in->vec_count = (u8)(n < m ? n : m);
        in->vec_kind = zi->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX ? VEC_KGATHER : VEC_GATHER;
        if (in->vec_kind == VEC_KGATHER) {
            in->vec_mask = (u8)(zi->avx.mask.reg - ZYDIS_REGISTER_K0);
        } else {
            for (u32 i = 0; i < zi->operand_count_visible; i++) {
                // the third visible operand of the AVX2 gathers is the mask
                if (i == 2 && ops[i].type == ZYDIS_OPERAND_TYPE_REGISTER) {
                    ZydisRegister r = ops[i].reg.value;
                    in->vec_mask = (u8)(r >= ZYDIS_REGISTER_YMM0 && r <= ZYDIS_REGISTER_YMM31
                                            ? r - ZYDIS_REGISTER_YMM0
                                            : r - ZYDIS_REGISTER_XMM0);
                }
            }
        }
        in->flags |= INSN_F_DYN;
        return;
    }
    switch ((int)zi->mnemonic) {
    case ZYDIS_MNEMONIC_VMASKMOVPS:
    case ZYDIS_MNEMONIC_VPMASKMOVD: in->vec_esize = 4; break;
    case ZYDIS_MNEMONIC_VMASKMOVPD:
    case ZYDIS_MNEMONIC_VPMASKMOVQ: in->vec_esize = 8; break;
    case ZYDIS_MNEMONIC_MASKMOVDQU:
    case ZYDIS_MNEMONIC_VMASKMOVDQU:
        return; // a read and a write of 16 bytes: ordinary references (tests/compat/reference-model.md)
    case ZYDIS_MNEMONIC_MASKMOVQ: return;
    default: return;
    }
    in->vec_kind = VEC_MASKMOV;
    in->flags |= INSN_F_DYN;
    in->vec_count = (u8)(mem->size / 8 / in->vec_esize);
    // operand order: load: dst, mask, mem; store: mem, mask, src
    for (u32 i = 0; i < zi->operand_count_visible; i++) {
        if (i == 1 && ops[i].type == ZYDIS_OPERAND_TYPE_REGISTER) {
            ZydisRegister r = ops[i].reg.value;
            in->vec_mask = (u8)(r >= ZYDIS_REGISTER_YMM0 && r <= ZYDIS_REGISTER_YMM31
                                    ? r - ZYDIS_REGISTER_YMM0
                                    : r - ZYDIS_REGISTER_XMM0);
        }
    }
}

static void collect_refs(struct insn *in, const ZydisDecodedInstruction *zi,
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
            n = gpr_number(op->reg.value);
            if (n != REG_NONE)
                in->regs |= 1u << n;
            continue;
        }
        if (op->type != ZYDIS_OPERAND_TYPE_MEMORY)
            continue;
        memset(&r, 0, sizeof(r));
        r.base = op->mem.base == ZYDIS_REGISTER_RIP || op->mem.base == ZYDIS_REGISTER_EIP
                     ? REG_RIP
                     : gpr_number(op->mem.base);
        r.index = gpr_number(op->mem.index);
        r.scale = op->mem.scale;
        r.disp = op->mem.disp.value;
        r.bitreg = REG_NONE;
        if (r.base == REG_RIP)
            r.disp += (s64)(in->pc + zi->length);
        if (r.base < 16)
            in->regs |= 1u << r.base;
        if (r.index < 16)
            in->regs |= 1u << r.index;
        if (!counts || op->mem.type == ZYDIS_MEMOP_TYPE_AGEN)
            continue;
        // MIB is the bounds family's address form: bndldx and bndstx access a table that does not exist in 64-bit
        // Linux any more
        if (op->mem.type == ZYDIS_MEMOP_TYPE_MIB)
            continue;
        if (op->mem.type == ZYDIS_MEMOP_TYPE_VSIB)
            r.index =
                REG_NONE; // refs[0] holds base and displacement; vec_kind says that it is not a plain reference
        if (op->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
            r.flags |= MEMREF_READ;
        if (op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
            r.flags |= MEMREF_WRITE;
        if (!(r.flags & (MEMREF_READ | MEMREF_WRITE)))
            continue;
        if (zi->address_width == 32)
            r.flags |= MEMREF_A32;
        if (op->mem.segment == ZYDIS_REGISTER_FS)
            r.flags |= MEMREF_FS;
        if (op->mem.segment == ZYDIS_REGISTER_GS)
            r.flags |= MEMREF_GS;
        r.size = implicit_size(zi, op);
        if (is_stack_operand(zi, op)) {
            // push and call write below the stack pointer, and only after an explicit operand was read; pop, ret
            // and leave read at it, before an explicit operand is written
            if (zi->mnemonic == ZYDIS_MNEMONIC_LEAVE) {
                r.base = 5;
                in->regs |= 1u << 5;
                r.disp = 0;
            } else if (r.flags & MEMREF_WRITE) {
                r.flags &= (u8)~MEMREF_READ;
                r.disp = -(s64)r.size;
            } else {
                r.disp = 0;
            }
            if (r.flags & MEMREF_WRITE)
                later[nlater++] = r;
            else {
                // a stack read comes first
                for (u32 k = in->nrefs; k > 0; k--)
                    in->refs[k < INSN_REFS_MAX ? k : INSN_REFS_MAX - 1] = in->refs[k - 1];
                in->refs[0] = r;
                if (in->nrefs < INSN_REFS_MAX)
                    in->nrefs++;
            }
            continue;
        }
        if (zi->mnemonic == ZYDIS_MNEMONIC_XLAT)
            r.flags |= MEMREF_XLAT;
        if (zi->mnemonic == ZYDIS_MNEMONIC_POP && r.base == 4)
            r.disp += zi->operand_width / 8; // pop [rsp+d]: the address uses the incremented rsp
        if ((zi->mnemonic == ZYDIS_MNEMONIC_BT || zi->mnemonic == ZYDIS_MNEMONIC_BTS ||
             zi->mnemonic == ZYDIS_MNEMONIC_BTR || zi->mnemonic == ZYDIS_MNEMONIC_BTC) &&
            ops[1].type == ZYDIS_OPERAND_TYPE_REGISTER) {
            r.flags |= MEMREF_BITOFF;
            r.bitreg = gpr_number(ops[1].reg.value);
            r.bitlog = zi->operand_width == 64 ? 6 : zi->operand_width == 32 ? 5 : 4;
        }
        add_ref(in, &r);
    }
    for (u32 i = 0; i < nlater; i++)
        add_ref(in, &later[i]);
    vector_refs(in, zi, ops);
}

// A string instruction without rep: one element, in the order of Cachegrind (reference-model.md).
static void string_refs(struct insn *in, const ZydisDecodedInstruction *zi)
{
    struct memref si = { .base = 6, .index = REG_NONE, .bitreg = REG_NONE, .size = in->str_size };
    struct memref di = { .base = 7, .index = REG_NONE, .bitreg = REG_NONE, .size = in->str_size };

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

int decode_insn(struct insn *in, u64 pc, const u8 *code, u32 avail, bool want_refs)
{
    ZydisDecoderContext ctx;
    ZydisDecodedInstruction zi;
    ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
    ZyanStatus st;

    st = ZydisDecoderDecodeInstruction(&decoder, &ctx, code, avail > 15 ? 15 : avail, &zi);
    if (ZYAN_FAILED(st))
        return st == ZYDIS_STATUS_NO_MORE_DATA && avail < 15 ? -1 : 0;

    memset(in, 0, offsetof(struct insn, refs));
    in->vec_kind = VEC_NONE;
    in->vec_index = in->vec_mask = 0;
    in->pc = pc;
    in->len = zi.length;
    memcpy(in->bytes, code, zi.length);
    in->mnemonic = (u16)zi.mnemonic;
    in->category = (u16)zi.meta.category;
    in->ireg = REG_NONE;
    in->encoding = zi.encoding == ZYDIS_INSTRUCTION_ENCODING_VEX    ? 1
                   : zi.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX ? 2
                   : zi.encoding == ZYDIS_INSTRUCTION_ENCODING_XOP  ? 3
                                                                    : 0;
    for (u32 i = 0; i < zi.raw.prefix_count; i++)
        in->prefix_len++; // legacy prefixes and REX are both listed as prefixes

    if ((zi.attributes & ZYDIS_ATTRIB_HAS_MODRM) && zi.raw.modrm.mod != 3) {
        in->flags |= INSN_F_MEM;
        in->modrm_off = zi.raw.modrm.offset;
        in->disp_off = zi.raw.disp.offset;
        in->disp_size = zi.raw.disp.size / 8;
        if (zi.raw.modrm.mod == 0 && zi.raw.modrm.rm == 5)
            in->flags |= INSN_F_RIPREL;
    }
    if (zi.address_width == 32)
        in->flags |= INSN_F_A32;
    if (zi.attributes & ZYDIS_ATTRIB_HAS_SEGMENT_FS)
        in->flags |= INSN_F_SEG_FS;
    if (zi.attributes & ZYDIS_ATTRIB_HAS_SEGMENT_GS)
        in->flags |= INSN_F_SEG_GS;
    if (zi.mnemonic == ZYDIS_MNEMONIC_LEA)
        in->flags |= INSN_F_LEA;
    if (zi.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY &&
        zi.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && zi.opcode >= 0xa0 && zi.opcode <= 0xa3)
        in->flags |= INSN_F_MOFFS;

    if (zi.cpu_flags) {
        in->flags_read = (u16)(zi.cpu_flags->tested & FLAGS_ARITH);
        in->flags_touch = ((zi.cpu_flags->tested | zi.cpu_flags->modified | zi.cpu_flags->set_0 |
                            zi.cpu_flags->set_1 | zi.cpu_flags->undefined) &
                           FLAGS_ARITH) != 0;
        if (!flags_conditional(zi.mnemonic))
            in->flags_kill =
                (u16)((zi.cpu_flags->modified | zi.cpu_flags->set_0 | zi.cpu_flags->set_1) &
                      FLAGS_ARITH);
        if (in->flags_kill)
            in->flags_kill |=
                (u16)(zi.cpu_flags->undefined & decode_flags_independent(zi.mnemonic));
        else if (shifts_surely(&zi))
            in->flags_kill = (u16)decode_flags_independent(zi.mnemonic);
    }
    switch ((int)zi.mnemonic) {
    case ZYDIS_MNEMONIC_PUSHF:
    case ZYDIS_MNEMONIC_PUSHFQ:
    case ZYDIS_MNEMONIC_LAHF:
        in->flags_read = FLAGS_ARITH;
        in->flags_touch = true;
        break;
    case ZYDIS_MNEMONIC_POPF:
    case ZYDIS_MNEMONIC_POPFQ:
        in->flags_kill = FLAGS_ARITH;
        in->flags_read = 0;
        in->flags_touch = true;
        break;
    case ZYDIS_MNEMONIC_SYSCALL:
        in->kind = INSN_SYSCALL;
        in->flags_read = FLAGS_ARITH; // the kernel returns them
        in->flags_kill = 0;
        break;
    case ZYDIS_MNEMONIC_RDGSBASE: in->kind = INSN_RDGS; break;
    default: break;
    }
    if (in->kind == INSN_PLAIN && string_op(in, &zi)) {
        in->kind = INSN_STRING;
        if (zi.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE))
            in->flags |= INSN_F_REP | INSN_F_DYN;
        if (zi.attributes & ZYDIS_ATTRIB_HAS_REPNE)
            in->flags |= INSN_F_REPNE;
        if (in->str_op == STR_MOVS || in->str_op == STR_STOS)
            in->flags |= INSN_F_STORE;
        in->flags_touch = in->str_op >= STR_CMPS;
    } else if (needs_step(&zi)) {
        in->kind = INSN_STEP;
    } else if (in->kind == INSN_PLAIN && zi.meta.branch_type != ZYDIS_BRANCH_TYPE_NONE) {
        classify_branch(in, &zi);
    } else if (zi.mnemonic == ZYDIS_MNEMONIC_XBEGIN) {
        classify_xbegin(in, &zi);
    }
    if (changes_gs(&zi) || implicit_gs(&zi))
        in->kind = INSN_STEP;

    if (want_refs || (in->flags & (INSN_F_SEG_GS | INSN_F_RIPREL)) || in->kind == INSN_RDGS) {
        if (ZYAN_FAILED(ZydisDecoderDecodeOperands(&decoder, &ctx, &zi, ops, zi.operand_count)))
            return 0;
        collect_refs(in, &zi, ops);
        if (in->kind == INSN_STRING && !(in->flags & INSN_F_REP))
            string_refs(in, &zi);
        in->regs_known = true;
        // F3 41 90 exchanges r8d and eax; Zydis takes it for a pause, which has no REX.B
        if (zi.mnemonic == ZYDIS_MNEMONIC_PAUSE && zi.raw.rex.B)
            in->regs |= 1u << 0 | 1u << 8;
        for (u32 i = 0; i < in->nrefs; i++) {
            if (in->refs[i].flags & MEMREF_WRITE)
                in->flags |= INSN_F_STORE;
        }
        if (in->kind == INSN_RDGS) {
            in->ireg = gpr_number(ops[0].reg.value);
            in->str_size = (u8)(zi.operand_width / 8);
        }
        // these must have a SIB byte, which an operand made of a scratch register has not
        if ((in->flags & INSN_F_SEG_GS) &&
            (in->vec_kind == VEC_GATHER || in->vec_kind == VEC_KGATHER ||
             zi.meta.category == ZYDIS_CATEGORY_AMX_TILE))
            in->kind = INSN_STEP;
    } else if ((in->flags & INSN_F_MEM) && !(in->flags & INSN_F_LEA)) {
        in->flags |= INSN_F_STORE; // not known without the operands: assumed
    }
    if (stores_unseen(&zi))
        in->flags |= INSN_F_STORE;
    // EVEX gathers and scatters without refs keep F_DYN clear: it only matters to the cache simulation
    return in->len;
}
