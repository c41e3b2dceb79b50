// SPDX-License-Identifier: MIT
//
// What the stack costs, in the order of execution (R read, W write):
//   mov W; push reg W; push imm W; push mem R W; pop mem R W; pop reg R; pushfq W; popfq R; call W;
//   ret R; call *mem R W; ret R; enter W; leave R; pop reg R
// Dr 9, Dw 9. The stack is one line (its top is the end of one), the field another; both are
// written first: D1mw 2. One indirect branch, its first time: Bi 1, Bim 1. Returns are not counted.
// Ir: these 15, two of them a return, three lea before, three at the end. The code is 59 bytes; the
// function has a line of its own.
//
// case: --I1=1024,1,64 --D1=1024,1,64 --LL=16384,4,64
// expect: Ir=21 I1mr=2 ILmr=2 Dr=9 D1mr=0 DLmr=0 Dw=9 D1mw=2 DLmw=2 Bc=0 Bcm=0 Bi=1 Bim=1

        .section .bss
        .align  4096
        .fill   4096
stack:
        .fill   64
field:  .fill   64
        .text
        .globl  _start
_start: lea     stack(%rip), %rsp
        lea     field(%rip), %rbx
        lea     leaf(%rip), %rax
        mov     %rax, 8(%rbx)           // the first touch of the field: a write
        push    %rax
        push    $1
        push    (%rbx)
        pop     16(%rbx)
        pop     %rax
        pushfq
        popfq
        call    leaf
        call    *8(%rbx)
        enter   $8, $0
        leave
        pop     %rax
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .org    _start + 128, 0xcc
leaf:   ret
