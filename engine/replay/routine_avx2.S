// SPDX-License-Identifier: MIT
// Misses of generated replays by vectors of 32 bytes: what routine.S does by those of 64, for sets
// of whole vectors alone (caches_by_whole_vectors). Processors without AVX-512 took two to three
// times as long for a program that misses, when this was C.
//
// r10 is what LL has to know: the counter, and above it the size of what may lie in two lines of
// it. What a routine has in its registers stays there, but r14, rax, rcx, rdx and r11; only these
// and r10 are free.
#include "engine/count/vector.h"
#include "engine/thread/thread.h"

    .intel_syntax noprefix
    .text

// a := the lesser of each two stamps. They are below 2^63, so that signs do not matter.
    .macro LESSER a, b, r
    vpcmpgtq \r\()5, \r\()\a, \r\()\b
    vblendvpd \r\()\a, \r\()\a, \r\()\b, \r\()5
    .endm

// Of the ways in the row at r11 the one with the least stamp, with that, to xmm1. rcx: the first.
    .macro LEAST ways, stamps
    vmovdqa ymm1, ymmword ptr [r11]
    vpor ymm1, ymm1, ymmword ptr [r12 + rcx * 8 + \stamps]
    .if \ways >= 8
    vmovdqa ymm2, ymmword ptr [r11 + 32]
    vpor ymm2, ymm2, ymmword ptr [r12 + rcx * 8 + \stamps + 32]
    LESSER 1, 2, ymm
    .endif
    .if \ways >= 12
    vmovdqa ymm3, ymmword ptr [r11 + 64]
    vpor ymm3, ymm3, ymmword ptr [r12 + rcx * 8 + \stamps + 64]
    .endif
    .if \ways == 16
    vmovdqa ymm4, ymmword ptr [r11 + 96]
    vpor ymm4, ymm4, ymmword ptr [r12 + rcx * 8 + \stamps + 96]
    LESSER 3, 4, ymm
    .endif
    .if \ways >= 12
    LESSER 1, 3, ymm
    .endif
    vextracti128 xmm2, ymm1, 1
    LESSER 1, 2, xmm
    vpshufd xmm2, xmm1, 0x4e
    LESSER 1, 2, xmm
    .endm

// rcx: a set's first way, r14: what its next victim was noted to be; edx := the way to fill.
    .macro FILL stamps
    mov edx, r14d
    and edx, 31
    add edx, ecx
    and r14, -32
    cmp r14, [r12 + rdx * 8 + \stamps]
    jne 66f
65:
    .endm
    .macro FILL_ELSE ways, stamps // it has been used since
66: mov r14, r11
    lea r11, [rip + vector_others + 16 * 128]
    LEAST \ways, \stamps
    mov r11, r14
    vmovd edx, xmm1
    and edx, 31
    add edx, ecx
    jmp 65b
    .endm

// edx: the way that is filled, whose stamp becomes the clock; the next victim is noted, and what is
// at rax waits for LL. Returns. log: of how far sets are apart.
    .macro FILLED ways, log, stamps, next
    mov r14d, edx
    sub r14d, ecx
    shl r14d, 7
    lea r11, [rip + vector_others]
    add r11, r14
    LEAST \ways, \stamps
    mov [r12 + rdx * 8 + \stamps], rbp
    .if \log == 4
    shr ecx, 1
    .elseif \log == 2
    add ecx, ecx
    .endif
    vmovq [r12 + rcx + \next], xmm1
    LL_NEXT
    movabs r14, REPLAY_BASE
    ret
    .endm

// What is at rax waits for LL.
    .macro LL_NEXT
    mov rcx, [r12 + TH_LL]
    mov [rcx], rax
    mov [rcx + 8], r10
    add rcx, 16
    mov [r12 + TH_LL], rcx
    test [rip + vector_sets + VS_LL_LATER], ecx
    jz routine_avx2_ll
    .endm

    .macro LL_AHEAD // rax: address. Changes rdx
    mov edx, eax
    and edx, [rip + vector_sets + VS_LL_SETS]
    add rdx, [rip + vector_sets + VS_LL_TAGS]
    prefetchw [rdx]
    .endm

    .globl routine_avx2_ll
    .type routine_avx2_ll, @function
routine_avx2_ll: // jumped to, as routine_ll
    cmp dword ptr [rip + vector_sets + VS_LL_LATER], LL_LATER_SHARED
    je 1f
    lea rdi, [r12 + TA_LL]
    mov rsi, [r12 + TH_LL]
    mov rdx, [r12 + TH_MISSES]
    call vector_waiting
    cmp rax, [r12 + TH_LL]
    jne 1f
    lea rax, [r12 + TA_LL]
    mov [r12 + TH_LL], rax
2:  movabs r14, REPLAY_BASE
    lea rdi, [r12 + TA_D1_HINTS]
    lea rsi, [r12 + TA_D1_TAGS]
    lea r8, [r12 + TA_D1_STAMPS]
    mov r9d, [rip + routine_mask]
    ret
1:  mov rdi, r12
    call ll_drain
    jmp 2b

    .macro MISS_D1 ways, log
    .globl routine_avx2_d1_\ways
    .type routine_avx2_d1_\ways, @function
routine_avx2_d1_\ways: // as routine_to_d1
    add rax, [rsi + rcx * 8]
    lea r11d, [rax + rdx - 1]
    xor r11d, eax
    cmp r11d, [rip + vector_sets + VS_D1_LOW]
    ja 8f // lies in two lines
    mov ecx, [rip + vector_sets + VS_D1_SHIFT]
    shrx r11, rax, rcx
    mov rdx, rax
    and rdx, [rip + vector_sets + VS_D1_LINE]
    vmovq xmm0, rdx
    vpbroadcastq ymm1, xmm0
    mov ecx, r11d
    and ecx, [rip + vector_sets + VS_D1_MASK]
    and r11d, VS_HINTS - 1
    mov r14, [r12 + rcx * 8 + TA_D1_NEXT]
    shl ecx, \log
    vpcmpeqq ymm2, ymm1, ymmword ptr [rsi + rcx * 8]
    vpcmpeqq ymm3, ymm1, ymmword ptr [rsi + rcx * 8 + 32]
    vpor ymm4, ymm2, ymm3
    .if \ways >= 12
    vpcmpeqq ymm5, ymm1, ymmword ptr [rsi + rcx * 8 + 64]
    vpor ymm4, ymm4, ymm5
    .endif
    .if \ways == 16
    vpcmpeqq ymm6, ymm1, ymmword ptr [rsi + rcx * 8 + 96]
    vpor ymm4, ymm4, ymm6
    .endif
    vptest ymm4, ymm4
    jnz 7f
    LL_AHEAD
    FILL TA_D1_STAMPS
    mov [rdi + r11 * 2], dx
    vmovq [rsi + rdx * 8], xmm0
    FILLED \ways, \log, TA_D1_STAMPS, TA_D1_NEXT
    FILL_ELSE \ways, TA_D1_STAMPS
7:  vmovmskpd edx, ymm2 // where it is
    vmovmskpd r14d, ymm3
    shl r14d, 4
    or edx, r14d
    .if \ways >= 12
    vmovmskpd r14d, ymm5
    shl r14d, 8
    or edx, r14d
    .endif
    .if \ways == 16
    vmovmskpd r14d, ymm6
    shl r14d, 12
    or edx, r14d
    .endif
    tzcnt edx, edx
    add edx, ecx
    mov [r8 + rdx * 8], rbp
    mov [rdi + r11 * 2], dx
    movabs r14, REPLAY_BASE
    ret
8:  sub rax, [rsi + rcx * 8]
    jmp routine_avx2_d1_two
    .endm

    MISS_D1 8, 3
    MISS_D1 12, 4
    MISS_D1 16, 4

// A data reference that lies in two lines: both may be where they are expected. Of different sets,
// they may have one stamp.
    .type routine_avx2_d1_two, @function
routine_avx2_d1_two:
    cmp dword ptr [rip + vector_sets + VS_D1_MASK], 0
    je 9f
    mov r14, rax
    add r14, [rsi + rcx * 8]
    mov ecx, [rip + vector_sets + VS_D1_SHIFT]
    shrx r11, r14, rcx
    and r11d, VS_HINTS - 1
    movzx r11d, word ptr [rdi + r11 * 2]
    mov rax, r14
    and rax, [rip + vector_sets + VS_D1_LINE]
    cmp rax, [rsi + r11 * 8]
    lea rax, [r14 + rdx - 1]
    jne 8f
    shrx rcx, rax, rcx
    and ecx, VS_HINTS - 1
    movzx ecx, word ptr [rdi + rcx * 2]
    and rax, [rip + vector_sets + VS_D1_LINE]
    cmp rax, [rsi + rcx * 8]
    jne 8f
    mov [r8 + r11 * 8], rbp
    mov [r8 + rcx * 8], rbp
    movabs r14, REPLAY_BASE
    ret
8:  mov rax, r14
    xor ecx, ecx
    sub rax, [rsi]
    movabs r14, REPLAY_BASE
9:  mov esi, r10d
    jmp routine_to_d1

// rax: address of an instruction; edx: id of the line that it ends in, which is not in I1; ecx: the
// first way of that line's set.
    .macro MISS_I1 ways, log
    .globl routine_avx2_i1_\ways
    .type routine_avx2_i1_\ways, @function
routine_avx2_i1_\ways:
    mov r11d, edx
    .if \log == 4
    mov edx, ecx
    shr edx, 1
    mov r14, [r12 + rdx + TA_I1_NEXT]
    .else
    mov r14, [r12 + rcx * (8 / \ways) + TA_I1_NEXT]
    .endif
    LL_AHEAD
    FILL TA_I1_STAMPS
    mov r14d, [r12 + rdx * 4 + TA_I1_TAGS]
    mov [r12 + rdx * 4 + TA_I1_TAGS], r11d
    cmp r14d, TA_I1_IDS // those have no hints
    jae 7f
    mov word ptr [r12 + r14 * 2 + TA_I1_HINTS], 0
7:  lea r14d, [rdx + 1]
    mov [r12 + r11 * 2 + TA_I1_HINTS], r14w
    FILLED \ways, \log, TA_I1_STAMPS, TA_I1_NEXT
    FILL_ELSE \ways, TA_I1_STAMPS
    .endm

    MISS_I1 4, 2
    MISS_I1 8, 3
    MISS_I1 16, 4

    .section .note.GNU-stack, "", @progbits
