// SPDX-License-Identifier: MIT
//
// A signal's handler has no caller, and the interrupted function does not include its
// cost. raise: mov, mov, mov, syscall, ret: 5, five times. handler: call, ret: 2, and work: 2.
//
// edge: _start raise 5 25
// edge: handler work 5 10
        .data
        .align  8
action: .quad   handler, 0x04000000, restore, 0
        .text
        .globl  _start
        .type   _start, @function
_start: mov     $13, %eax               // rt_sigaction
        mov     $10, %edi
        lea     action(%rip), %rsi
        xor     %edx, %edx
        mov     $8, %r10d
        syscall
        mov     $39, %eax               // getpid
        syscall
        mov     %rax, %r12
        mov     $5, %ebp
1:      call    raise
        dec     %ebp
        jnz     1b
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .size   _start, . - _start
        .type   raise, @function
raise:  mov     $62, %eax               // kill
        mov     %r12, %rdi
        mov     $10, %esi
        syscall
        ret
        .size   raise, . - raise
        .type   handler, @function
handler:
        call    work
        ret
        .size   handler, . - handler
        .type   work, @function
work:   nop
        ret
        .size   work, . - work
        .type   restore, @function
restore:
        mov     $15, %eax
        syscall
        .size   restore, . - restore
