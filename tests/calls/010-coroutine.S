// SPDX-License-Identifier: MIT
//
// Two stacks. resume and yield save the stack pointer and load the other one: push, mov, mov
// (here the stack changes), pop, ret: 5. other begins on a stack of its own, so it has no caller.
// It calls work (nop, ret) and yields, in an endless loop; _start resumes it twelve times.
// A call of resume costs 3 until the stack changes. After that the first continues in other: 2 that
// are still its own; yield's calls execute the others. 11 of these end with the pop and ret of
// a resume, and each call of resume with those of a yield: 12 * (3 + 2) either way.
//
// edge: _start resume 12 60
// edge: other work 12 24
// edge: other yield 12 60
        .bss
        .align  16
        .fill   65536
stack:  .fill   16
ours:   .fill   8
theirs: .fill   8
        .text
        .globl  _start
        .type   _start, @function
_start: lea     other(%rip), %rax
        lea     stack(%rip), %rbx
        mov     %rax, -8(%rbx)
        lea     -16(%rbx), %rbx
        mov     %rbx, theirs(%rip)
        mov     $12, %ebp
1:      call    resume
        dec     %ebp
        jnz     1b
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
other:  call    work
        call    yield
        jmp     other
        .size   other, . - other
        .type   work, @function
work:   nop
        ret
        .size   work, . - work
