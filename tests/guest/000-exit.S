// SPDX-License-Identifier: MIT
//
// The smallest program: three instructions, 9 bytes, one line.
//
// case: --I1=1024,1,64 --D1=1024,1,64 --LL=16384,4,64
// expect: Ir=3 I1mr=1 ILmr=1 Dr=0 D1mr=0 DLmr=0 Dw=0 D1mw=0 DLmw=0 Bc=0 Bcm=0 Bi=0 Bim=0

        .text
        .globl  _start
_start: mov     $60, %eax
        xor     %edi, %edi
        syscall
