// SPDX-License-Identifier: MIT
//
// Repeated string instructions: each is one instruction, with one reference for each element and
// side.
//   rep movsb, 5: R 5  W 5      rep stosq, 3: W 3      rep movsb, 0: nothing
//   repe cmpsb, 9, of which the sixth differ: R 6 + 6     repne scasb, 9, found at the fourth: R 4
// Dr: 5 + 12 + 4 = 21, Dw: 5 + 3 = 8. The source is line 0 of the field, the target line 1: one
// read miss, one write miss. Ir: 24, of which 5 are repeated ones. The code is 80 bytes, two lines.
//
// As Cachegrind counts (--rep-count=cachegrind) a repetition is its passes and the test that ends
// it: 5 + 1, 3 + 1, 0 + 1; 6 and 4, which the comparison ends: 21 instead of 5, Ir 40. Each pass
// begins with a test of the count, and those that compare have a second one: Bc 6 + 4 + 1 + 12 + 8
// = 31. (The jumps are there for Valgrind, which leaves out tests of constants.)
//
// case: --I1=1024,1,64 --D1=1024,1,64 --LL=16384,4,64
// expect: Ir=24 I1mr=2 ILmr=2 Dr=21 D1mr=1 DLmr=1 Dw=8 D1mw=1 DLmw=1 Bc=0 Bcm=0 Bi=0 Bim=0
// case: --rep-count=cachegrind --I1=1024,1,64 --D1=1024,1,64 --LL=16384,4,64
// expect: Ir=40 I1mr=2 ILmr=2 Dr=21 D1mr=1 DLmr=1 Dw=8 D1mw=1 DLmw=1 Bc=31 Bi=0 Bim=0

        .section .data
        .align  4096
field:  .ascii  "abcdefgh"
        .fill   120
        .text
        .globl  _start
_start: lea     field(%rip), %rbx
        lea     64(%rbx), %rdi
        mov     %rbx, %rsi
        mov     $5, %ecx
        jmp     1f
1:      rep movsb                       // the target is abcde
        mov     $3, %ecx
        lea     96(%rbx), %rdi
        jmp     1f
1:      rep stosq
        rep movsb                       // the count is 0 now
        mov     %rbx, %rsi
        lea     64(%rbx), %rdi
        mov     $9, %ecx
        jmp     1f
1:      repe cmpsb                      // abcdef against abcde0
        mov     %rbx, %rdi
        mov     $9, %ecx
        mov     $'d', %al
        jmp     1f
1:      repne scasb
        mov     $60, %eax
        xor     %edi, %edi
        syscall
