// SPDX-License-Identifier: MIT
//
// String instructions without a prefix: movs R W, stos W, lods R, scas R, cmps R R; by 1, 2, 4 and
// 8 bytes.
//   movsb R W   movsw R W   movsl R W   movsq R W     15 bytes from line 0 to line 1
//   stosb W   stosw W   stosl W   stosq W             from 79 on: 15 bytes, line 1
//   lodsb R   lodsw R   lodsl R   lodsq R             15 bytes from 15 on, line 0
//   scasb R   scasq R                                 9 bytes from 94 on, line 1
//   cmpsb R R   cmpsl R R                             from 30, line 0, and 103, line 1
// Dr: 4 + 4 + 2 + 4 = 14, Dw: 4 + 4 = 8. The first movsb misses once on each side. One line of code
// has 64 bytes: lea 7, lea 4, mov 3, and the instructions 1 + 2 + 1 + 2, 1 + 2 + 1 + 2,
// 1 + 2 + 1 + 2, 1 + 2, 1 + 1, and 9: 46.
//
// case: --I1=1024,1,64 --D1=1024,1,64 --LL=16384,4,64
// expect: Ir=22 I1mr=1 ILmr=1 Dr=14 D1mr=1 DLmr=1 Dw=8 D1mw=1 DLmw=1 Bc=0 Bcm=0 Bi=0 Bim=0
// case: --rep-count=cachegrind --I1=1024,1,64 --D1=1024,1,64 --LL=16384,4,64
// expect: Ir=22 I1mr=1 ILmr=1 Dr=14 D1mr=1 DLmr=1 Dw=8 D1mw=1 DLmw=1 Bc=0 Bcm=0 Bi=0 Bim=0

        .section .bss
        .align  4096
field:  .fill   4096
        .text
        .globl  _start
_start: lea     field(%rip), %rbx
        lea     64(%rbx), %rdi
        mov     %rbx, %rsi
        movsb
        movsw
        movsl
        movsq
        stosb
        stosw
        stosl
        stosq
        lodsb
        lodsw
        lodsl
        lodsq
        scasb
        scasq
        cmpsb
        cmpsl
        mov     $60, %eax
        xor     %edi, %edi
        syscall
