// SPDX-License-Identifier: MIT
// One client instruction, as decode.h gives it to translate/.
#ifndef QUERN_ENGINE_INSN_H
#define QUERN_ENGINE_INSN_H

#include "engine/base/types.h"
#include "engine/x86/regs.h"

enum insn_kind {
    INSN_PLAIN = 0, // copied, perhaps with its memory operand relocated
    INSN_JMP,       // direct jump
    INSN_JCC,       // conditional jump, rel8 or rel32
    INSN_LOOP,      // jrcxz jecxz loop loope loopne: rel8 only
    INSN_CALL,      // direct call
    INSN_JMP_IND,   // jump through register or memory
    INSN_CALL_IND,
    INSN_RET,     // near return, imm16 in `imm`
    INSN_SYSCALL, // the 64-bit system call instruction
    INSN_STRING,  // movs stos lods cmps scas, with or without rep
    INSN_STEP,    // executed by single-stepping the client's own bytes
    INSN_RDGS,    // rdgsbase: virtual
    INSN_XBEGIN,  // always aborts at once
    INSN_REQUEST, // a client request of valgrind.h: 19 bytes that count as one instruction
};

enum insn_flag {
    INSN_F_MEM = 1u << 0,    // has a modrm memory operand
    INSN_F_RIPREL = 1u << 1, // it is RIP-relative
    INSN_F_STORE = 1u << 2,  // writes memory, implicitly or explicitly
    INSN_F_REP = 1u << 3,    // string instruction with an effective rep prefix
    INSN_F_DYN = 1u << 4,    // references known only at run time (masked moves, gathers, rep)
    INSN_F_LEA = 1u << 5,    // lea: address arithmetic only
    INSN_F_A32 = 1u << 6,    // 32-bit addressing
    INSN_F_SEG_FS = 1u << 7, // memory operand relative to %fs
    INSN_F_SEG_GS = 1u << 8, // relative to the client's %gs
    INSN_F_LOCKED = 1u << 9, // an atomic read-modify-write, but no compare-and-exchange
    INSN_F_MOFFS = 1u << 10, // mov with a 64-bit absolute address
    INSN_F_REPNE = 1u << 11,
    INSN_F_XSTATE = 1u << 12,  // xsave or xrstor: edx:eax select the components
    INSN_F_BUS = 1u << 14,     // atomic in any way
    INSN_F_SETS_SP = 1u << 13, // to a value not derived from rsp or rbp (known with want_refs only)
};

enum memref_flag {
    MEMREF_READ = 1u << 0,
    MEMREF_WRITE = 1u << 1, // a read-modify-write has both and counts as a read
    MEMREF_A32 = 1u << 2,
    MEMREF_FS = 1u << 3,
    MEMREF_GS = 1u << 4,
    MEMREF_BITOFF = 1u << 5, // bt family with a register bit offset: `bitreg` moves the address
    MEMREF_XLAT = 1u << 6,   // index is al
};

// One data reference in terms of client registers as they are before the instruction.
struct memref {
    u8 base, index;    // hardware numbers, REG_NONE, or REG_RIP (disp is then the absolute address)
    u8 scale;          // 1, 2, 4, 8; 0 without an index
    u8 bitreg, bitlog; // for MEMREF_BITOFF: register, log2 of operand bits
    u8 flags;          // enum memref_flag
    u16 size;
    s64 disp;
};

#define INSN_REFS_MAX  3
#define INSN_BYTES_MAX 19 // of a client request; any other has at most 15

// What a general register of 64 bits gets, as far as pointers are followed.
enum insn_brings {
    INSN_BRINGS_OTHER,
    INSN_BRINGS_LOAD,   // 8 bytes of memory
    INSN_BRINGS_CHOICE, // those, or another register, or what it had
};

// A register that becomes the sum of a register (another, itself, or REG_NONE: none) and a
// constant.
struct sum {
    u8 to, from; // to: REG_NONE when there is none
    s64 add;
};

enum str_op { STR_MOVS, STR_STOS, STR_LODS, STR_CMPS, STR_SCAS };

enum vec_kind {
    VEC_NONE = 0,
    VEC_MASKMOV, // vmaskmov/vpmaskmov: mask in a vector register
    VEC_GATHER,  // AVX2: mask in a vector register
    VEC_KGATHER, // AVX-512 gather or scatter: mask in a k register
    VEC_TILE,    // AMX: an element is a row, the index its distance from the next
};

#define TILE_ROWS 16 // at most: palette 1 in CPUID leaf 0x1d

enum insn_encoding { INSN_LEGACY, INSN_VEX, INSN_EVEX, INSN_XOP };

struct insn {
    u64 pc;
    u64 target; // of direct branches
    u8 bytes[INSN_BYTES_MAX];
    u8 len;
    u8 kind; // enum insn_kind
    u16 flags;
    u8 cond; // JCC: condition code (opcode low nibble)
    u8 nrefs;
    u8 disp_off, disp_size; // of the modrm memory operand
    u8 modrm_off;
    u8 prefix_len; // legacy prefixes and REX together: offset of the opcode (or VEX/EVEX byte)
    u8 encoding;   // enum insn_encoding
    u16 imm;       // RET
    u8 str_op;     // INSN_STRING: enum str_op
    u8 str_size;   // element size; of the register where ireg is written
    u16 flags_read, flags_kill; // arithmetic flags (FLAG_*): read; always written
    bool flags_touch;           // reads or may change any of them
    bool regs_known;            // `regs` is filled in
    u32 regs;       // general registers read or written, a bit each (only with want_refs)
    u32 written;    // those that it may change
    struct sum sum; // the new value of one of them
    u8 brings;      // enum insn_brings: of the register that it writes (only with want_refs)
    // number of the register of INSN_JMP_IND/CALL_IND, or that rdgsbase, rdpid, rdrand, rdseed
    // write; else REG_NONE
    u32 ireg;
    u16 mnemonic;
    u8 feature; // enum cpu_feature of share/cpu.h that it needs
    // Gather/scatter and masked moves: registers whose contents give the addresses. The ZMM number
    // of the index register; the mask register (vector or k), or the number of the tile
    u8 vec_index, vec_mask;
    u8 vec_kind;                        // enum vec_kind
    u8 vec_esize, vec_isize, vec_count; // element size, index size in bytes; elements
    struct memref refs[INSN_REFS_MAX];  // last: those from `nrefs` on are not written
};

#endif
