// SPDX-License-Identifier: MIT
//
// Instructions that cross lines of code. 60 one-byte instructions in the first line; one of 10
// bytes at 60, half in the second: one reference, one miss; the second line is then there for the
// jump (70). Its target at 254 is two bytes long and ends its line; the next one begins another at
// 256. Lines fetched: 0, 1, 3, 4. Ir: 60 + 1 + 1 + 1 + 3 = 66.
//
// With lines of 32 bytes: 0, 1 (nops), 2 (the long one; the jump at 70), 7 (224..255), 8: five.
// With lines of 16: 0, 1, 2, 3; 4 (the long one, 64..69, and the jump); 15 (240..255); 16: seven.
//
// case: --I1=1024,1,64 --D1=1024,1,64 --LL=16384,4,64
// expect: Ir=66 I1mr=4 ILmr=4 Dr=0 D1mr=0 DLmr=0 Dw=0 D1mw=0 DLmw=0 Bc=0 Bcm=0 Bi=0 Bim=0
// case: --I1=1024,1,32 --D1=1024,1,64 --LL=16384,4,64
// expect: Ir=66 I1mr=5 ILmr=4 Dr=0 D1mr=0 DLmr=0 Dw=0 D1mw=0 DLmw=0 Bc=0 Bcm=0 Bi=0 Bim=0
// case: --I1=1024,1,16 --D1=1024,1,64 --LL=16384,4,16
// expect: Ir=66 I1mr=7 ILmr=7 Dr=0 D1mr=0 DLmr=0 Dw=0 D1mw=0 DLmw=0 Bc=0 Bcm=0 Bi=0 Bim=0

        .text
        .globl  _start
_start: .fill   60, 1, 0x90
        movabs  $0x1122334455667788, %rax
        jmp     1f
        .org    _start + 254, 0xcc
1:      xor     %edi, %edi
        mov     $60, %eax
        mov     %edi, %esi
        syscall
