// SPDX-License-Identifier: MIT
//
// Least recently used: D1 has 4 sets of 2 ways; A = 0, B = 256 and C = 512 share set 0.
//   A miss, B miss, A hit, C miss (B goes), A hit, B miss (C goes), C miss (A goes), A miss (B
//   goes) Six misses; LL knows each line after its first: three.
//
// First in, first out would have evicted A for C: seven misses. Random would have any number.
//
// case: --I1=1024,1,64 --D1=512,2,64 --LL=16384,4,64
// expect: Ir=12 I1mr=1 ILmr=1 Dr=8 D1mr=6 DLmr=3 Dw=0 D1mw=0 DLmw=0 Bc=0 Bcm=0 Bi=0 Bim=0
// about: no-fast-tags no-way-search replay-c

        .section .bss
        .align  4096
field:  .fill   4096
        .text
        .globl  _start
_start: lea     field(%rip), %rbx
        add     (%rbx), %eax
        add     256(%rbx), %eax
        add     (%rbx), %eax
        add     512(%rbx), %eax
        add     (%rbx), %eax
        add     256(%rbx), %eax
        add     512(%rbx), %eax
        add     (%rbx), %eax
        mov     $60, %eax
        xor     %edi, %edi
        syscall
