// SPDX-License-Identifier: MIT
// Searches of cache sets by AVX-512 and AVX2 (vector.h). They overwrite the client's vector
// registers: the caller has saved them.
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

// Row w: the numbers of the ways, except that way w is later than all. The last row: all 16.
    .globl vector_other_ways
    .balign 64
vector_other_ways:
    .set row, 0
    .rept 17
    .set way, 0
    .rept 16
    .if way == row
    .quad 0x7fffffffffffffff
    .else
    .quad way
    .endif
    .set way, way + 1
    .endr
    .set row, row + 1
    .endr
// For four batched references: bits that are all clear when each lies within a line, has a client
// address, and has not been simulated yet.
vector_not_simple:
    .rept 4
    .quad 0xffff800000000000, 0xffffffff00000000
    .endr
// Read from word 15 - w on: a mask of a line's words up to w.
vector_up_to:
    .rept 16
    .long -1
    .endr
    .rept 16
    .long 0
    .endr
vector_rotate: // rotates by one word
    .long 7, 0, 1, 2, 3, 4, 5, 6

    .text

// The mask of edx ways, to r9d and k1.
    .macro WAYS_MASK
    mov r9d, -1
    bzhi r9d, r9d, edx
    kmovd k1, r9d
    .endm

// rax := the way with the least stamp of those at rsi. The low five bits of a stamp are clear.
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
    LEAST_OF_8
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

    .globl vector_touch64, vector_touch32, vector_order, vector_waiting, vector_save, vector_restore
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
    // the ways up to the tag's, or all
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
    // One vector holds the set, and above 8 ways nothing else is in it (sim/cache.h).
3:  lea ecx, [rdx - 1]
    vpbroadcastd zmm3, esi
    vmovdqu32 zmm0, zmmword ptr [rdi]
    vpcmpeqd k3, zmm0, zmm3
    kmovw eax, k3
    bts eax, ecx // the last way, if no way before it matches
    blsmsk ecx, eax
    // A hit in way 0 changes nothing and writes nothing; a write would make a forked child copy the
    // page. No jump here: it would often be mispredicted.
    xor eax, eax
    cmp ecx, 1
    cmove ecx, eax
    kmovw k1, ecx
    valignd zmm0 {k1}, zmm0, zmm3, 15 // the tag, then each way moves down by one
    vmovdqu32 zmmword ptr [rdi] {k1}, zmm0
    kortestw k3, k3
    setz al
    ret

// r11: an address, eax: its tag; its set of LL is one line of the host's cache. eax := 0 on a miss,
// else the bit of the way. Changes rcx and r11. The other registers are set by vector_waiting.
    .macro ORDER32
    and r11d, [rip + vector_sets + VS_LL_SETS]
    vmovd xmm3, eax
    vpbroadcastd ymm3, xmm3
    vmovdqa ymm0, ymmword ptr [r8 + r11]
    vmovdqa ymm1, ymmword ptr [r8 + r11 + 32]
    vpcmpeqd ymm4, ymm0, ymm3
    vpcmpeqd ymm5, ymm1, ymm3
    vmovmskps eax, ymm4
    vmovmskps ecx, ymm5
    shl ecx, 8
    or eax, ecx
    mov ecx, [rip + vector_sets + VS_LL_LAST]
    or ecx, eax
    tzcnt ecx, ecx
    neg rcx
    vmovdqu ymm4, ymmword ptr [r9 + rcx * 4]
    vmovdqu ymm5, ymmword ptr [r9 + rcx * 4 + 32]
    vpermd ymm2, ymm7, ymm0
    vpermd ymm6, ymm7, ymm1
    vpblendd ymm6, ymm6, ymm2, 1 // each way moves down by one
    vpblendd ymm2, ymm2, ymm3, 1 // the tag comes first
    vpblendvb ymm0, ymm0, ymm2, ymm4
    vpblendvb ymm1, ymm1, ymm6, ymm5
    vmovdqa ymmword ptr [r8 + r11], ymm0
    vmovdqa ymmword ptr [r8 + r11 + 32], ymm1
    .endm

// The same by one vector. r11: offset of the set, zmm3: the tag in all words. Changes rcx.
    .macro ORDER_SET64
    vmovdqa32 zmm0, zmmword ptr [r8 + r11]
    vpcmpeqd k3, zmm0, zmm3
    kmovw eax, k3
    mov ecx, [rip + vector_sets + VS_LL_LAST]
    or ecx, eax
    blsmsk ecx, ecx
    kmovw k1, ecx
    valignd zmm0 {k1}, zmm0, zmm3, 15
    vmovdqa32 zmmword ptr [r8 + r11], zmm0
    .endm

    .macro ORDER64 // as ORDER32
    and r11d, [rip + vector_sets + VS_LL_SETS]
    vpbroadcastd zmm3, eax
    ORDER_SET64
    .endm

// rcx: an address; rcx := its tag. Jumps to `wide` if the tag does not fit 32 bits. Changes rax.
    .macro LL_TAG wide
    mov eax, [rip + vector_sets + VS_LL_TAG_SHIFT]
    shrx rcx, rcx, rax
    inc rcx
    mov rax, rcx
    shr rax, 32
    jnz \wide
    .endm

    .macro DRAIN name, order
    .type \name, @function
\name:
    lea r9, [rip + vector_up_to + 15 * 4]
    vmovdqa ymm7, ymmword ptr [rip + vector_rotate]
1:  mov r8, [rip + vector_sets + VS_LL_TAGS]
    test r8, r8
    jz 9f
    mov eax, [rdi + 16 * 16]
    and eax, [rip + vector_sets + VS_LL_SETS]
    prefetchw [r8 + rax]
    mov r11, [rdi]
    mov rcx, r11
    LL_TAG 9f
    mov r10d, [rdi + 12]
    mov eax, ecx
    test r10d, r10d
    jnz 4f
2:  \order
3:  mov r10d, [rdi + 8]
    inc qword ptr [rdx + r10 * 8]
    cmp eax, 1
    adc qword ptr [rdx + r10 * 8 + 8], 0
    mov rcx, [rip + vector_sets + VS_OWNER]
    test rcx, rcx
    jnz 6f
5:  mov dword ptr [rdi + 12], LL_DONE
7:  add rdi, 16
    cmp rdi, rsi
    jb 1b
9:  mov rax, rdi
    ret
6:  movzx ecx, byte ptr [rcx + r10] // with --calls=yes: the totals
    add rcx, [rip + vector_sets + VS_TOTALS]
    inc qword ptr [rdx + rcx * 8]
    cmp eax, 1
    adc qword ptr [rdx + rcx * 8 + 8], 0
    jmp 5b
4:  cmp r10d, LL_DONE
    je 7b
    lea rcx, [r11 + r10 - 1]
    cmp rcx, r11
    jb 9b
    xor r11, rcx
    shr r11, 6
    mov r11, [rdi]
    jz 2b
    LL_TAG 9b
    push rcx
    mov rcx, r11
    LL_TAG 8f
8:  mov eax, ecx
    \order
    pop rcx
    push rax
    mov eax, ecx
    mov r11, [rdi]
    lea r11, [r11 + r10 - 1]
    \order
    pop rcx
    neg eax // a miss of one or of both counts once
    sbb eax, eax
    neg ecx
    sbb ecx, ecx
    and eax, ecx
    jmp 3b
    .endm

    DRAIN vector_waiting, ORDER32
    DRAIN vector_one_by_one, ORDER64

// Sixteen references at a time: all sets and tags are computed at once. If one of the sixteen
// straddles two lines or has no tag, all sixteen are simulated one after the other; so is every
// reference with --calls=yes.
    .globl vector_waiting64
    .type vector_waiting64, @function
vector_waiting64:
    push rbp
    mov rbp, rsp
    push rbx
    push r12
    sub rsp, 256
    and rsp, -64
    mov r12, rsi
1:  lea rbx, [rdi + 256]
    cmp rbx, r12
    ja 4f
    cmp qword ptr [rip + vector_sets + VS_OWNER], 0
    jne 5f
    mov r8, [rip + vector_sets + VS_LL_TAGS]
    test r8, r8
    jz 4f
    vmovdqu64 zmm0, zmmword ptr [rdi]
    vmovdqu64 zmm1, zmmword ptr [rdi + 64]
    vmovdqu64 zmm2, zmmword ptr [rdi + 128]
    vmovdqu64 zmm3, zmmword ptr [rdi + 192]
    vporq zmm4, zmm0, zmm1
    vporq zmm5, zmm2, zmm3
    vporq zmm4, zmm4, zmm5
    vptestmq k3, zmm4, zmmword ptr [rip + vector_not_simple]
    kortestw k3, k3
    jnz 5f
    vbroadcasti32x4 zmm4, xmmword ptr [rip + vector_sets + VS_LL_SHIFTS]
    vbroadcasti32x4 zmm5, xmmword ptr [rip + vector_sets + VS_LL_ADDS]
    vbroadcasti32x4 zmm6, xmmword ptr [rip + vector_sets + VS_LL_MASKS]
    .irp n, 0, 1, 2, 3
    vpunpcklqdq zmm\n, zmm\n, zmm\n
    vpsrlvq zmm\n, zmm\n, zmm4
    vpaddq zmm\n, zmm\n, zmm5
    vpandq zmm\n, zmm\n, zmm6
    vmovdqa64 zmmword ptr [rsp + 64 * \n], zmm\n
    .endr
    mov r9, rsp
2:  mov eax, [rdi + 16 * 16]
    and eax, [rip + vector_sets + VS_LL_SETS]
    prefetchw [r8 + rax]
    mov r11, [r9]
    vpbroadcastd zmm3, dword ptr [r9 + 8]
    mov r10d, [rdi + 8]
    inc qword ptr [rdx + r10 * 8]
    ORDER_SET64
    test eax, eax
    jz 6f
3:  mov dword ptr [rdi + 12], LL_DONE
    add r9, 16
    add rdi, 16
    cmp rdi, rbx
    jb 2b
    jmp 1b
6:  inc qword ptr [rdx + r10 * 8 + 8]
    jmp 3b
4:  mov rbx, r12
5:  mov rsi, rbx
    cmp rdi, rsi
    jae 7f
    call vector_one_by_one
    cmp rdi, r12
    jae 7f
    cmp rdi, rbx
    je 1b
7:  mov rax, rdi
    lea rsp, [rbp - 16]
    pop r12
    pop rbx
    pop rbp
    ret

// State saved: SSE, AVX, the masks, and the upper halves of zmm0 to zmm15.
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
