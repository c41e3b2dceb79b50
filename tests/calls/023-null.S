// SPDX-License-Identifier: MIT
//
// A call through a null pointer: nothing is executed there, and a handler makes it return. The call
// belongs to no function, and all others keep their names. victim: xor, call, call, ret: 4, and
// work's 2. handler has no caller.
//
// edge: _start victim 2 12
// edge: victim work 2 4
        .data
        .align  8
action: .quad   handler, 0x04000004, restore, 0 // SA_RESTORER and SA_SIGINFO
        .text
        .globl  _start
        .type   _start, @function
_start: mov     $13, %eax // rt_sigaction
        mov     $11, %edi // SIGSEGV
        lea     action(%rip), %rsi
        xor     %edx, %edx
        mov     $8, %r10d
        syscall
        call    victim
        call    victim
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .size   _start, . - _start
        .type   victim, @function
victim: xor     %eax, %eax
        call    *%rax
        call    work
        ret
        .size   victim, . - victim
        .type   work, @function
work:   nop
        ret
        .size   work, . - work
        .type   handler, @function
handler:
        mov     0xa0(%rdx), %rcx // rsp
        mov     (%rcx), %rax
        mov     %rax, 0xa8(%rdx) // rip
        add     $8, %rcx
        mov     %rcx, 0xa0(%rdx)
        ret
        .size   handler, . - handler
        .type   restore, @function
restore:
        mov     $15, %eax
        syscall
        .size   restore, . - restore
