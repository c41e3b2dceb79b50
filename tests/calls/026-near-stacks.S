// SPDX-License-Identifier: MIT
//
// Two coroutines that switch to each other on stacks of 1024 bytes each, side by side in the
// frame of the function that starts them; first one's is below, then the other's, in the memory of
// two stacks that have ended. switch: push, mov, mov (here the stack changes), pop, ret: 5,
// whichever returns through it. a works and switches to b three times, and then returns; b works
// and switches, in an endless loop. They start on stacks of their own, and have no caller. work:
// nop, ret: 2. pair: ten movs and leas, call, nop, ret: 13, and 5 of switch.
//
// edge: _start pair 2 36
// edge: pair switch 2 10
// edge: a work 6 12
// edge: a switch 8 40
// edge: b work 6 12
// edge: b switch 6 30
        .bss
        .align  16
m_sp:   .skip   8
a_sp:   .skip   8
b_sp:   .skip   8
        .text
        .globl  _start
        .type   _start, @function
_start: lea     -8192(%rsp), %rsp
        lea     1024(%rsp), %rdx
        lea     2048(%rsp), %rcx
        call    pair
        lea     2048(%rsp), %rdx
        lea     1024(%rsp), %rcx
        call    pair
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .size   _start, . - _start
        .type   pair, @function
pair:   lea     a(%rip), %rax
        mov     %rax, -8(%rdx)
        lea     -16(%rdx), %rdx
        mov     %rdx, a_sp(%rip)
        lea     b(%rip), %rax
        mov     %rax, -8(%rcx)
        lea     -16(%rcx), %rcx
        mov     %rcx, b_sp(%rip)
        lea     m_sp(%rip), %rdi
        lea     a_sp(%rip), %rsi
        call    switch
        nop
        ret
        .size   pair, . - pair
        .type   switch, @function
switch: push    %rbx
        mov     %rsp, (%rdi)
        mov     (%rsi), %rsp
        pop     %rbx
        ret
        .size   switch, . - switch
        .type   a, @function
a:      mov     $3, %ebp
1:      call    work
        lea     a_sp(%rip), %rdi
        lea     b_sp(%rip), %rsi
        call    switch
        dec     %ebp
        jnz     1b
        lea     a_sp(%rip), %rdi
        lea     m_sp(%rip), %rsi
        call    switch
        .size   a, . - a
        .type   b, @function
b:      call    work
        lea     b_sp(%rip), %rdi
        lea     a_sp(%rip), %rsi
        call    switch
        jmp     b
        .size   b, . - b
        .type   work, @function
work:   nop
        ret
        .size   work, . - work
