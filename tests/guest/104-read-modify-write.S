// SPDX-License-Identifier: MIT
//
// Read-modify-write of one address is one read. Ten of them: nine in line 0 and one, the bit
// string, in line 1 (bit 600 is in byte 75). None is a branch, locked or not. As Cachegrind counts
// (--rep-count=cachegrind): xchg and the locked addition, but not the locked compare-and-exchange,
// read twice and have a branch that is never taken, and so predicted: Dr 12, Bc 2, Bcm 0. 15
// instructions, 63 bytes.
//
// case: --I1=1024,1,64 --D1=1024,1,64 --LL=16384,4,64
// expect: Ir=15 I1mr=1 ILmr=1 Dr=10 D1mr=2 DLmr=2 Dw=0 D1mw=0 DLmw=0 Bc=0 Bcm=0 Bi=0 Bim=0
// case: --rep-count=cachegrind --I1=1024,1,64 --D1=1024,1,64 --LL=16384,4,64
// expect: Ir=15 I1mr=1 ILmr=1 Dr=12 D1mr=2 DLmr=2 Dw=0 D1mw=0 DLmw=0 Bc=2 Bcm=0 Bi=0 Bim=0

        .section .bss
        .align  4096
field:  .fill   4096
        .text
        .globl  _start
_start: lea     field(%rip), %rbx
        incl    (%rbx)
        addq    $1, 8(%rbx)
        notb    16(%rbx)
        shll    $2, 20(%rbx)
        xchg    %rax, 24(%rbx)
        lock addl $1, 32(%rbx)
        lock cmpxchg %ecx, 36(%rbx)
        btsl    $1, 40(%rbx)
        xadd    %rax, 48(%rbx)
        mov     $600, %eax
        bts     %rax, (%rbx)
        mov     $60, %eax
        xor     %edi, %edi
        syscall
