// SPDX-License-Identifier: MIT
//
// Callbacks. each: its loop calls through a register, three functions in turn, and once through
// memory. one is a ret, two a nop and a ret, three two nops and a ret: 1, 2 and 3.
// each: mov, then 30 times (call, xchg, xchg, dec, jnz), call through memory, ret: 153. 10 calls of
// each of the three: 10, 20, 30. one once more: 11. each with all of it: 153 + 61 = 214.
//
// edge: _start each 1 214
// edge: each one 11 11
// edge: each three 10 30
// edge: each two 10 20
        .data
where:  .quad   one
        .text
        .globl  _start
        .type   _start, @function
_start: lea     one(%rip), %rax
        lea     two(%rip), %rbx
        lea     three(%rip), %rdx
        call    each
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .size   _start, . - _start
        .type   each, @function
each:   mov     $30, %ebp
1:      call    *%rax
        xchg    %rax, %rbx
        xchg    %rbx, %rdx
        dec     %ebp
        jnz     1b
        call    *where(%rip)
        ret
        .size   each, . - each
        .type   one, @function
one:    ret
        .size   one, . - one
        .type   two, @function
two:    nop
        ret
        .size   two, . - two
        .type   three, @function
three:  nop
        nop
        ret
        .size   three, . - three
