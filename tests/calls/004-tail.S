// SPDX-License-Identifier: MIT
//
// Tail calls: a jump to the beginning of another function is a call by the one that it leaves.
// first: nop, jmp; second: test, jz taken to third; third: nop, nop, ret. So third is 3, second
// 2 + 3, first 2 + 5, four times. even tail-calls through a register: lea, jmp, and third: 5.
//
// edge: _start even 2 10
// edge: _start first 4 28
// edge: even third 2 6
// edge: first second 4 20
// edge: second third 4 12
        .text
        .globl  _start
        .type   _start, @function
_start: mov     $4, %ebp
1:      call    first
        dec     %ebp
        jnz     1b
        call    even
        call    even
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .size   _start, . - _start
        .type   first, @function
first:  nop
        jmp     second
        .size   first, . - first
        .type   second, @function
second: test    %esp, %esp
        jnz     third
        ud2
        .size   second, . - second
        .type   third, @function
third:  nop
        nop
        ret
        .size   third, . - third
        .type   even, @function
even:   lea     third(%rip), %rax
        jmp     *%rax
        .size   even, . - even
