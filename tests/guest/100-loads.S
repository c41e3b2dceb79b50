// SPDX-License-Identifier: MIT
//
// Loads and stores. D1 has 16 sets of one 64-byte line: 0, 1024 and 2048 share set 0. LL has four
// ways and keeps them all. The field begins a page. 12 instructions, 52 bytes.
//
// case: --I1=1024,1,64 --D1=1024,1,64 --LL=16384,4,64
// expect: Ir=12 I1mr=1 ILmr=1 Dr=5 D1mr=4 DLmr=3 Dw=3 D1mw=3 DLmw=1 Bc=0 Bcm=0 Bi=0 Bim=0

        .section .bss
        .align  4096
field:  .fill   4096
        .text
        .globl  _start
_start: lea     field(%rip), %rbx
        mov     (%rbx), %rax            // read: D1 miss, LL miss
        mov     8(%rbx), %rcx           // hit
        mov     64(%rbx), %edx          // D1 miss, LL miss
        mov     1024(%rbx), %al         // D1 miss, LL miss; line 0 goes
        mov     (%rbx), %eax            // D1 miss, LL hit
        mov     %rax, 1024(%rbx)        // write: D1 miss, LL hit
        mov     %rax, 2048(%rbx)        // D1 miss, LL miss
        movb    $1, 63(%rbx)            // D1 miss, LL hit
        mov     $60, %eax
        xor     %edi, %edi
        syscall
