// SPDX-License-Identifier: MIT
//
// Instructions that single-stepping itself changes, or that a translator may: flags on the stack
// (with the trap flag of the stepper to hide), a segment register that delays the next trap,
// repeated strings of length 0, 1 and n, short loops, identification, system calls that fail,
// far jumps, and the registers that a system call clobbers.

        .section .bss
        .align  64
field:  .fill   1024

        .text
        .globl  run
        .type   run, @function
run:    push    %rbx
        push    %r12
        mov     $30, %r12d
        lea     field(%rip), %rbx
again:  pushfq
        pop     %rax
        test    $0x100, %eax            // the trap flag must not be seen
        jnz     wrong
        mov     %eax, (%rbx)
        push    %rax
        popfq
        mov     %ss, %eax
        mov     %eax, 8(%rbx)
        mov     %eax, %ss
        inc     %ecx                    // not trapped
        mov     8(%rbx), %ss
        nop                             // neither
        pushfw
        popfw
        mov     %r12d, %ecx
        and     $3, %ecx
        lea     16(%rbx), %rdi
        mov     %rbx, %rsi
        rep movsb
        mov     $100, %ecx
        rep stosb
        xor     %ecx, %ecx
        rep stosq
        mov     $9, %ecx
        mov     %rbx, %rdi
        repne scasb
        mov     %r12d, %ecx
        and     $7, %ecx
        jrcxz   2f
1:      loop    1b
2:      xor     %eax, %eax
        mov     %rbx, %r8
        cpuid
        mov     %r8, %rbx
        mov     $-1, %edi               // close(-1)
        mov     $3, %eax
        syscall
3:      cmp     $-9, %rax               // EBADF
        jne     wrong
        test    $0x100, %r11d           // the flags, without the trap flag
        jnz     wrong
        lea     3b(%rip), %rax          // rcx is where the system call returned to
        cmp     %rcx, %rax
        jne     wrong
        call    far
        dec     %r12d
        jnz     again
        xor     %eax, %eax
        pop     %r12
        pop     %rbx
        ret
wrong:  mov     $1, %eax
        pop     %r12
        pop     %rbx
        ret
        .size   run, . - run
        .fill   70000, 1, 0xcc
        .type   far, @function
far:    rep nop
        rep ret
        .size   far, . - far
        .section .note.GNU-stack, "", @progbits
