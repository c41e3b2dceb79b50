// SPDX-License-Identifier: MIT
//
// A coroutine's stack is copied elsewhere while it waits. resume and yield are those of
// 010-coroutine: 5 instructions, all of them before the stack changes. other is the first on its
// stack. The first call of body: call, yield's 5, and on the copy call, work's 2, ret: 10. The
// second is open at the end: call and yield's 5.
//
// edge: _start resume 2 10
// edge: other body 2 16
// edge: body yield 2 10
// edge: body work 1 2
        .bss
        .align  16
        .skip   65536
stack:  .skip   65536
copy:   .skip   16
ours:   .skip   8
theirs: .skip   8
        .text
        .globl  _start
        .type   _start, @function
_start: lea     other(%rip), %rax
        mov     %rax, stack - 8(%rip)
        lea     stack - 16(%rip), %rbx
        mov     %rbx, theirs(%rip)
        call    resume
        lea     stack - 64(%rip), %rsi // all that is there
        lea     copy - 64(%rip), %rdi
        mov     $8, %ecx
1:      mov     -8(%rsi, %rcx, 8), %rax
        mov     %rax, -8(%rdi, %rcx, 8)
        dec     %ecx
        jnz     1b
        sub     %rsi, theirs(%rip)
        add     %rdi, theirs(%rip)
        call    resume
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .size   _start, . - _start
        .type   resume, @function
resume: push    %rbx
        mov     %rsp, ours(%rip)
        mov     theirs(%rip), %rsp
        pop     %rbx
        ret
        .size   resume, . - resume
        .type   yield, @function
yield:  push    %rbx
        mov     %rsp, theirs(%rip)
        mov     ours(%rip), %rsp
        pop     %rbx
        ret
        .size   yield, . - yield
        .type   other, @function
other:  call    body
        jmp     other
        .size   other, . - other
        .type   body, @function
body:   call    yield
        call    work
        ret
        .size   body, . - body
        .type   work, @function
work:   nop
        ret
        .size   work, . - work
