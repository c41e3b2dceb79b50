// SPDX-License-Identifier: MIT
// A program without a libc that checks the processor's state at its start, by the kernel or the
// engine. Exit status: 0, or the number of the first wrong item. Verified natively: it exits 0
// there.
    .text
    .globl _start
_start:
    // 1: general registers other than rsp are 0 (ELF_PLAT_INIT)
    or %rax, %rbx
    or %rbx, %rcx
    or %rcx, %rdx
    or %rdx, %rsi
    or %rsi, %rdi
    or %rdi, %rbp
    or %rbp, %r8
    or %r8, %r9
    or %r9, %r10
    or %r10, %r11
    or %r11, %r12
    or %r12, %r13
    or %r13, %r14
    or %r14, %r15
    mov $1, %edi
    test %r15, %r15
    jnz 9f
    // 2: the stack pointer is aligned and points to argc, argv ends with 0
    mov $2, %edi
    test $15, %rsp
    jnz 9f
    mov (%rsp), %rcx
    cmpq $0, 8(%rsp,%rcx,8)
    jne 9f
    cmpq $0, (%rsp,%rcx,8)
    je 9f
    // 3: flags: interrupts enabled and the bit that is always 1
    mov $3, %edi
    xor %eax, %eax
    pushf
    pop %rax
    and $0xffffffffffffff00, %rax // the tests above set the arithmetic flags
    cmp $0x200, %rax
    jne 9f
    // 4, 5: the state of floating point is initial
    mov $4, %edi
    push $0
    stmxcsr (%rsp)
    cmpl $0x1f80, (%rsp)
    jne 9f
    mov $5, %edi
    fnstcw (%rsp)
    cmpw $0x37f, (%rsp)
    jne 9f
    // 6: vector registers are empty
    mov $6, %edi
    movdqa %xmm0, %xmm1
    por %xmm7, %xmm1
    por %xmm15, %xmm1
    movq %xmm1, %rax
    test %rax, %rax
    jnz 9f
    // 7, 8: segment bases are 0 (arch_prctl ARCH_GET_FS, ARCH_GET_GS)
    mov $158, %eax
    mov $0x1003, %edi
    mov %rsp, %rsi
    syscall
    mov $7, %edi
    cmpq $0, (%rsp)
    jne 9f
    mov $158, %eax
    mov $0x1004, %edi
    mov %rsp, %rsi
    syscall
    mov $8, %edi
    cmpq $0, (%rsp)
    jne 9f
    xor %edi, %edi
9:  mov $231, %eax
    syscall
    .section .note.GNU-stack, "", @progbits
