// SPDX-License-Identifier: MIT
//
// Instructions without a data reference: lea, nop with an operand, prefetch, clflush. Instructions
// with one that may have no effect: a conditional move whose condition is false reads (Dr 1); a set
// writes one byte (Dw 1). A test reads (Dr 1); none of them is a branch. All in one line of data,
// first touched by the conditional move. 14 instructions, 59 bytes.
//
// case: --I1=1024,1,64 --D1=1024,1,64 --LL=16384,4,64
// expect: Ir=14 I1mr=1 ILmr=1 Dr=2 D1mr=1 DLmr=1 Dw=1 D1mw=0 DLmw=0 Bc=0 Bcm=0 Bi=0 Bim=0

        .section .bss
        .align  4096
field:  .fill   4096
        .text
        .globl  _start
_start: lea     field(%rip), %rbx
        lea     64(%rbx,%rbx), %rax
        nopl    256(%rbx)
        prefetcht0 128(%rbx)
        prefetchw  (%rbx)
        clflush (%rbx)
        endbr64
        xor     %eax, %eax              // ZF 1
        cmovnz  (%rbx), %rcx
        setz    8(%rbx)
        testb   $1, 8(%rbx)
        mov     $60, %eax
        xor     %edi, %edi
        syscall
