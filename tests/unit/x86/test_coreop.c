// SPDX-License-Identifier: MIT
// engine/x86/coreop.c: for each class of execution some instructions whose bytes are written out:
// class, registers read, written and of addresses, flags. By hand, from the manuals. And which
// compares fuse with which branches.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/x86/coreop.h"
#include "engine/x86/decode.h"

#define PC 0x401000ul

// Registers with spaces between. * : others may be there.
struct row {
    const char *code;
    u32 bytes;
    const char *text;
    enum core_class class;
    const char *sources, *results, *addresses;
    u32 flags;
};

#define LOCKED (CORE_F_LOAD | CORE_F_STORE | CORE_F_LOCKED)
#define ROW(code, text, class, sources, results, addresses, flags)                       \
    {                                                                                    \
        code, sizeof(code) - 1, text, CORE_C_##class, sources, results, addresses, flags \
    }

// clang-format off
static const struct row rows[] = {
    ROW("\x48\x01\xd8", "add rax, rbx",
        ALU, "rax rbx", "rax flags", "", 0),
    ROW("\x48\x03\x44\x8b\x08", "add rax, [rbx+rcx*4+8]",
        ALU, "rax", "rax flags", "rbx rcx", CORE_F_LOAD | CORE_F_SCALED),
    ROW("\x01\x43\x08", "add [rbx+8], eax",
        ALU, "rax", "flags", "rbx", CORE_F_LOAD | CORE_F_STORE),
    ROW("\x48\x83\x3e\x03", "cmp qword ptr [rsi], 3",
        ALU, "", "flags", "rsi", CORE_F_LOAD),
    ROW("\x48\x3b\x16", "cmp rdx, [rsi]",
        ALU, "rdx", "flags", "rsi", CORE_F_LOAD),
    ROW("\x85\xc9", "test ecx, ecx",
        ALU, "rcx", "flags", "", 0),
    ROW("\x49\xff\xc1", "inc r9",
        ALU, "r9", "r9 flags", "", CORE_F_CONSTANT),
    ROW("\xff\xc1", "inc ecx",
        ALU, "rcx", "rcx flags", "", 0),
    ROW("\x48\x81\xe9\xff\x03\x00\x00", "sub rcx, 1023",
        ALU, "rcx", "rcx flags", "", CORE_F_CONSTANT),
    ROW("\x48\x81\xc1\x00\x04\x00\x00", "add rcx, 1024",
        ALU, "rcx", "rcx flags", "", 0),
    ROW("\x83\xc1\x03", "add ecx, 3",
        ALU, "rcx", "rcx flags", "", 0),
    ROW("\x48\x83\xe1\x03", "and rcx, 3",
        ALU, "rcx", "rcx flags", "", 0),
    ROW("\x88\xd8", "mov al, bl",
        MOVE, "rbx rax", "rax", "", 0),
    ROW("\x66\x89\xd8", "mov ax, bx",
        MOVE, "rbx rax", "rax", "", 0),
    ROW("\x89\xd8", "mov eax, ebx",
        MOVE, "rbx", "rax", "", CORE_F_MOVE),
    ROW("\x48\x89\xd8", "mov rax, rbx",
        MOVE, "rbx", "rax", "", CORE_F_MOVE),
    ROW("\xb8\x05\x00\x00\x00", "mov eax, 5",
        ALU, "", "rax", "", 0),
    ROW("\x49\x8b\x04\x24", "mov rax, [r12]",
        NONE, "", "rax", "r12", CORE_F_LOAD),
    ROW("\x49\x89\x7d\x10", "mov [r13+16], rdi",
        NONE, "rdi", "", "r13", CORE_F_STORE),
    ROW("\x48\x8b\x05\x00\x01\x00\x00", "mov rax, [rip+0x100]",
        NONE, "", "rax", "", CORE_F_LOAD),
    ROW("\x48\x8b\x04\x0b", "mov rax, [rbx+rcx]",
        NONE, "", "rax", "rbx rcx", CORE_F_LOAD),
    ROW("\x48\x8b\x44\x0b\x08", "mov rax, [rbx+rcx+8]",
        NONE, "", "rax", "rbx rcx", CORE_F_LOAD | CORE_F_SCALED),
    ROW("\x48\x8b\x04\x4b", "mov rax, [rbx+rcx*2]",
        NONE, "", "rax", "rbx rcx", CORE_F_LOAD | CORE_F_SCALED),
    ROW("\x48\x8b\x04\xcd\x00\x01\x00\x00", "mov rax, [rcx*8+0x100]",
        NONE, "", "rax", "rcx", CORE_F_LOAD | CORE_F_SCALED),
    ROW("\x48\x89\x04\xcb", "mov [rbx+rcx*8], rax",
        NONE, "rax", "", "rbx rcx", CORE_F_STORE),
    ROW("\x0f\xb6\x07", "movzx eax, byte ptr [rdi]",
        NONE, "", "rax", "rdi", CORE_F_LOAD),
    ROW("\x48\x0f\xbe\xc1", "movsx rax, cl",
        ALU, "rcx", "rax", "", 0),
    ROW("\x48\x63\x07", "movsxd rax, dword ptr [rdi]",
        NONE, "", "rax", "rdi", CORE_F_LOAD | CORE_F_SIGNED),
    ROW("\x31\xc0", "xor eax, eax",
        ALU, "", "rax flags", "", CORE_F_ZERO),
    ROW("\x66\x31\xc0", "xor ax, ax",
        ALU, "rax", "rax flags", "", 0),
    ROW("\x31\xc8", "xor eax, ecx",
        ALU, "rax rcx", "rax flags", "", 0),
    ROW("\x48\x29\xd2", "sub rdx, rdx",
        ALU, "", "rdx flags", "", CORE_F_ZERO),
    ROW("\x48\x19\xc0", "sbb rax, rax",
        CARRY, "rax flags", "rax flags", "", 0),
    ROW("\x48\x83\xd0\x01", "adc rax, 1",
        CARRY, "rax flags", "rax flags", "", 0),
    ROW("\x0f\x94\xc0", "setz al",
        CARRY, "rax flags", "rax", "", 0),
    ROW("\x0f\x96\xc0", "setbe al",
        CARRY2, "rax flags", "rax", "", 0),
    ROW("\x48\x0f\x44\xc3", "cmovz rax, rbx",
        CARRY, "rax rbx flags", "rax", "", 0),
    ROW("\x48\x0f\x47\x03", "cmova rax, [rbx]",
        CARRY2, "rax flags", "rax", "rbx", CORE_F_LOAD),
    ROW("\x48\x8d\x43\xf8", "lea rax, [rbx-8]",
        LEA, "rbx", "rax", "", CORE_F_CONSTANT),
    ROW("\x8d\x43\xf8", "lea eax, [rbx-8]",
        LEA, "rbx", "rax", "", 0),
    ROW("\x48\x8d\x04\x4b", "lea rax, [rbx+rcx*2]",
        LEA, "rbx rcx", "rax", "", 0),
    ROW("\x48\x8d\x44\x4b\x08", "lea rax, [rbx+rcx*2+8]",
        LEA3, "rbx rcx", "rax", "", 0),
    ROW("\x48\x8d\x05\x08\x00\x00\x00", "lea rax, [rip+8]",
        LEA, "", "rax", "", 0),
    ROW("\x48\xc1\xe0\x03", "shl rax, 3",
        SHIFT, "rax", "rax flags", "", 0),
    ROW("\x48\xd3\xe0", "shl rax, cl",
        SHIFT_CL, "rax rcx", "rax flags", "", 0),
    ROW("\xc4\xe2\xf1\xf7\xc3", "shlx rax, rbx, rcx",
        SHIFT, "rbx rcx", "rax", "", 0),
    ROW("\x48\xd1\xd0", "rcl rax, 1",
        ROTATE_CARRY, "rax flags", "rax flags", "", 0),
    ROW("\x48\x0f\xa4\xd8\x04", "shld rax, rbx, 4",
        SHIFT_DOUBLE, "rax rbx", "rax flags", "", 0),
    ROW("\xf3\x48\x0f\xb8\xc3", "popcnt rax, rbx",
        BITS, "rbx", "rax flags", "", 0),
    ROW("\x0f\xc8", "bswap eax",
        BSWAP32, "rax", "rax", "", 0),
    ROW("\x48\x0f\xc8", "bswap rax",
        BSWAP64, "rax", "rax", "", 0),
    ROW("\x48\x93", "xchg rax, rbx",
        EXCHANGE, "rax rbx", "rax rbx", "", 0),
    ROW("\x48\x87\x1f", "xchg [rdi], rbx",
        EXCHANGE, "rbx", "rbx", "rdi", LOCKED),
    ROW("\xf0\x0f\xc1\x07", "lock xadd [rdi], eax",
        EXCHANGE, "rax", "rax flags", "rdi", LOCKED),
    ROW("\xf0\x0f\xb1\x0f", "lock cmpxchg [rdi], ecx",
        COMPARE_EXCHANGE, "rax rcx", "rax flags", "rdi", LOCKED),
    ROW("\x48\x0f\xaf\xc3", "imul rax, rbx",
        MUL, "rax rbx", "rax flags", "", 0),
    ROW("\x48\x6b\xc3\x07", "imul rax, rbx, 7",
        MUL, "rbx", "rax flags", "", 0),
    ROW("\x48\xf7\xeb", "imul rbx",
        MUL_WIDE, "rax rbx", "rax rdx flags", "", 0),
    ROW("\x48\xf7\x26", "mul qword ptr [rsi]",
        MUL_WIDE, "rax", "rax rdx flags", "rsi", CORE_F_LOAD),
    ROW("\xc4\xe2\xe3\xf6\xc1", "mulx rax, rbx, rcx",
        MUL_WIDE, "rdx rcx", "rax rbx", "", 0),
    ROW("\xf7\xf1", "div ecx",
        DIV32, "rax rcx rdx", "rax rdx flags", "", 0),
    ROW("\x48\xf7\xf9", "idiv rcx",
        DIV64, "rax rcx rdx", "rax rdx flags", "", 0),
    ROW("\x53", "push rbx",
        NONE, "rbx", "", "", CORE_F_STORE),
    ROW("\x5b", "pop rbx",
        NONE, "", "rbx", "", CORE_F_LOAD),
    ROW("\xff\x37", "push qword ptr [rdi]",
        NONE, "", "", "rdi", CORE_F_LOAD | CORE_F_STORE),
    ROW("\xc9", "leave",
        ALU, "rbp *", "rbp rsp", "*", CORE_F_LOAD),
    ROW("\xe8\xfb\x00\x00\x00", "call 0x100",
        JUMP, "", "", "", CORE_F_STORE | CORE_F_BRANCH),
    ROW("\xff\xd0", "call rax",
        JUMP, "rax", "", "", CORE_F_STORE | CORE_F_BRANCH | CORE_F_INDIRECT),
    ROW("\xc3", "ret",
        JUMP, "", "", "", CORE_F_LOAD | CORE_F_BRANCH | CORE_F_RETURN),
    ROW("\xe9\xfb\x00\x00\x00", "jmp 0x100",
        JUMP, "", "", "", CORE_F_BRANCH),
    ROW("\xff\x24\xcb", "jmp [rbx+rcx*8]",
        JUMP, "", "", "rbx rcx", CORE_F_LOAD | CORE_F_BRANCH | CORE_F_INDIRECT | CORE_F_SCALED),
    ROW("\x0f\x84\xfa\x00\x00\x00", "jz 0x100",
        BRANCH, "flags", "", "", CORE_F_BRANCH | CORE_F_COND),
    ROW("\xe3\x3e", "jrcxz 0x40",
        BRANCH, "rcx", "", "", CORE_F_BRANCH | CORE_F_COND),
    ROW("\x90", "nop",
        NONE, "", "", "", 0),
    ROW("\x66\x0f\x1f\x04\x00", "nop word ptr [rax+rax]",
        NONE, "", "", "", 0),
    ROW("\xf3\x0f\x1e\xfa", "endbr64",
        NONE, "", "", "", 0),
    ROW("\x0f\x18\x0f", "prefetcht0 [rdi]",
        NONE, "", "", "", 0),
    ROW("\x0f\xae\xe8", "lfence",
        SERIALIZE, "", "", "", CORE_F_SERIAL),
    ROW("\x0f\x05", "syscall",
        SYSCALL, "*", "*", "", CORE_F_SERIAL),
    ROW("\x0f\xa2", "cpuid",
        SERIALIZE, "rax rcx", "rax rbx rcx rdx", "", CORE_F_SERIAL),
    ROW("\x48\xa5", "movsq",
        STRING, "rsi rdi *", "rsi rdi", "rsi rdi", CORE_F_LOAD | CORE_F_STORE),
    ROW("\xf3\xaa", "rep stosb",
        STRING, "rax rcx *", "rdi rcx", "rdi", CORE_F_STORE),
    ROW("\xf3\x90", "pause",
        SLOW, "", "", "", 0),
    ROW("\x0f\x28\xca", "movaps xmm1, xmm2",
        VMOVE, "xmm2", "xmm1", "", CORE_F_MOVE),
    ROW("\xc5\xfd\x6f\xca", "vmovdqa ymm1, ymm2",
        VMOVE, "xmm2", "xmm1", "", CORE_F_MOVE | CORE_F_256),
    ROW("\x62\xf1\x7d\x49\x6f\xca", "vmovdqa32 zmm1{k1}, zmm2",
        VMOVE, "xmm1 xmm2 k1", "xmm1", "", CORE_F_512),
    ROW("\x0f\x10\x1f", "movups xmm3, [rdi]",
        NONE, "", "xmm3", "rdi", CORE_F_LOAD),
    ROW("\x0f\x29\x1f", "movaps [rdi], xmm3",
        NONE, "xmm3", "", "rdi", CORE_F_STORE | CORE_F_VECTOR),
    ROW("\xf2\x0f\x10\x0f", "movsd xmm1, [rdi]",
        NONE, "", "xmm1", "rdi", CORE_F_LOAD),
    ROW("\xf2\x0f\x10\xca", "movsd xmm1, xmm2",
        VALU, "xmm1 xmm2", "xmm1", "", 0),
    ROW("\x66\x48\x0f\x6e\xc8", "movq xmm1, rax",
        TO_VECTOR, "rax", "xmm1", "", 0),
    ROW("\x66\x0f\x7e\xc8", "movd eax, xmm1",
        FROM_VECTOR, "xmm1", "rax", "", 0),
    ROW("\x66\x0f\xd7\xc1", "pmovmskb eax, xmm1",
        FROM_VECTOR, "xmm1", "rax", "", 0),
    ROW("\x0f\x16\x0f", "movhps xmm1, [rdi]",
        SHUFFLE, "xmm1", "xmm1", "rdi", CORE_F_LOAD),
    ROW("\x0f\x17\x0f", "movhps [rdi], xmm1",
        NONE, "xmm1", "", "rdi", CORE_F_STORE | CORE_F_VECTOR),
    ROW("\x66\x0f\xef\xc9", "pxor xmm1, xmm1",
        VALU, "", "xmm1", "", CORE_F_ZERO),
    ROW("\xc5\xe9\xef\xca", "vpxor xmm1, xmm2, xmm2",
        VALU, "", "xmm1", "", CORE_F_ZERO),
    ROW("\xc5\xe9\xef\xd1", "vpxor xmm2, xmm2, xmm1",
        VALU, "xmm1 xmm2", "xmm2", "", 0),
    ROW("\xc5\xf4\x57\xc9", "vxorps ymm1, ymm1, ymm1",
        VALU, "", "xmm1", "", CORE_F_ZERO | CORE_F_256),
    ROW("\x66\x0f\x76\xc9", "pcmpeqd xmm1, xmm1",
        VALU, "", "xmm1", "", 0),
    ROW("\x66\x0f\x76\xca", "pcmpeqd xmm1, xmm2",
        VALU, "xmm1 xmm2", "xmm1", "", 0),
    ROW("\x62\xf1\x75\x48\x74\xca", "vpcmpeqb k1, zmm1, zmm2",
        VCOMPARE_K, "xmm1 xmm2", "k1", "", CORE_F_512),
    ROW("\xc5\xf9\x98\xca", "kortestb k1, k2",
        MASK, "k1 k2", "flags", "", 0),
    ROW("\xc5\xfb\x93\xc1", "kmovd eax, k1",
        FROM_VECTOR, "k1", "rax", "", 0),
    ROW("\xc4\xe3\x79\x32\xca\x01", "kshiftlb k1, k2, 1",
        MASK_SHIFT, "k2", "k1", "", 0),
    ROW("\xf2\x0f\x58\xca", "addsd xmm1, xmm2",
        FADD, "xmm1 xmm2", "xmm1", "", 0),
    ROW("\xc5\xec\x58\x0f", "vaddps ymm1, ymm2, [rdi]",
        FADD, "xmm2", "xmm1", "rdi", CORE_F_LOAD | CORE_F_256),
    ROW("\xf2\x0f\x59\xca", "mulsd xmm1, xmm2",
        FMUL, "xmm1 xmm2", "xmm1", "", 0),
    ROW("\x62\xf2\xed\x48\xb8\xcb", "vfmadd231pd zmm1, zmm2, zmm3",
        FMA, "xmm1 xmm2 xmm3", "xmm1", "", CORE_F_512),
    ROW("\xf3\x0f\x5e\xca", "divss xmm1, xmm2",
        FDIV32, "xmm1 xmm2", "xmm1", "", 0),
    ROW("\xc5\xed\x5e\xcb", "vdivpd ymm1, ymm2, ymm3",
        FDIV64, "xmm2 xmm3", "xmm1", "", CORE_F_256),
    ROW("\xf2\x0f\x51\xca", "sqrtsd xmm1, xmm2",
        FSQRT64, "xmm1 xmm2", "xmm1", "", 0),
    ROW("\xc5\xeb\x51\xcb", "vsqrtsd xmm1, xmm2, xmm3",
        FSQRT64, "xmm2 xmm3", "xmm1", "", 0),
    ROW("\x0f\x5f\xca", "maxps xmm1, xmm2",
        FCOMPARE, "xmm1 xmm2", "xmm1", "", 0),
    ROW("\x66\x0f\x2e\xca", "ucomisd xmm1, xmm2",
        FCOMPARE_FLAGS, "xmm1 xmm2", "flags", "", 0),
    ROW("\xf2\x48\x0f\x2a\xc8", "cvtsi2sd xmm1, rax",
        CONVERT_FROM, "xmm1 rax", "xmm1", "", 0),
    ROW("\xf2\x48\x0f\x2c\xc1", "cvttsd2si rax, xmm1",
        CONVERT_TO, "xmm1", "rax", "", 0),
    ROW("\x0f\x5b\xca", "cvtdq2ps xmm1, xmm2",
        CONVERT, "xmm2", "xmm1", "", 0),
    ROW("\x0f\x5a\xca", "cvtps2pd xmm1, xmm2",
        CONVERT_SIZE, "xmm2", "xmm1", "", 0),
    ROW("\x66\x0f\x3a\x0b\xca\x01", "roundsd xmm1, xmm2, 1",
        FROUND, "xmm1 xmm2", "xmm1", "", 0),
    ROW("\x66\x0f\xfe\xca", "paddd xmm1, xmm2",
        VALU, "xmm1 xmm2", "xmm1", "", 0),
    ROW("\x66\x0f\x38\x40\xca", "pmulld xmm1, xmm2",
        VMUL32, "xmm1 xmm2", "xmm1", "", 0),
    ROW("\x66\x0f\xf5\xca", "pmaddwd xmm1, xmm2",
        VMUL, "xmm1 xmm2", "xmm1", "", 0),
    ROW("\x66\x0f\xf6\xca", "psadbw xmm1, xmm2",
        VSAD, "xmm1 xmm2", "xmm1", "", 0),
    ROW("\x66\x0f\x73\xf1\x03", "psllq xmm1, 3",
        VSHIFT, "xmm1", "xmm1", "", 0),
    ROW("\x66\x0f\xf3\xca", "psllq xmm1, xmm2",
        VSHIFT_X, "xmm1 xmm2", "xmm1", "", 0),
    ROW("\xc4\xe2\x6d\x47\xcb", "vpsllvd ymm1, ymm2, ymm3",
        VSHIFT, "xmm2 xmm3", "xmm1", "", CORE_F_256),
    ROW("\x66\x0f\x73\xf9\x04", "pslldq xmm1, 4",
        SHUFFLE, "xmm1", "xmm1", "", 0),
    ROW("\x66\x0f\x70\xca\x00", "pshufd xmm1, xmm2, 0",
        SHUFFLE, "xmm2", "xmm1", "", 0),
    ROW("\xc4\xe3\xfd\x00\xca\x00", "vpermq ymm1, ymm2, 0",
        SHUFFLE_LANES, "xmm2", "xmm1", "", CORE_F_256),
    ROW("\xc4\xe3\x7d\x39\xd1\x01", "vextracti128 xmm1, ymm2, 1",
        SHUFFLE_LANES, "xmm2", "xmm1", "", CORE_F_256),
    ROW("\xc4\xe3\x7d\x39\x17\x01", "vextracti128 [rdi], ymm2, 1",
        NONE, "xmm2", "", "rdi", CORE_F_STORE | CORE_F_256 | CORE_F_VECTOR),
    ROW("\xc4\xe2\x7d\x18\x0f", "vbroadcastss ymm1, [rdi]",
        NONE, "", "xmm1", "rdi", CORE_F_LOAD | CORE_F_256),
    ROW("\xc4\xe2\x7d\x58\xca", "vpbroadcastd ymm1, xmm2",
        SHUFFLE_LANES, "xmm2", "xmm1", "", CORE_F_256),
    ROW("\x66\x0f\x38\x30\xca", "pmovzxbw xmm1, xmm2",
        SHUFFLE, "xmm2", "xmm1", "", 0),
    ROW("\xc4\xe2\x7d\x30\xca", "vpmovzxbw ymm1, xmm2",
        SHUFFLE_LANES, "xmm2", "xmm1", "", CORE_F_256),
    ROW("\x66\x0f\x3a\x16\xc8\x01", "pextrd eax, xmm1, 1",
        EXTRACT, "xmm1", "rax", "", 0),
    ROW("\x66\x0f\x3a\x22\xc8\x01", "pinsrd xmm1, eax, 1",
        INSERT, "rax xmm1", "xmm1", "", 0),
    ROW("\x66\x0f\x3a\x22\x0f\x01", "pinsrd xmm1, [rdi], 1",
        SHUFFLE, "xmm1", "xmm1", "rdi", CORE_F_LOAD),
    ROW("\x66\x0f\x38\x17\xca", "ptest xmm1, xmm2",
        VTEST, "xmm1 xmm2", "flags", "", 0),
    ROW("\x66\x0f\x38\x10\xca", "pblendvb xmm1, xmm2",
        VBLEND, "xmm0 xmm1 xmm2", "xmm1", "", 0),
    ROW("\x66\x0f\x38\xdc\xca", "aesenc xmm1, xmm2",
        AES, "xmm1 xmm2", "xmm1", "", 0),
    ROW("\x66\x0f\x3a\x44\xca\x00", "pclmulqdq xmm1, xmm2, 0",
        CLMUL, "xmm1 xmm2", "xmm1", "", 0),
    ROW("\x66\x0f\x38\x02\xca", "phaddd xmm1, xmm2",
        VHADD, "xmm1 xmm2", "xmm1", "", 0),
    ROW("\xf2\x0f\x7c\xca", "haddps xmm1, xmm2",
        FHADD, "xmm1 xmm2", "xmm1", "", 0),
    ROW("\xc4\xe2\x61\x92\x0c\x97", "vgatherdps xmm1, [rdi+xmm2*4], xmm3",
        GATHER, "xmm1 xmm3", "xmm1 xmm3", "rdi xmm2", CORE_F_LOAD | CORE_F_SCALED),
    ROW("\xc5\xf8\x77", "vzeroupper",
        NONE, "", "", "", 0),
    ROW("\xd8\xc1", "fadd st, st(1)",
        X87_ADD, "st", "st *", "", 0),
    ROW("\xde\xc9", "fmulp st(1), st",
        X87_MUL, "st", "st *", "", 0),
    ROW("\xdc\x3f", "fdivr qword ptr [rdi]",
        X87_DIV, "st", "st *", "rdi", CORE_F_LOAD),
    ROW("\xdd\x07", "fld qword ptr [rdi]",
        NONE, "*", "st *", "rdi", CORE_F_LOAD),
    ROW("\xdd\x1f", "fstp qword ptr [rdi]",
        NONE, "st", "*", "rdi", CORE_F_STORE | CORE_F_VECTOR),
    ROW("\xd9\xc1", "fld st(1)",
        VMOVE, "st", "st *", "", 0),
    ROW("\xd9\xfe", "fsin",
        X87_SLOW, "st", "st *", "", 0),
};
// clang-format on

static struct insn in;
static struct core_op op;
static enum core_fusing fusing;
static int wrong; // rows with an error that has been printed

static void decode(const char *code, u32 n)
{
    u8 bytes[15];

    memset(bytes, 0x90, sizeof(bytes));
    memcpy(bytes, code, n);
    assert_int_equal(decode_insn(&in, PC, bytes, sizeof(bytes), true), n);
    coreop_make(&op, &in, fusing);
    assert_int_equal(op.bytes, n);
}

// clang-format off
static const char *const names[] = {
    "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
    "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "flags",
};
// clang-format on

static u32 number_of(const char *word, size_t n)
{
    for (u32 i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strlen(names[i]) == n && memcmp(names[i], word, n) == 0)
            return i;
    if (n == 2 && memcmp(word, "st", 2) == 0)
        return CORE_X87;
    if (n == 2 && word[0] == 'k')
        return CORE_MASKS + (u32)(word[1] - '0');
    assert_true(n == 4 && memcmp(word, "xmm", 3) == 0);
    return CORE_VECTOR + (u32)(word[3] - '0');
}

// The list has the registers of the text, each once, and no others unless it says so.
static void is_list(const struct row *r, const char *what, const u8 *list, u32 n, const char *text)
{
    u32 found = 0;
    bool others = strchr(text, '*') != NULL;

    for (const char *s = text; *s; s += strspn(s, " ")) {
        size_t word = strcspn(s, " ");
        u32 times = 0;

        for (u32 i = 0; *s != '*' && i < n; i++)
            times += list[i] == number_of(s, word);
        if (*s != '*' && times != 1)
            wrong++,
                print_error("%s: %s: %.*s is there %u times\n", r->text, what, (int)word, s, times);
        found += times;
        s += word;
    }
    if (found != n && !others)
        wrong++, print_error("%s: %u %s, not %u\n", r->text, n, what, found);
}

// A load of an instruction with registers that are not general ones, by its text.
static u32 vector_flag(const struct row *r)
{
    bool others = strstr(r->text, "mm") || strstr(r->text, "k1") || r->text[0] == 'f';

    return others && (r->flags & CORE_F_LOAD) ? CORE_F_VECTOR : 0u;
}

static void test_rows(void **state)
{
    (void)state;
    for (u32 i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct row *r = &rows[i];
        u32 flags = r->flags | vector_flag(r);

        decode(r->code, r->bytes);
        if (op.class != r->class)
            wrong++, print_error("%s: class %u, not %u\n", r->text, op.class, r->class);
        if (op.flags != flags)
            wrong++, print_error("%s: flags 0x%x, not 0x%x\n", r->text, op.flags, flags);
        is_list(r, "sources", op.source, op.sources, r->sources);
        is_list(r, "results", op.result, op.results, r->results);
        is_list(r, "addresses", op.address, op.addresses, r->addresses);
    }
    assert_int_equal(wrong, 0);
}

// Base, index and constant of a memory operand.
static void test_places(void **state)
{
    (void)state;
    decode("\x48\x8b\x44\x24\x08", 5); // mov rax, [rsp + 8]
    assert_int_equal(op.place, 4 + 1);
    assert_int_equal(op.offset, 8);
    decode("\x48\x89\x47\xf0", 4); // mov [rdi - 16], rax
    assert_int_equal(op.place, 7 + 1);
    assert_int_equal(op.offset, -16);
    decode("\x48\x8b\x05\x00\x01\x00\x00", 7); // mov rax, [rip + 0x100]
    assert_int_equal(op.place, 16 + 1);
    assert_int_equal(op.offset, PC + 7 + 0x100);
    assert_int_equal(op.index, 0);
    decode("\x48\x8b\x44\x8f\x08", 5); // mov rax, [rdi + rcx * 4 + 8]
    assert_int_equal(op.place, 7 + 1);
    assert_int_equal(op.index, 1 + 1 + 2 * 32);
    assert_int_equal(op.offset, 8);
    decode("\x4a\x8b\x04\xfd\x10\x00\x00\x00", 8); // mov rax, [r15 * 8 + 16]: no base
    assert_int_equal(op.place, 16 + 2);
    assert_int_equal(op.index, 15 + 1 + 3 * 32);
    assert_int_equal(op.offset, 16);
    decode("\xc4\xe2\x69\x90\x04\x8f", 6); // vpgatherdd xmm0, [rdi + xmm1 * 4], xmm2
    assert_int_equal(op.place, 0);
    decode("\x64\x48\x8b\x47\x08", 5); // mov rax, fs:[rdi + 8]
    assert_int_equal(op.place, 0);
    decode("\x53", 1); // push rbx: where pop finds it
    assert_int_equal(op.place, 4 + 1);
    assert_int_equal(op.offset, 0);
    decode("\xff\x77\x08", 3); // push [rdi + 8]: two places
    assert_int_equal(op.place, 0);
}

// With branches of which conditions it fuses, a bit for each: o no b nb z nz be nbe s ns p np l nl
// le nle.
static void fuses(const char *code, u32 n, enum core_fusing by, u32 conditions)
{
    fusing = by;
    decode(code, n);
    fusing = CORE_FUSE_NONE;
    assert_int_equal(op.fuses, conditions);
}

// Intel 64 and IA-32 Architectures Optimization Reference Manual, "Macro-fusion".
static void test_fusing(void **state)
{
    const u32 order = 0xf030, carry = 0x00cc; // z nz l nl le nle; b nb be nbe

    (void)state;
    fuses("\x48\x85\xc0", 3, CORE_FUSE_ARITHMETIC, 0xffff);        // test rax, rax
    fuses("\x48\x21\xd8", 3, CORE_FUSE_ARITHMETIC, 0xffff);        // and rax, rbx
    fuses("\x48\x39\xd8", 3, CORE_FUSE_ARITHMETIC, order | carry); // cmp rax, rbx
    fuses("\x48\x01\xd8", 3, CORE_FUSE_ARITHMETIC, order | carry); // add rax, rbx
    fuses("\x48\x29\xd8", 3, CORE_FUSE_ARITHMETIC, order | carry); // sub rax, rbx
    fuses("\x48\xff\xc0", 3, CORE_FUSE_ARITHMETIC, order);         // inc rax
    fuses("\x48\xff\xc8", 3, CORE_FUSE_ARITHMETIC, order);         // dec rax
    fuses("\x48\x01\x03", 3, CORE_FUSE_ARITHMETIC, 0);             // add [rbx], rax
    fuses("\x48\x83\x3e\x03", 4, CORE_FUSE_ARITHMETIC, 0);         // cmp qword ptr [rsi], 3
    fuses("\x48\x39\x06", 3, CORE_FUSE_ARITHMETIC, order | carry); // cmp [rsi], rax
    fuses("\x48\x09\xd8", 3, CORE_FUSE_ARITHMETIC, 0);             // or rax, rbx
    fuses("\x48\x39\xd8", 3, CORE_FUSE_COMPARE, 0xffff);           // cmp rax, rbx
    fuses("\x48\x01\xd8", 3, CORE_FUSE_COMPARE, 0);                // add rax, rbx
    fuses("\x48\x85\xc0", 3, CORE_FUSE_NONE, 0);                   // test rax, rax
}

// Displacements and immediate operands: one of eight bytes takes two places.
static void test_constants(void **state)
{
    (void)state;
    decode("\x48\x01\xc8", 3); // add rax, rcx
    assert_int_equal(op.constants, 0);
    decode("\x48\xd1\xe0", 3); // shl rax, 1
    assert_int_equal(op.constants, 0);
    decode("\x48\x83\xc0\x01", 4); // add rax, 1
    assert_int_equal(op.constants, 1);
    decode("\x8b\x87\x2c\x01\x00\x00", 6); // mov eax, [rdi + 300]
    assert_int_equal(op.constants, 1);
    decode("\x80\x7f\x08\x01", 4); // cmp byte ptr [rdi + 8], 1
    assert_int_equal(op.constants, 2);
    decode("\x75\xfe", 2); // jne
    assert_int_equal(op.constants, 1);
    decode("\x48\xb8\x08\x07\x06\x05\x04\x03\x02\x01", 10); // mov rax, 0x102030405060708
    assert_int_equal(op.constants, 2);
}

static void test_repeats(void **state)
{
    (void)state;
    decode("\xf3\x48\xa5", 3); // rep movsq
    assert_true(op.repeats);
    decode("\xf2\xae", 2); // repne scasb
    assert_true(op.repeats);
    decode("\x48\xa5", 2); // movsq
    assert_false(op.repeats);
    decode("\xf3\x90", 2); // pause
    assert_false(op.repeats);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),    cmocka_unit_test(test_places),
        cmocka_unit_test(test_fusing),  cmocka_unit_test(test_constants),
        cmocka_unit_test(test_repeats),
    };

    decode_init(false);
    coreop_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
