// SPDX-License-Identifier: MIT
// The search of the predictor's tables by AVX2 (tage.h): a word of a vector for each table. It
// overwrites ymm0 to ymm4: the caller has saved the client's.
#include "engine/count/tage.h"

    .intel_syntax noprefix
    .section .rodata.tage, "a"
    .balign 32
numbers: // in the hash
    .long 0 << 5, 1 << 5, 2 << 5, 3 << 5, 4 << 5, 5 << 5, 6 << 5, 7 << 5
leaves: // where the outcome that leaves a table's history is in its fold: length % SIM_TAGE_FOLD
    .long 4, 8, 14, 2, 20, 10, 8, 14
multiply_1:
    .long 0x9e3779b1
multiply_2:
    .long 0x85ebca6b
tag_bits:
    .long 0xfff
tag_used:
    .long 0x1000
fold_mask:
    .long 0x3fffff

// The words of four tables' entries, whose numbers are in `places`, to \to. Changes eax.
    .macro ENTRIES to, table
    mov eax, [rcx + 4 * \table]
    vmovd \to, dword ptr [rdi + rax * 4]
    .irp word, 1, 2, 3
    mov eax, [rcx + 4 * \table + 4 * \word]
    vpinsrd \to, \to, dword ptr [rdi + rax * 4], \word
    .endr
    .endm

    .text
    .globl tage_find
    .type tage_find, @function
tage_find: // rdi: the state; esi: hash; edx: the outcome, 0 or 1; rcx: places
    vmovdqu ymm0, ymmword ptr [rdi + TAGE_FOLD]
    vmovd xmm2, esi
    vpbroadcastd ymm2, xmm2
    vpslld ymm1, ymm0, 9
    vpxor ymm1, ymm1, ymm2
    vpxor ymm1, ymm1, [rip + numbers]
    vpbroadcastd ymm2, [rip + multiply_1]
    vpmulld ymm1, ymm1, ymm2
    vpsrld ymm2, ymm1, 15
    vpxor ymm1, ymm1, ymm2
    vpbroadcastd ymm2, [rip + multiply_2]
    vpmulld ymm1, ymm1, ymm2
    vpbroadcastd ymm3, [rip + tag_bits]
    vpand ymm3, ymm3, ymm1
    vpbroadcastd ymm2, [rip + tag_used]
    vpor ymm3, ymm3, ymm2
    mov eax, [rdi + TAGE_LARGE]
    mov r8d, 21
    sub r8d, eax
    add eax, 6
    vmovd xmm2, r8d
    vpsrld ymm1, ymm1, xmm2
    vmovd xmm2, eax
    vmovdqa ymm4, [rip + numbers] // of tables by 32: by how many entries a table has
    vpslld ymm2, ymm4, xmm2
    vpaddd ymm1, ymm1, ymm2
    vmovdqu ymmword ptr [rcx], ymm1
    vmovdqu ymmword ptr [rcx + 32], ymm3
    // One after the other: gathers take longer on many processors.
    ENTRIES xmm2, 0
    ENTRIES xmm4, 4
    vinserti128 ymm2, ymm2, xmm4, 1
    vpslld ymm2, ymm2, 16
    vpsrld ymm2, ymm2, 16
    vpcmpeqd ymm2, ymm2, ymm3
    vmovmskps eax, ymm2

    // The outcome joins the history; one leaves each table's.
    mov r9d, [rdi + TAGE_TIME]
    mov r8d, r9d
    and r8d, 511
    lea r8, [rdi + r8 + TAGE_HISTORY]
    .set table, 0
    .irp length, 4, 8, 14, 24, 42, 76, 140, 256 // SIM_TAGE_LENGTHS
    .if table == 0
    vpxor xmm2, xmm2, xmm2
    .endif
    vpinsrb xmm2, xmm2, byte ptr [r8 + 512 - \length], table
    .set table, table + 1
    .endr
    vpmovzxbd ymm2, xmm2
    vpsllvd ymm2, ymm2, [rip + leaves]
    vpaddd ymm0, ymm0, ymm0
    vmovd xmm1, edx
    vpbroadcastd ymm1, xmm1
    vpor ymm0, ymm0, ymm1
    vpxor ymm0, ymm0, ymm2
    vpsrld ymm1, ymm0, 22
    vpxor ymm0, ymm0, ymm1
    vpbroadcastd ymm1, [rip + fold_mask]
    vpand ymm0, ymm0, ymm1
    vmovdqu ymmword ptr [rdi + TAGE_FOLD], ymm0
    mov [r8], dl
    mov [r8 + 512], dl
    inc r9d
    mov [rdi + TAGE_TIME], r9d
    ret

    .section .note.GNU-stack, "", @progbits
