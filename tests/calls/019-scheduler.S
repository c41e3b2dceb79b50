// SPDX-License-Identifier: MIT
//
// Two workers on stacks of their own, as in Go. clock switches to the scheduler's stack, calls work
// there and returns: mov, mov, call, mov, ret, and work's 2: 7. park saves its position,
// switches to that stack, too, and calls next there, which does not return but resumes the other
// worker: lea, mov, mov, call and next's xchg, xchg, mov, jmp: 8. So park costs its caller what it
// executed until the stack changed, and returns when its worker resumes.
//
// edge: first clock 3 21
// edge: clock work 3 6
// edge: first park 3 24
// edge: second work 3 6
// edge: second park 3 24
// edge: park next 6 24
        .bss
        .align  16
        .skip   1024
low:    .skip   1024
high:   .skip   16
sched:  .skip   8
sp:     .skip   8
pc:     .skip   8
        .text
        .globl  _start
        .type   _start, @function
_start: mov     %rsp, sched(%rip)
        lea     high(%rip), %rax
        mov     %rax, sp(%rip)
        lea     second(%rip), %rax
        mov     %rax, pc(%rip)
        lea     low(%rip), %rsp
        jmp     first
        .size   _start, . - _start
        .type   first, @function
first:  mov     $3, %ebp
1:      call    clock
        call    park
        dec     %ebp
        jnz     1b
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .size   first, . - first
        .type   second, @function
second: call    work
        call    park
        jmp     second
        .size   second, . - second
        .type   clock, @function
clock:  mov     %rsp, %r12
        mov     sched(%rip), %rsp
        call    work
        mov     %r12, %rsp
        ret
        .size   clock, . - clock
        .type   park, @function
park:   lea     8(%rsp), %rbx
        mov     (%rsp), %rcx
        mov     sched(%rip), %rsp
        call    next
        .size   park, . - park
        .type   next, @function
next:   xchg    %rbx, sp(%rip)
        xchg    %rcx, pc(%rip)
        mov     %rbx, %rsp
        jmp     *%rcx
        .size   next, . - next
        .type   work, @function
work:   nop
        ret
        .size   work, . - work
