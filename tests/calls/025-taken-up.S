// SPDX-License-Identifier: MIT
//
// A coroutine that two threads take from each other, as in Go: park switches to its thread's own
// stack and calls next there, which passes the coroutine to the other thread and waits, still on
// the other side of that switch, until it comes back. They wait by reading from pipes, so every run
// is the same. r12 to r14 are a thread's: its stack, its read end and its write end.
// work: nop, ret: 2. next: mov, mov, write's 5, read's 5, mov, jmp: 14. park: lea, mov, mov, call:
// 4, and next's, whichever thread takes the coroutine. body: mov, four times call, call, decq, jnz,
// and ret: 18, and what it calls: 4 * (2 + 18). waits: mov, mov, mov, read's 5, mov, jmp: 10.
// At the end the second thread, still in next, switches to an unused stack, and ends.
//
// edge: _start waits 1 10
// edge: first body 1 98
// edge: body work 4 8
// edge: body park 4 72
// edge: park next 4 56
        .bss
        .align  16
        .skip   4096
stack:  .skip   65536
second: .skip   65536
third:  .skip   16
sp:     .skip   8
pc:     .skip   8
left:   .skip   8
byte:   .skip   8
there:  .skip   8
back:   .skip   8
        .data
tid:    .long   1 // until the second thread has ended
        .text
        .globl  _start
        .type   _start, @function
_start: mov     $22, %eax // pipe
        lea     there(%rip), %rdi
        syscall
        mov     $22, %eax
        lea     back(%rip), %rdi
        syscall
        mov     $56, %eax // clone: CLONE_VM, FS, FILES, SIGHAND, THREAD, SYSVSEM, CHILD_CLEARTID
        mov     $0x250f00, %edi
        lea     second(%rip), %rsi
        xor     %edx, %edx
        lea     tid(%rip), %r10
        xor     %r8d, %r8d
        syscall
        test    %eax, %eax
        jz      waits
        mov     %rsp, %r12
        mov     back(%rip), %r13d
        mov     4 + there(%rip), %r14d
        lea     stack(%rip), %rsp
        jmp     first
        .size   _start, . - _start
        .type   waits, @function
waits:  mov     %rsp, %r12
        mov     there(%rip), %r13d
        mov     4 + back(%rip), %r14d
        mov     $0, %eax
        mov     %r13d, %edi
        lea     byte(%rip), %rsi
        mov     $1, %edx
        syscall
        mov     sp(%rip), %rsp
        jmp     *pc(%rip)
        .size   waits, . - waits
        .type   first, @function
first:  call    body
        lea     third(%rip), %rax
        mov     %rax, sp(%rip)
        lea     ends(%rip), %rax
        mov     %rax, pc(%rip)
        mov     $1, %eax
        mov     %r14d, %edi
        lea     byte(%rip), %rsi
        mov     $1, %edx
        syscall
        mov     $202, %eax // futex: FUTEX_WAIT, at most once
        lea     tid(%rip), %rdi
        xor     %esi, %esi
        mov     $1, %edx
        xor     %r10d, %r10d
        syscall
        mov     $231, %eax // exit_group
        xor     %edi, %edi
        syscall
        .size   first, . - first
        .type   ends, @function
ends:   mov     $60, %eax
        xor     %edi, %edi
        syscall
        .size   ends, . - ends
        .type   body, @function
body:   movq    $4, left(%rip)
1:      call    work
        call    park
        decq    left(%rip)
        jnz     1b
        ret
        .size   body, . - body
        .type   park, @function
park:   lea     8(%rsp), %rbx
        mov     (%rsp), %rcx
        mov     %r12, %rsp
        call    next
        .size   park, . - park
        .type   next, @function
next:   mov     %rbx, sp(%rip)
        mov     %rcx, pc(%rip)
        mov     $1, %eax
        mov     %r14d, %edi
        lea     byte(%rip), %rsi
        mov     $1, %edx
        syscall
        mov     $0, %eax
        mov     %r13d, %edi
        lea     byte(%rip), %rsi
        mov     $1, %edx
        syscall
        mov     sp(%rip), %rsp
        jmp     *pc(%rip)
        .size   next, . - next
        .type   work, @function
work:   nop
        ret
        .size   work, . - work
