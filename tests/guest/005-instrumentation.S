// SPDX-License-Identifier: MIT
//
// CACHEGRIND_START_INSTRUMENTATION and _STOP_. Between them: mov, ten times dec and jnz, a load,
// lea and the request itself, which ends the last block that is counted: 1 + 20 + 1 + 1 + 1 = 24;
// one read; the code is in two lines, and only the request reaches the last. The branch
// goes back nine times, then not, and is mispredicted each time: seven times the history is new,
// twice the counter of the history 1111111 is below 2, and then it is 2 (001-loop.S).
//
// Counted from the start there are before that mov, twenty times dec and jnz, jmp, lea and a
// request that changes nothing: 24 + 1 + 40 + 1 + 1 + 1 = 68, in three lines.
//
// case: --instr-at-start=no --I1=1024,1,64 --D1=1024,1,64 --LL=16384,4,64
// expect: Ir=24 I1mr=2 ILmr=2 Dr=1 D1mr=1 DLmr=1 Dw=0 D1mw=0 DLmw=0 Bc=10 Bcm=10 Bi=0 Bim=0
// case: --I1=1024,1,64 --D1=1024,1,64 --LL=16384,4,64
// expect: Ir=68 I1mr=3 ILmr=3 Dr=1 D1mr=1 DLmr=1 Dw=0 D1mw=0 DLmw=0 Bc=30 Bi=0 Bim=0
// about: flush watched replay-flush

#include "request.inc"

        .data
start:  .quad   0x43470000, 0, 0, 0, 0, 0
stop:   .quad   0x43470001, 0, 0, 0, 0, 0
        .balign 64
value:  .long   7

        .text
        .globl  _start
        .balign 64
_start: mov     $20, %ecx
1:      dec     %ecx
        jnz     1b
        jmp     2f
        .balign 64
2:      lea     start(%rip), %rax
        REQUEST
        mov     $10, %ecx
3:      dec     %ecx
        jnz     3b
        mov     value(%rip), %ebx
        lea     stop(%rip), %rax
        REQUEST
        mov     $30, %ecx
4:      dec     %ecx
        jnz     4b
        mov     value(%rip), %ebx
        mov     $60, %eax
        xor     %edi, %edi
        syscall
