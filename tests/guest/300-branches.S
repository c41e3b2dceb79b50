// SPDX-License-Identifier: MIT
//
// Conditional branches of all kinds count once each time, taken or not: jcc, jrcxz, loop, loope,
// loopne; a plain jump, a conditional move and a set do not. History and address of each, from an
// empty predictor (counter 0 predicts not taken):
//   jz taken        history 0          wrong
//   jz not taken    history 1          right
//   jrcxz not taken history 10         right
//   loop, 3 times:  taken, history 100, wrong; taken, 1001, wrong; not taken, 10011, right
//   loope, not taken (ZF 0), 100110    right
//   loopne, taken once, 1001100        wrong
//   jrcxz taken     history 0011001    wrong
// Bc 9, Bcm 5. No two meet in one counter: their addresses differ.
// Ir: xor jz(t) xor jz(n) mov jrcxz 3*loop mov or loope mov loopne xor jrcxz jmp + 3 = 20.
//
// case: --I1=1024,1,64 --D1=1024,1,64 --LL=16384,4,64
// expect: Ir=20 Dr=0 Dw=0 Bc=9 Bcm=5 Bi=0 Bim=0
// about: no-way-search replay-c

        .text
        .globl  _start
_start: xor     %eax, %eax              // ZF 1
        jz      1f
        ud2
1:      or      $1, %eax                // ZF 0
        jz      2f
        mov     $3, %ecx
        jrcxz   2f
3:      loop    3b
        mov     $2, %ecx
        or      $1, %eax
        loope   2f                      // count 1, but ZF 0: not taken
        mov     $2, %ecx
        loopne  4f
        ud2
4:      xor     %ecx, %ecx
        jrcxz   5f
        ud2
5:      jmp     6f
2:      ud2
6:      mov     $60, %eax
        xor     %edi, %edi
        syscall
