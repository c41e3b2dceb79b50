// SPDX-License-Identifier: MIT
//
// Linkage tables belong to no function: a call through them is a call of the final target, and
// costs the caller an instruction. The first time `slot` leads to `lazy`, through a second part
// of the table (push, jmp): a call of lazy, which removes the pushed word (pop, lea, mov, jmp:
// 4), and then one of far by the same caller. far: nop, nop, ret: 3. tail jumps into the table: 2,
// plus the cost of that, and far.
//
// edge: _start far 4 12
// edge: _start lazy 1 4
// edge: _start tail 2 10
// edge: tail far 2 6
        .data
slot:   .quad   behind
        .text
        .globl  _start
        .type   _start, @function
_start: call    entry
        call    entry
        call    entry
        call    entry
        call    tail
        call    tail
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .size   _start, . - _start
        .type   tail, @function
tail:   jmp     entry
        .size   tail, . - tail
        .type   far, @function
far:    nop
        nop
        ret
        .size   far, . - far
        .type   lazy, @function
lazy:   pop     %rax
        lea     far(%rip), %rax
        mov     %rax, slot(%rip)
        jmp     *%rax
        .size   lazy, . - lazy
        .section .plt, "ax"
entry:  jmp     *slot(%rip)
behind: push    $0
        jmp     *resolver(%rip)
        .data
resolver:
        .quad   lazy
