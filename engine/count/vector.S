// SPDX-License-Identifier: MIT
// Sets of caches searched by AVX-512 (vector.h). Leaves nothing of the client's: the caller has
// saved the registers.
#include "engine/count/vector.h"

    .intel_syntax noprefix
    .bss
    .balign 8
    .globl vector_sets, vector_ways, vector_eight
vector_sets:
    .zero VS_SIZE

    .section .rodata.vector, "a"
    .balign 64
vector_ways:
    .quad 0, 1, 2, 3, 4, 5, 6, 7
vector_eight:
    .quad 8

// Row w: the ways, but for w; the last one: all 16.
    .globl vector_others, vector_not_a_program
    .balign 64
vector_others:
    .set row, 0
    .rept 17
    .set way, 0
    .rept 16
    .if way == row
    .quad -1
    .else
    .quad way
    .endif
    .set way, way + 1
    .endr
    .set row, row + 1
    .endr
// Of four addresses with what stands behind each, the bits that no address of a program has.
vector_not_a_program:
    .rept 4
    .quad 0xffff800000000000, 0
    .endr

    .text

// The mask of edx ways, to r9d and k1.
    .macro WAYS_MASK
    mov r9d, -1
    bzhi r9d, r9d, edx
    kmovd k1, r9d
    .endm

// The way of the least stamp from rsi on, to rax. Stamps have their low five bits clear.
    .macro LEAST
    kmovd k1, r9d
    vpternlogd zmm1, zmm1, zmm1, 0xff
    vmovdqa64 zmm3, zmmword ptr [rip + vector_ways]
    xor eax, eax
66: vporq zmm2, zmm3, zmmword ptr [rsi + rax * 8]
    vpminuq zmm1 {k1}, zmm1, zmm2
    vpaddq zmm3, zmm3, qword ptr [rip + vector_eight] {1to8}
    kshiftrd k1, k1, 8
    add eax, 8
    cmp eax, edx
    jb 66b
    vextracti64x4 ymm2, zmm1, 1
    vpminuq ymm1, ymm1, ymm2
    vextracti128 xmm2, ymm1, 1
    vpminuq xmm1, xmm1, xmm2
    vpshufd xmm2, xmm1, 0x4e
    vpminuq xmm1, xmm1, xmm2
    vmovq rax, xmm1
    and eax, 31
    .endm

// rdi: tags, rsi: stamps, edx: ways, rcx: tag, r8: now
    .macro TOUCH compare, store, bytes, step
    WAYS_MASK
    xor eax, eax
1:  \compare k2 {k1}, zmm0, zmmword ptr [rdi + rax * \bytes]
    kortestw k2, k2
    jnz 2f
    kshiftrd k1, k1, \step
    add eax, \step
    cmp eax, edx
    jb 1b
    LEAST
    mov edx, [rdi + rax * \bytes] // r.old
    mov [rdi + rax * \bytes], \store
    mov [rsi + rax * 8], r8
    bts rax, 32
    ret
2:  kmovw r9d, k2
    tzcnt r9d, r9d
    add eax, r9d
    mov [rsi + rax * 8], r8
    ret
    .endm

    .globl vector_touch64, vector_touch32, vector_order, vector_save, vector_restore
    .type vector_touch64, @function
vector_touch64:
    vpbroadcastq zmm0, rcx
    TOUCH vpcmpeqq, rcx, 8, 8

    .type vector_touch32, @function
vector_touch32:
    vpbroadcastd zmm0, ecx
    TOUCH vpcmpeqd, ecx, 4, 16

    .type vector_order, @function
vector_order: // rdi: tags, the most recent first; edx: ways; esi: tag
    lea ecx, [rdx - 9]
    cmp ecx, 7
    jbe 3f
    WAYS_MASK
    mov ecx, r9d
    shr ecx, 16
    kmovd k2, ecx
    vpbroadcastd zmm3, esi
    vmovdqu32 zmm0 {k1}{z}, zmmword ptr [rdi]
    vmovdqu32 zmm1 {k2}{z}, zmmword ptr [rdi + 64]
    vpcmpeqd k3 {k1}, zmm0, zmm3
    vpcmpeqd k4 {k2}, zmm1, zmm3
    kmovw eax, k3
    kmovw ecx, k4
    shl ecx, 16
    or eax, ecx
    // the ways down to that of the tag, or all
    mov ecx, r9d
    shr ecx, 1
    not ecx
    and ecx, r9d // the last
    or ecx, eax
    blsmsk ecx, ecx
    kmovd k1, ecx
    shr ecx, 16
    kmovd k2, ecx
    valignd zmm1, zmm1, zmm0, 15
    valignd zmm0, zmm0, zmm0, 15
    mov ecx, 1
    kmovd k3, ecx
    vmovdqa32 zmm0 {k3}, zmm3
    vmovdqu32 zmmword ptr [rdi] {k1}, zmm0
    vmovdqu32 zmmword ptr [rdi + 64] {k2}, zmm1
    test eax, eax
    setz al
    movzx eax, al
    ret
    // One vector has all of them, with nothing behind those of 9 ways or more (sim/cache.h).
3:  lea ecx, [rdx - 1]
    vpbroadcastd zmm3, esi
    vmovdqu32 zmm0, zmmword ptr [rdi]
    vpcmpeqd k3, zmm0, zmm3
    kmovw eax, k3
    bts eax, ecx // its last, if none is nearer
    blsmsk ecx, eax
    kmovw k1, ecx
    valignd zmm0 {k1}, zmm0, zmm3, 15 // the tag, and before each its neighbour
    vmovdqu32 zmmword ptr [rdi], zmm0
    kortestw k3, k3
    setz al
    movzx eax, al
    ret

// What these change: SSE, AVX, the masks, and the upper halves of zmm0 to zmm15.
    .type vector_save, @function
vector_save: // rdi: the thread
    mov eax, 0x66
    xor edx, edx
    xsave64 [rdi + TA_VECTOR_SAVE]
    ret

    .type vector_restore, @function
vector_restore:
    mov eax, 0x66
    xor edx, edx
    xrstor64 [rdi + TA_VECTOR_SAVE]
    ret

    .section .note.GNU-stack, "", @progbits
