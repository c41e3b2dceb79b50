// SPDX-License-Identifier: MIT
//
// A function on a stack at a low address calls others on a stack at a high address, where nothing
// was before, through a register, and returns: they are its calls, and it continues. begin
// is the first on its stack, and has no caller. work: mov, lea,
// lea, call, lea, call, mov, ret: 8. leaf: nop, ret: 2. deep: lea, call, nop, ret: 4, and leaf.
//
// edge: begin work 2 32
// edge: work leaf 2 4
// edge: work deep 2 12
// edge: deep leaf 2 4
        .bss
        .align  16
        .skip   65536
low:    .skip   65536
high:   .skip   16
        .text
        .globl  _start
        .type   _start, @function
_start: lea     low(%rip), %rsp
        jmp     begin
        .size   _start, . - _start
        .type   begin, @function
begin:  call    work
        call    work
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .size   begin, . - begin
        .type   work, @function
work:   mov     %rsp, %r12
        lea     high(%rip), %rsp
        lea     leaf(%rip), %rax
        call    *%rax
        lea     deep(%rip), %rax
        call    *%rax
        mov     %r12, %rsp
        ret
        .size   work, . - work
        .type   deep, @function
deep:   lea     leaf(%rip), %rax
        call    *%rax
        nop
        ret
        .size   deep, . - deep
        .type   leaf, @function
leaf:   nop
        ret
        .size   leaf, . - leaf
