// SPDX-License-Identifier: MIT
//
// The handler of a fault makes the faulting function call another, as Go's does: it pushes a
// return address after the instruction and changes the rip of the context. victim: nop, nop, ret: 3
// (ud2 is not executed), and alarm's 2. handler has no caller, and no function includes its cost.
//
// edge: _start victim 2 10
// edge: victim alarm 2 4
        .data
        .align  8
action: .quad   handler, 0x04000004, restore, 0 // SA_RESTORER and SA_SIGINFO
        .text
        .globl  _start
        .type   _start, @function
_start: mov     $13, %eax // rt_sigaction
        mov     $4, %edi  // SIGILL
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
victim: nop
        ud2
        nop
        ret
        .size   victim, . - victim
        .type   alarm, @function
alarm:  nop
        ret
        .size   alarm, . - alarm
        .type   handler, @function
handler:
        mov     0xa8(%rdx), %rax // rip
        add     $2, %rax
        mov     0xa0(%rdx), %rcx // rsp
        sub     $8, %rcx
        mov     %rax, (%rcx)
        mov     %rcx, 0xa0(%rdx)
        lea     alarm(%rip), %rax
        mov     %rax, 0xa8(%rdx)
        ret
        .size   handler, . - handler
        .type   restore, @function
restore:
        mov     $15, %eax
        syscall
        .size   restore, . - restore
