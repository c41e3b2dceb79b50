// SPDX-License-Identifier: MIT
//
// A child made by clone with the parent's memory starts with the parent's registers, the new stack
// and 0 in rax; the parent keeps all of its own. Also with the same stack for both, while the
// parent waits, and by vfork and fork.
//
// varies: two threads share LL

        .set    CLONE_VM, 0x100
        .set    CLONE_VFORK, 0x4000
        .set    SIGCHLD, 17

        .section .bss
        .align  64
        .fill   8192
stack:
        .fill   8192
child_stack:
verdict:
        .long   0                       // the child sets it to 1 when its registers are right
status: .long   0

        .section .rodata
        .align  8
kinds:  .quad   CLONE_VM | SIGCHLD, child_stack
        .quad   CLONE_VM | CLONE_VFORK | SIGCHLD, child_stack
        .quad   CLONE_VM | CLONE_VFORK | SIGCHLD, 0
kinds_end:

        .text
        .globl  _start
_start: lea     stack(%rip), %rsp
        lea     kinds(%rip), %rbx
next:   movl    $0, verdict(%rip)
        mov     (%rbx), %rdi
        mov     8(%rbx), %rsi
        mov     $0x33, %edx
        mov     $0x1010, %r10d
        mov     $0x88, %r8d
        mov     $0x99, %r9d
        mov     $0x55, %ebp
        mov     $0x1212, %r12d
        mov     $0x1313, %r13d
        mov     $0x1414, %r14d
        mov     $0x1515, %r15d
        movd    %ebp, %xmm7
        mov     $56, %eax               // clone
        syscall
        // Both come here.
        cmp     $0x33, %edx
        jne     wrong
        cmp     (%rbx), %rdi
        jne     wrong
        cmp     8(%rbx), %rsi
        jne     wrong
        cmp     $0x1010, %r10d
        jne     wrong
        cmp     $0x88, %r8d
        jne     wrong
        cmp     $0x99, %r9d
        jne     wrong
        cmp     $0x55, %ebp
        jne     wrong
        cmp     $0x1212, %r12d
        jne     wrong
        cmp     $0x1313, %r13d
        jne     wrong
        cmp     $0x1414, %r14d
        jne     wrong
        cmp     $0x1515, %r15d
        jne     wrong
        movd    %xmm7, %ecx
        cmp     $0x55, %ecx
        jne     wrong
        test    %rax, %rax
        jz      child
        js      wrong
        lea     stack(%rip), %rcx
        cmp     %rsp, %rcx
        jne     wrong
        call    wait
        cmpl    $1, verdict(%rip)
        jne     wrong
        add     $16, %rbx
        lea     kinds_end(%rip), %rax
        cmp     %rax, %rbx
        jne     next

        mov     $58, %eax               // vfork
        syscall
        test    %rax, %rax
        jz      plain
        js      wrong
        call    wait
        mov     $57, %eax               // fork
        syscall
        test    %rax, %rax
        jz      plain
        js      wrong
        call    wait
        xor     %edi, %edi
        jmp     exit

child:  mov     8(%rbx), %rcx           // the new stack, or the parent's
        test    %rcx, %rcx
        jnz     1f
        lea     stack(%rip), %rcx
1:      cmp     %rsp, %rcx
        jne     wrong
        movl    $1, verdict(%rip)
        mov     $7, %edi
        jmp     exit
plain:  mov     $7, %edi
        jmp     exit
wrong:  mov     $1, %edi
exit:   mov     $60, %eax
        syscall

        // Waits for the child rax, which must end with 7.
wait:   push    %rbx
        mov     %rax, %rdi
        lea     status(%rip), %rsi
        xor     %edx, %edx
        xor     %r10d, %r10d
        mov     $61, %eax               // wait4
        syscall
        test    %rax, %rax
        jle     wrong
        cmpl    $0x700, status(%rip)
        jne     wrong
        pop     %rbx
        ret
