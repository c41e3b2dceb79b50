// SPDX-License-Identifier: MIT
//
// A loop of twenty. Ir: 1 + 20 * 2 + 3 = 44. The branch goes back 19 times, then not. The first
// seven times the history is new (0, 1, 11, .. 111111): each finds a counter at 0, wrong. From then
// on the history is 1111111: wrong at 0, wrong at 1, right ten times, and the end of the loop wrong
// again: 7 + 2 + 1 = 10.
//
// case: --I1=1024,1,64 --D1=1024,1,64 --LL=16384,4,64
// expect: Ir=44 I1mr=1 ILmr=1 Dr=0 D1mr=0 DLmr=0 Dw=0 D1mw=0 DLmw=0 Bc=20 Bcm=10 Bi=0 Bim=0

        .text
        .globl  _start
_start: mov     $20, %ecx
1:      dec     %ecx
        jnz     1b
        mov     $60, %eax
        xor     %edi, %edi
        syscall
