// SPDX-License-Identifier: MIT
//
// A client request is one instruction of 19 bytes. Ir: lea, mov, request, jmp, request and the
// three of the end: 8. The second begins 58 bytes into the first line and ends in the second one,
// so two lines are fetched. With --client-requests=no each is five instructions: 16.
//
// case: --I1=1024,1,64 --D1=1024,1,64 --LL=16384,4,64
// expect: Ir=8 I1mr=2 ILmr=2 Dr=0 D1mr=0 DLmr=0 Dw=0 D1mw=0 DLmw=0 Bc=0 Bcm=0 Bi=0 Bim=0
// case: --client-requests=no --I1=1024,1,64 --D1=1024,1,64 --LL=16384,4,64
// expect: Ir=16 I1mr=2 ILmr=2 Dr=0 D1mr=0 DLmr=0 Dw=0 D1mw=0 DLmw=0 Bc=0 Bcm=0 Bi=0 Bim=0

#include "request.inc"

        .data
running:
        .quad   0x1001, 0, 0, 0, 0, 0

        .text
        .globl  _start
        .balign 64
_start: lea     running(%rip), %rax
        mov     $0, %edx
        REQUEST
        jmp     1f
        .org    58
1:      REQUEST
        mov     $60, %eax
        xor     %edi, %edi
        syscall
