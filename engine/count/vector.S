// SPDX-License-Identifier: MIT
// Searches of cache sets by AVX-512 and AVX2 (vector.h). They overwrite the client's vector
// registers: the caller has saved them.
#include "engine/count/vector.h"
#include "engine/objects/many.h"

    .intel_syntax noprefix
    .bss
    .balign 8
    .globl vector_sets, vector_ways, vector_eight
vector_sets:
    .zero VS_SIZE
// For four batched references: bits of their sizes that are all clear when each lies within a line,
// and has not been simulated yet.
    .globl vector_not_simple
    .balign 64
vector_not_simple:
    .zero 64

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
// For four batched references: bits that are all clear when each has a client address.
vector_too_wide:
    .rept 4
    .quad 0xffff800000000000, 0
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
    cmp edx, 16
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
    // One vector holds the set, and nothing else (sim/cache.h).
3:  lea ecx, [rdx - 1]
    vpbroadcastd zmm3, esi
    vmovdqu32 zmm0, zmmword ptr [rdi]
    vpcmpeqd k3, zmm0, zmm3
    kmovw eax, k3
    mov edx, eax
    bts eax, ecx // the last way, if no way before it matches
    blsmsk ecx, eax
    // A hit in way 0 changes nothing and writes nothing; a write would make a forked child copy the
    // page. No jump here: it would often be mispredicted.
    xor eax, eax
    test dl, 1
    cmovne ecx, eax
    kmovw k1, ecx
    valignd zmm0 {k1}, zmm0, zmm3, 15 // the tag, then each way moves down by one
    vmovdqu32 zmmword ptr [rdi] {k1}, zmm0
    kortestw k3, k3
    setz al
    ret

// A batch of LL references is drained sixteen at a time: first all places are computed, then each
// set is searched. Sets are prefetched before, so that the host's misses on LL's tags overlap: that
// of the reference sixteen later where a mask finds it, else all sixteen at once.
//
// These macros search a set. r8: LL's tags, r11: offset of the set. eax := 0 on a miss, else the
// bit of the way. They change rcx.

// By AVX2, 16 ways. r9: vector_up_to + 60, ymm7: vector_rotate, xmm3: the tag.
    .macro SEARCH_32
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
    vpblendd ymm6, ymm6, ymm2, 1 // before each its neighbour
    vpblendd ymm2, ymm2, ymm3, 1 // and the tag
    vpblendvb ymm0, ymm0, ymm2, ymm4
    vpblendvb ymm1, ymm1, ymm6, ymm5
    vmovdqa ymmword ptr [r8 + r11], ymm0
    vmovdqa ymmword ptr [r8 + r11 + 32], ymm1
    .endm

// By AVX-512, 16 ways. zmm3: the tag in all words.
    .macro SEARCH_16
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

// The same of 32 ways. The second line of a set is read and written only if the tag is not in the
// first, whose ways are all in use: most sets of a large LL have few, and its tags are more than
// the host's caches hold (20 ways: matrix 1.24, then 1.07 times the time of 16).
    .macro SEARCH_TWO
    vmovdqa32 zmm0, zmmword ptr [r8 + r11]
    vpcmpeqd k3, zmm0, zmm3
    kmovw eax, k3
    cmp dword ptr [r8 + r11 + 60], 1
    sbb ecx, ecx
    or ecx, eax
    jz 87f
    mov ecx, eax
    or ecx, 0x8000 // the first's last way
    blsmsk ecx, ecx
    kmovw k1, ecx
    valignd zmm0 {k1}, zmm0, zmm3, 15
    vmovdqa32 zmmword ptr [r8 + r11], zmm0
    jmp 88f
87: vmovdqa32 zmm1, zmmword ptr [r8 + r11 + 64]
    vpcmpeqd k4, zmm1, zmm3
    kunpckwd k4, k4, k3
    kmovd eax, k4
    mov ecx, [rip + vector_sets + VS_LL_LAST]
    or ecx, eax
    blsmsk ecx, ecx
    kmovd k1, ecx
    kshiftrd k2, k1, 16
    valignd zmm1 {k2}, zmm1, zmm0, 15
    valignd zmm0 {k1}, zmm0, zmm3, 15
    vmovdqa32 zmmword ptr [r8 + r11], zmm0
    vmovdqa32 zmmword ptr [r8 + r11 + 64], zmm1
88:
    .endm

// rax: an address; r11 := the offset of its set, eax := its tag. To `wide` if that does not fit 32
// bits. Changes rcx and r10. As sim_narrow_place().
    .macro LL_PLACE wide
    mov r11, rax
    mov ecx, [rip + vector_sets + VS_LL_HIGH]
    shrx rax, rax, rcx
    mov rcx, rax
    shr rcx, 31 // SIM_NARROW_HIGH_BITS
    jnz \wide
    mov r10d, [rip + vector_sets + VS_LL_MAGIC]
    imul r10, rax
    mov ecx, [rip + vector_sets + VS_LL_DIVIDE]
    shrx r10, r10, rcx // the quotient
    mov ecx, [rip + vector_sets + VS_LL_ODD]
    imul ecx, r10d
    sub eax, ecx // the remainder
    mov ecx, [rip + vector_sets + VS_LL_UPPER]
    shlx eax, eax, ecx
    mov ecx, [rip + vector_sets + VS_LL_SHIFT]
    shrx r11, r11, rcx
    and r11d, [rip + vector_sets + VS_LL_LOW]
    or r11d, eax
    mov ecx, [rip + vector_sets + VS_LL_SET]
    shlx r11, r11, rcx
    lea eax, [r10 + 1]
    .endm

    .globl vector_refer
    .type vector_refer, @function
vector_refer: // rdi: an address whose tag fits 32 bits
    mov rax, rdi
    LL_PLACE 1f
    mov r8, [rip + vector_sets + VS_LL_TAGS]
    vpbroadcastd zmm3, eax
    cmp dword ptr [rip + vector_sets + VS_LL_SET], 7
    je 2f
    SEARCH_16
    jmp 3f
2:  SEARCH_TWO
3:  cmp eax, 1
    sbb eax, eax
    neg eax
1:  ret

// Marks the reference at rdi as done, and counts it, eax being 0 if it has missed: a thread that is
// killed between may lose a miss, but counts none twice.
    .macro COUNT
    mov r10d, [rdi + 8]
    mov dword ptr [rdi + 12], LL_DONE
    inc qword ptr [rdx + r10 * 8]
    cmp eax, 1
    adc qword ptr [rdx + r10 * 8 + 8], 0
    mov rcx, [rip + vector_sets + VS_OWNER]
    test rcx, rcx
    jz 77f
    movzx ecx, byte ptr [rcx + r10] // with --calls=yes: the totals
    add rcx, [rip + vector_sets + VS_TOTALS]
    inc qword ptr [rdx + rcx * 8]
    cmp eax, 1
    adc qword ptr [rdx + rcx * 8 + 8], 0
77:
    .endm

// The same, and puts what is no fetch at the end of a queue of objects/many.h.
    .macro COUNT_WAITS queue
    mov r10d, [rdi + 8]
    mov rcx, [rip + vector_sets + VS_OWNER] // --data=yes implies --calls=yes
    mov dword ptr [rdi + 12], LL_DONE
    inc qword ptr [rdx + r10 * 8]
    cmp eax, 1
    sbb eax, eax
    neg eax
    add [rdx + r10 * 8 + 8], rax
    movzx ecx, byte ptr [rcx + r10]
    mov r11, rcx
    add rcx, [rip + vector_sets + VS_TOTALS]
    inc qword ptr [rdx + rcx * 8]
    add [rdx + rcx * 8 + 8], rax
    cmp r11d, [rip + many_fetch]
    je 77f
    mov rcx, [\queue]
    mov r11, [rdi]
    mov [rcx], r11
    mov [rcx + 8], r10d
    mov [rcx + 12], eax
    add rcx, 16
    mov [\queue], rcx
77:
    .endm

// As vector_waiting(), one reference after the other: those that straddle two lines or are done,
// too. waits: as vector_waits64().
    .macro ONE_BY_ONE name, broadcast, search, waits=0
    .type \name, @function
\name:
    push rbx
    .if \waits
    push r12
    mov r12, rcx
    .endif
    lea r9, [rip + vector_up_to + 15 * 4]
    vmovdqa ymm7, ymmword ptr [rip + vector_rotate]
1:  mov r8, [rip + vector_sets + VS_LL_TAGS]
    test r8, r8
    jz 9f
    mov ebx, [rdi + 12]
    cmp ebx, LL_DONE
    je 7f
    mov rax, [rdi]
    and ebx, [rip + vector_sets + VS_LL_BITS]
    jnz 4f
2:  LL_PLACE 9f
    \broadcast
    \search
3:
    .if \waits
    COUNT_WAITS r12
    .else
    COUNT
    .endif
7:  add rdi, 16
    cmp rdi, rsi
    jb 1b
9:  mov rax, rdi
    .if \waits
    pop r12
    .endif
    pop rbx
    ret
4:  lea rcx, [rax + rbx - 1]
    cmp rcx, rax
    jb 9b
    xor rax, rcx
    mov r10d, [rip + vector_sets + VS_LL_SHIFT]
    shrx rax, rax, r10
    test rax, rax
    mov rax, [rdi]
    jz 2b
    mov rax, rcx
    LL_PLACE 9b // before anything of it is done
    mov rax, [rdi]
    LL_PLACE 9b
    \broadcast
    \search
    mov rcx, [rdi]
    lea rcx, [rcx + rbx - 1]
    mov ebx, eax
    mov rax, rcx
    LL_PLACE 9b
    \broadcast
    \search
    neg eax // a miss of either is one
    sbb eax, eax
    neg ebx
    sbb ebx, ebx
    and eax, ebx
    jmp 3b
    .endm

    .macro TAG_32
    vmovd xmm3, eax
    .endm
    .macro TAG_64
    vpbroadcastd zmm3, eax
    .endm

    ONE_BY_ONE vector_each_32, TAG_32, SEARCH_32
    ONE_BY_ONE vector_each_16, TAG_64, SEARCH_16
    ONE_BY_ONE vector_each_two, TAG_64, SEARCH_TWO
    ONE_BY_ONE vector_waits_each_16, TAG_64, SEARCH_16, 1
    ONE_BY_ONE vector_waits_each_two, TAG_64, SEARCH_TWO, 1

// Sixteen at a time, as long as there are sixteen that lie in one line each. On the stack: offsets
// of sets, and tags.
    .set OFFSETS, 0
    .set TAGS, 128
    .set PLACES, 256

// By AVX2: places are computed one after the other.
    .globl vector_waiting
    .type vector_waiting, @function
vector_waiting:
    push rbp
    mov rbp, rsp
    push rbx
    push r12
    push r13
    sub rsp, PLACES
    mov r12, rsi
    lea r9, [rip + vector_up_to + 15 * 4]
    vmovdqa ymm7, ymmword ptr [rip + vector_rotate]
1:  lea rsi, [rdi + 256]
    cmp rsi, r12
    ja 4f
    mov r8, [rip + vector_sets + VS_LL_TAGS]
    test r8, r8
    jz 7f
    cmp dword ptr [rip + vector_sets + VS_LL_BATCH], LL_BATCH_SHARED
    jne 10f
    .irp n, 0, 64, 128, 192 // another processor has written it, and each reference is marked
    prefetchw [rdi + 2048 + \n]
    .endr
10: xor ebx, ebx
    xor r13d, r13d // which straddle two lines, or are done
2:  mov rax, rbx
    add rax, rax
    mov ecx, [rip + vector_sets + VS_LL_BITS]
    test [rdi + rax * 8 + 12], ecx
    jz 6f
    bts r13d, ebx
6:  mov rax, [rdi + rax * 8]
    LL_PLACE 5f
    prefetchw [r8 + r11]
    mov [rsp + rbx * 8 + OFFSETS], r11
    mov [rsp + rbx * 8 + TAGS], eax
    inc ebx
    cmp ebx, 16
    jb 2b
    xor ebx, ebx
3:  bt r13d, ebx
    jc 8f
    mov r11, [rsp + rbx * 8 + OFFSETS]
    vmovd xmm3, dword ptr [rsp + rbx * 8 + TAGS]
    SEARCH_32
    COUNT
    add rdi, 16
9:  inc ebx
    cmp ebx, 16
    jb 3b
    jmp 1b
8:  lea rsi, [rdi + 16]
    call vector_each_32
    cmp rdi, rsi
    je 9b
    jmp 7f
4:  mov rsi, r12
5:  mov rbx, rsi
    cmp rdi, rsi
    jae 7f
    call vector_each_32
    cmp rdi, rbx
    je 1b
7:  mov rax, rdi
    lea rsp, [rbp - 24]
    pop r13
    pop r12
    pop rbx
    pop rbp
    ret

    .section .rodata.vector
    .balign 64
vector_even: // of two vectors' words
    .quad 0, 2, 4, 6, 8, 10, 12, 14
    .text

// zmm\a: addresses; := the offsets of their sets; zmm1: their tags.
    .macro LL_PLACES a
    vpsrlq zmm1, zmm\a, xmmword ptr [rip + vector_sets + VS_LL_HIGH]
    vpmuludq zmm4, zmm1, qword ptr [rip + vector_sets + VS_LL_MAGIC] {1to8}
    vpsrlq zmm4, zmm4, xmmword ptr [rip + vector_sets + VS_LL_DIVIDE]
    vpmuludq zmm5, zmm4, qword ptr [rip + vector_sets + VS_LL_ODD] {1to8}
    vpsubq zmm1, zmm1, zmm5
    vpsllq zmm1, zmm1, xmmword ptr [rip + vector_sets + VS_LL_UPPER]
    vpsrlq zmm\a, zmm\a, xmmword ptr [rip + vector_sets + VS_LL_SHIFT]
    vpandq zmm\a, zmm\a, qword ptr [rip + vector_sets + VS_LL_LOW] {1to8}
    vporq zmm\a, zmm\a, zmm1
    vpsllq zmm\a, zmm\a, xmmword ptr [rip + vector_sets + VS_LL_SET]
    vpsubq zmm1, zmm4, zmm6 // less -1
    .endm

    .macro DRAIN_64 name, each, search, lines, waits=0
    .type \name, @function
\name:
    push rbp
    mov rbp, rsp
    push rbx
    push r12
    .if \waits
    push r13
    mov r13, rcx
    .endif
    sub rsp, PLACES
    and rsp, -64
    mov r12, rsi
1:  lea rbx, [rdi + 256]
    cmp rbx, r12
    ja 4f
    mov r8, [rip + vector_sets + VS_LL_TAGS]
    test r8, r8
    jz 4f
    cmp dword ptr [rip + vector_sets + VS_LL_BATCH], LL_BATCH_SHARED
    jne 8f
    .irp n, 0, 64, 128, 192 // another processor has written it, and each reference is marked
    prefetchw [rdi + 2048 + \n]
    .endr
8:
    vmovdqu64 zmm0, zmmword ptr [rdi]
    vmovdqu64 zmm1, zmmword ptr [rdi + 64]
    vmovdqu64 zmm2, zmmword ptr [rdi + 128]
    vmovdqu64 zmm3, zmmword ptr [rdi + 192]
    vporq zmm4, zmm0, zmm1
    vporq zmm5, zmm2, zmm3
    vporq zmm4, zmm4, zmm5
    vptestmq k3, zmm4, zmmword ptr [rip + vector_too_wide]
    kortestw k3, k3
    jnz 5f
    vptestmq k5, zmm4, zmmword ptr [rip + vector_not_simple]
    vmovdqa64 zmm4, zmmword ptr [rip + vector_even]
    vpermt2q zmm0, zmm4, zmm1
    vpermt2q zmm2, zmm4, zmm3
    vpternlogd zmm6, zmm6, zmm6, 0xff
    LL_PLACES 0
    vmovdqa64 zmmword ptr [rsp + OFFSETS], zmm0
    vmovdqa64 zmmword ptr [rsp + TAGS], zmm1
    LL_PLACES 2
    vmovdqa64 zmmword ptr [rsp + OFFSETS + 64], zmm2
    vmovdqa64 zmmword ptr [rsp + TAGS + 64], zmm1
    mov r9, rsp
    cmp qword ptr [rip + vector_sets + VS_LL_AHEAD], 0
    jne 10f
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    mov rax, [rsp + OFFSETS + 8 * \n]
    prefetchw [r8 + rax]
    .if \lines == 2
    prefetchw [r8 + rax + 64]
    .endif
    .endr
10: kortestw k5, k5
    jnz 11f
2:  mov eax, [rdi + 16 * 16] // the reference sixteen later, whose set is found at once
    and eax, [rip + vector_sets + VS_LL_AHEAD]
    prefetchw [r8 + rax]
    mov r11, [r9 + OFFSETS]
    vpbroadcastd zmm3, dword ptr [r9 + TAGS]
    \search
    .if \waits
    COUNT_WAITS r13
    .else
    mov r10d, [rdi + 8]
    mov dword ptr [rdi + 12], LL_DONE
    inc qword ptr [rdx + r10 * 8]
    mov rcx, [rip + vector_sets + VS_OWNER]
    test rcx, rcx
    jnz 9f
    test eax, eax
    jz 6f
    .endif
3:  add r9, 8
    add rdi, 16
    cmp rdi, rbx
    jae 1b
    kortestw k5, k5
    jz 2b
11: mov ecx, [rip + vector_sets + VS_LL_BITS]
    test [rdi + 12], ecx // some of these straddle two lines, or are done
    jz 2b
    lea rsi, [rdi + 16]
    .if \waits
    mov rcx, r13
    .endif
    call \each
    cmp rdi, rsi
    jb 7f
    mov r8, [rip + vector_sets + VS_LL_TAGS]
    lea r9, [rdi + 256]
    sub r9, rbx // of sixteen bytes each
    shr r9
    add r9, rsp
    cmp rdi, rbx
    jb 11b
    jmp 1b
    .if \waits == 0
6:  inc qword ptr [rdx + r10 * 8 + 8] // by a jump: an addition of 0 would be stored, too
    jmp 3b
9:  movzx ecx, byte ptr [rcx + r10] // with --calls=yes: the totals
    add rcx, [rip + vector_sets + VS_TOTALS]
    inc qword ptr [rdx + rcx * 8]
    test eax, eax
    jnz 3b
    inc qword ptr [rdx + rcx * 8 + 8]
    jmp 6b
    .endif
4:  mov rbx, r12
5:  mov rsi, rbx
    cmp rdi, rsi
    jae 7f
    .if \waits
    mov rcx, r13
    .endif
    call \each
    cmp rdi, r12
    jae 7f
    cmp rdi, rbx
    je 1b
7:  mov rax, rdi
    .if \waits
    lea rsp, [rbp - 24]
    pop r13
    .else
    lea rsp, [rbp - 16]
    .endif
    pop r12
    pop rbx
    pop rbp
    ret
    .endm

    DRAIN_64 vector_waiting_16, vector_each_16, SEARCH_16, 1
    DRAIN_64 vector_waiting_two, vector_each_two, SEARCH_TWO, 2
    DRAIN_64 vector_waits_16, vector_waits_each_16, SEARCH_16, 1, 1
    DRAIN_64 vector_waits_two, vector_waits_each_two, SEARCH_TWO, 2, 1

    .globl vector_waiting64
    .type vector_waiting64, @function
vector_waiting64:
    cmp dword ptr [rip + vector_sets + VS_LL_SET], 7
    je vector_waiting_two
    jmp vector_waiting_16

    .globl vector_waits64
    .type vector_waits64, @function
vector_waits64:
    cmp dword ptr [rip + vector_sets + VS_LL_SET], 7
    je vector_waits_two
    jmp vector_waits_16

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
