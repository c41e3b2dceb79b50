// SPDX-License-Identifier: MIT
//
// A set that misses again and again, by 13 lines that are 4096 bytes apart: all of D1's set 0. Each
// part of the program is a loop of 1000 rounds; [a..b] is what is in the cache, the least recent
// first.
//
// With 12 ways:
//   0..12 in turn           each is evicted just before it is read again: 13 misses a round,
//                           [1..12] at the end of each
//   k, 0 for k = 1..12      in the first round 1 hits and 0 misses; 2..12 miss. 0 stays from then
//                           on, and eleven ways are left for twelve lines: 12 misses a round,
//                           [2..12 0]
//   11..0, then 1..12       down: 11..2 hit, 1 misses, 0 hits; up: 12 misses, and 0 goes. From the
//                           second round on 0 misses, as 12 goes, and 12, as 0 goes: 2 misses a
//                           round, [1..12]
//   0..12, then 1..12       13 misses and 12 hits, which leave the order as it is
// 13,000 + 12,000 + 2,000 + 13,000 = 40,000.
//
// With 8 ways:
//   0..12 in turn           13 misses, [5..12]
//   k, 0 for k = 1..12      0 misses once, 1..12 in each round: 12,001, [6..12 0]
//   11..0, then 1..12       in the first round 5..0 miss and 8..12, later 4..0 and 8..12: 10,001,
//                           [5..12]
//   0..12, then 1..12       all miss: 25,000
// 60,002.
//
// LL misses once for each line. 86,000 reads; a round has two instructions more than reads, a loop
// one, and the program has four more.
//
// case: --I1=32768,8,64 --D1=49152,12,64 --LL=1048576,16,64
// expect: Ir=94008 Dr=86000 D1mr=40000 DLmr=13 Dw=0 D1mw=0 DLmw=0 Bc=4000 Bi=0 Bim=0
// case: --I1=32768,8,64 --D1=32768,8,64 --LL=1048576,16,64
// expect: Ir=94008 Dr=86000 D1mr=60002 DLmr=13 Dw=0 D1mw=0 DLmw=0 Bc=4000 Bi=0 Bim=0
// about: no-fast-tags no-way-search replay-c

        .section .bss
        .align  4096
field:  .fill   13 * 4096
        .text

        .macro  line k
        add     (\k) * 4096(%rbx), %eax
        .endm
        .macro  up from, to
        .set    i, \from
        .rept   \to - \from + 1
        line    i
        .set    i, i + 1
        .endr
        .endm
        .macro  down from, to
        .set    i, \from
        .rept   \from - \to + 1
        line    i
        .set    i, i - 1
        .endr
        .endm
        .macro  again
        dec     %ecx
        jnz     1b
        .endm

        .globl  _start
_start: lea     field(%rip), %rbx
        mov     $1000, %ecx
1:      up      0, 12
        again
        mov     $1000, %ecx
1:      .set    k, 1
        .rept   12
        line    k
        line    0
        .set    k, k + 1
        .endr
        again
        mov     $1000, %ecx
1:      down    11, 0
        up      1, 12
        again
        mov     $1000, %ecx
1:      up      0, 12
        up      1, 12
        again
        mov     $60, %eax
        xor     %edi, %edi
        syscall
