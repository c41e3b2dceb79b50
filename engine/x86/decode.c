// SPDX-License-Identifier: MIT
// Wraps Zydis (decode.h). Called for every client instruction once per translation: warm, not hot.
#include "engine/x86/decode.h"

#include <Zydis/Zydis.h>

#include "engine/base/cpu.h"
#include "engine/base/nolibc.h"
#include "engine/x86/decode_flags.h"
#include "engine/x86/isa.h"
#include "engine/x86/operands.h"

static ZydisDecoder decoder;
static u32 emulated; // enum decode_emulated

void decode_init(bool probe)
{
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    if (cpu.amd)
        ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_AMD_BRANCHES, ZYAN_TRUE);
    if (probe)
        decode_flags_init(cpu.bmi1, cpu.lzcnt);
}

void decode_emulate(u32 what)
{
    emulated = what;
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

// Instructions that write their flags only sometimes (a shift by zero writes none): the old flags
// stay live.
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

// The instructions that are executed by single-stepping the client's own bytes: rare, privileged,
// or raising a trap whose exact context the kernel has to make.
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

static bool is_emulated(const ZydisDecodedInstruction *zi)
{
    switch ((int)zi->mnemonic) {
    case ZYDIS_MNEMONIC_CPUID:
    case ZYDIS_MNEMONIC_XGETBV: return emulated & DECODE_CPUID;
    case ZYDIS_MNEMONIC_RDTSC:
    case ZYDIS_MNEMONIC_RDTSCP:
    case ZYDIS_MNEMONIC_RDPID:
    case ZYDIS_MNEMONIC_RDRAND:
    case ZYDIS_MNEMONIC_RDSEED: return emulated & DECODE_TIME;
    default: return false;
    }
}

// Emulated instructions and rdgsbase that write their result to a register.
static bool names_register(const struct insn *in)
{
    switch ((int)in->mnemonic) {
    case ZYDIS_MNEMONIC_RDGSBASE:
    case ZYDIS_MNEMONIC_RDPID:
    case ZYDIS_MNEMONIC_RDRAND:
    case ZYDIS_MNEMONIC_RDSEED: return true;
    default: return false;
    }
}

static bool moves_xstate(const ZydisDecodedInstruction *zi)
{
    switch ((int)zi->mnemonic) {
    case ZYDIS_MNEMONIC_XSAVE:
    case ZYDIS_MNEMONIC_XSAVE64:
    case ZYDIS_MNEMONIC_XSAVEC:
    case ZYDIS_MNEMONIC_XSAVEC64:
    case ZYDIS_MNEMONIC_XSAVEOPT:
    case ZYDIS_MNEMONIC_XSAVEOPT64:
    case ZYDIS_MNEMONIC_XRSTOR:
    case ZYDIS_MNEMONIC_XRSTOR64: return true;
    default: return false;
    }
}

// Instructions that load or read %gs. A valid selector or address changes it, others fault: stepped
// in place, the processor decides (%gs is the client's meanwhile). A read also gives the client's
// selector.
static bool names_gs(const ZydisDecodedInstruction *zi)
{
    switch ((int)zi->mnemonic) {
    case ZYDIS_MNEMONIC_WRGSBASE:
    case ZYDIS_MNEMONIC_LGS: return true;
    case ZYDIS_MNEMONIC_PUSH: return zi->opcode == 0xa8 && zi->opcode_map == ZYDIS_OPCODE_MAP_0F;
    case ZYDIS_MNEMONIC_POP: return zi->opcode == 0xa9 && zi->opcode_map == ZYDIS_OPCODE_MAP_0F;
    case ZYDIS_MNEMONIC_MOV:
        return (zi->opcode == 0x8c || zi->opcode == 0x8e) &&
               zi->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && zi->raw.modrm.reg == 5;
    default: return false;
    }
}

// Memory operands without a modrm byte that a gs prefix affects: relocate.c cannot add a base to
// them. For some of them Zydis does not report the prefix as effective.
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

// With an operand size prefix, near branches have 16 bits on AMD processors, and 64 on Intel's.
static bool truncates_rip(const ZydisDecodedInstruction *zi)
{
    bool o16 = false;

    for (u32 i = 0; i < zi->raw.prefix_count; i++)
        o16 |= zi->raw.prefixes[i].value == 0x66;
    return o16 && !zi->raw.rex.W && cpu.amd;
}

// Conditional jumps are 7x (one byte) or 0F 8x; all others that Zydis calls COND_BR test rcx.
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

// Stores without a modrm operand, or that are no data references. (A push is a store only where
// references are requested: code that is changed by its own push is too rare for a block end at
// each push.)
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

// Every transaction aborts at once: its code, and the target of its abort, would be in the code
// cache. Zydis does not call it a branch.
static void classify_xbegin(struct insn *in, const ZydisDecodedInstruction *zi)
{
    in->kind = INSN_XBEGIN;
    in->target = in->pc + zi->length + (u64)zi->raw.imm[0].value.s;
}

// An atomic read-modify-write that is a loop in Cachegrind's translation; compare-and-exchange is
// not.
static bool is_locked(const struct insn *in, const ZydisDecodedInstruction *zi)
{
    switch ((int)zi->mnemonic) {
    case ZYDIS_MNEMONIC_CMPXCHG:
    case ZYDIS_MNEMONIC_CMPXCHG8B:
    case ZYDIS_MNEMONIC_CMPXCHG16B: return false;
    case ZYDIS_MNEMONIC_XCHG: return in->flags & INSN_F_MEM;
    default: return zi->attributes & ZYDIS_ATTRIB_HAS_LOCK;
    }
}

static u8 encoding(const ZydisDecodedInstruction *zi)
{
    switch ((int)zi->encoding) {
    case ZYDIS_INSTRUCTION_ENCODING_VEX: return INSN_VEX;
    case ZYDIS_INSTRUCTION_ENCODING_EVEX: return INSN_EVEX;
    case ZYDIS_INSTRUCTION_ENCODING_XOP: return INSN_XOP;
    default: return INSN_LEGACY;
    }
}

// The fields that follow from the encoding.
static void read_form(struct insn *in, const ZydisDecodedInstruction *zi)
{
    in->encoding = encoding(zi);
    in->prefix_len = zi->raw.prefix_count; // legacy prefixes and REX are both listed as prefixes
    if ((zi->attributes & ZYDIS_ATTRIB_HAS_MODRM) && zi->raw.modrm.mod != 3) {
        in->flags |= INSN_F_MEM;
        in->modrm_off = zi->raw.modrm.offset;
        in->disp_off = zi->raw.disp.offset;
        in->disp_size = zi->raw.disp.size / 8;
        if (zi->raw.modrm.mod == 0 && zi->raw.modrm.rm == 5)
            in->flags |= INSN_F_RIPREL;
    }
    if (zi->address_width == 32)
        in->flags |= INSN_F_A32;
    if (zi->attributes & ZYDIS_ATTRIB_HAS_SEGMENT_FS)
        in->flags |= INSN_F_SEG_FS;
    if (zi->attributes & ZYDIS_ATTRIB_HAS_SEGMENT_GS)
        in->flags |= INSN_F_SEG_GS;
    if (zi->mnemonic == ZYDIS_MNEMONIC_LEA)
        in->flags |= INSN_F_LEA;
    if (zi->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY &&
        zi->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && zi->opcode >= 0xa0 && zi->opcode <= 0xa3)
        in->flags |= INSN_F_MOFFS;
    if ((zi->attributes & ZYDIS_ATTRIB_HAS_LOCK) || is_locked(in, zi))
        in->flags |= INSN_F_BUS;
    if (is_locked(in, zi))
        in->flags |= INSN_F_LOCKED;
    if (moves_xstate(zi))
        in->flags |= INSN_F_XSTATE;
}

static void read_flags(struct insn *in, const ZydisDecodedInstruction *zi)
{
    const ZydisAccessedFlags *f = zi->cpu_flags;

    if (f) {
        u32 written = f->modified | f->set_0 | f->set_1;

        in->flags_read = (u16)(f->tested & FLAGS_ARITH);
        in->flags_touch = ((f->tested | written | f->undefined) & FLAGS_ARITH) != 0;
        if (!flags_conditional(zi->mnemonic))
            in->flags_kill = (u16)(written & FLAGS_ARITH);
        if (in->flags_kill)
            in->flags_kill |= (u16)(f->undefined & decode_flags_independent(zi->mnemonic));
        else if (shifts_surely(zi))
            in->flags_kill = (u16)decode_flags_independent(zi->mnemonic);
    }
    switch ((int)zi->mnemonic) {
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
        in->flags_read = FLAGS_ARITH; // the kernel preserves them
        in->flags_kill = 0;
        break;
    default: break;
    }
}

static void read_string(struct insn *in, const ZydisDecodedInstruction *zi)
{
    in->kind = INSN_STRING;
    if (zi->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE))
        in->flags |= INSN_F_REP | INSN_F_DYN;
    if (zi->attributes & ZYDIS_ATTRIB_HAS_REPNE)
        in->flags |= INSN_F_REPNE;
    if (in->str_op == STR_MOVS || in->str_op == STR_STOS)
        in->flags |= INSN_F_STORE;
    in->flags_touch = in->str_op >= STR_CMPS;
}

static void classify(struct insn *in, const ZydisDecodedInstruction *zi)
{
    if (zi->mnemonic == ZYDIS_MNEMONIC_SYSCALL)
        in->kind = INSN_SYSCALL;
    else if (zi->mnemonic == ZYDIS_MNEMONIC_RDGSBASE)
        in->kind = INSN_RDGS;
    if (in->kind == INSN_PLAIN && string_op(in, zi))
        read_string(in, zi);
    else if (needs_step(zi) || is_emulated(zi))
        in->kind = INSN_STEP;
    else if (in->kind == INSN_PLAIN && zi->meta.branch_type != ZYDIS_BRANCH_TYPE_NONE)
        classify_branch(in, zi);
    else if (zi->mnemonic == ZYDIS_MNEMONIC_XBEGIN)
        classify_xbegin(in, zi);
    if (names_gs(zi) || implicit_gs(zi))
        in->kind = INSN_STEP;
}

// These must have a SIB byte; an operand with a scratch register has none.
static bool needs_sib(const struct insn *in, const ZydisDecodedInstruction *zi)
{
    return in->vec_kind == VEC_GATHER || in->vec_kind == VEC_KGATHER ||
           zi->meta.category == ZYDIS_CATEGORY_AMX_TILE;
}

// rol $3, $13, $61, $51, %rdi; xchg %rbx, %rbx: together they change only flags (valgrind.h).
// clang-format off
static const u8 request_code[INSN_BYTES_MAX] = {
    0x48, 0xc1, 0xc7, 0x03, 0x48, 0xc1, 0xc7, 0x0d, 0x48, 0xc1, 0xc7, 0x3d, 0x48, 0xc1, 0xc7, 0x33,
    0x48, 0x87, 0xdb,
};
// clang-format on
static bool requests;

void decode_requests(void)
{
    requests = true;
}

// A client request is one instruction, as in Valgrind's translation, and preserves the flags.
static int request(struct insn *in, u64 pc)
{
    memset(in, 0, offsetof(struct insn, refs));
    in->kind = INSN_REQUEST;
    in->pc = pc;
    in->len = INSN_BYTES_MAX;
    in->target = pc + INSN_BYTES_MAX;
    memcpy(in->bytes, request_code, INSN_BYTES_MAX);
    in->feature = CPU_NONE;
    in->ireg = REG_NONE;
    in->sum.to = REG_NONE;
    in->regs_known = true; // the dispatcher gets all of them
    return in->len;
}

int decode_insn(struct insn *in, u64 pc, const u8 *code, u32 avail, bool want_refs)
{
    ZydisDecoderContext ctx;
    ZydisDecodedInstruction zi;
    ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
    ZyanStatus st;

    if (requests && avail >= INSN_BYTES_MAX && memcmp(code, request_code, INSN_BYTES_MAX) == 0)
        return request(in, pc);
    st = ZydisDecoderDecodeInstruction(&decoder, &ctx, code, avail > 15 ? 15 : avail, &zi);
    if (ZYAN_FAILED(st))
        return st == ZYDIS_STATUS_NO_MORE_DATA && avail < 15 ? -1 : 0;

    memset(in, 0, offsetof(struct insn, refs));
    in->pc = pc;
    in->len = zi.length;
    memcpy(in->bytes, code, zi.length);
    in->mnemonic = (u16)zi.mnemonic;
    in->feature = isa_feature(&zi);
    in->ireg = REG_NONE;
    read_form(in, &zi);
    read_flags(in, &zi);
    classify(in, &zi);

    if (want_refs || (in->flags & (INSN_F_SEG_GS | INSN_F_RIPREL | INSN_F_XSTATE)) ||
        names_register(in)) {
        if (ZYAN_FAILED(ZydisDecoderDecodeOperands(&decoder, &ctx, &zi, ops, zi.operand_count)))
            return 0;
        operands_collect(in, &zi, ops);
        if (names_register(in)) {
            in->ireg = operands_gpr(ops[0].reg.value);
            in->str_size = (u8)(zi.operand_width / 8);
        }
        if ((in->flags & INSN_F_SEG_GS) && needs_sib(in, &zi))
            in->kind = INSN_STEP;
    } else if ((in->flags & INSN_F_MEM) && !(in->flags & INSN_F_LEA)) {
        in->flags |= INSN_F_STORE; // unknown without the operands: assumed
    }
    if (stores_unseen(&zi))
        in->flags |= INSN_F_STORE;
    // EVEX gathers and scatters without refs keep F_DYN clear: it only matters to the cache
    // simulation
    return in->len;
}
