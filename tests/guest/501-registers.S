// SPDX-License-Identifier: MIT
//
// All general registers, xmm0 to xmm15, the rounding mode and 128 bytes below the stack pointer
// keep their contents through blocks of every kind, a thousand times, and through system calls
// (which may spoil rcx and r11 in the known way).

        .section .bss
        .align  64
field:  .fill   1024
        .fill   4096
stack:

        .section .data
        .align  16
rounds: .long   1000
mxcsr:  .long   0x5f80                  // round up
        .align  8
table:  .quad   there

        .text
        .globl  _start
_start: lea     stack(%rip), %rsp
        ldmxcsr mxcsr(%rip)
        .set    k, 0
        .rept   16
        mov     $0x1111 * (k + 1), %eax
        .if     k == 0
        movd    %eax, %xmm0
        .elseif k == 15
        movd    %eax, %xmm15
        .endif
        .set    k, k + 1
        .endr
        .irp    n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14
        mov     $0x1111 * (\n + 1), %eax
        movd    %eax, %xmm\n
        .endr
        movabs  $0x0101010101010101, %rax
        movabs  $0x0202020202020202, %rcx
        movabs  $0x0303030303030303, %rdx
        movabs  $0x0404040404040404, %rbx
        movabs  $0x0505050505050505, %rbp
        movabs  $0x0606060606060606, %rsi
        movabs  $0x0707070707070707, %rdi
        movabs  $0x0808080808080808, %r8
        movabs  $0x0909090909090909, %r9
        movabs  $0x0a0a0a0a0a0a0a0a, %r10
        movabs  $0x0b0b0b0b0b0b0b0b, %r11
        movabs  $0x0c0c0c0c0c0c0c0c, %r12
        movabs  $0x0d0d0d0d0d0d0d0d, %r13
        movabs  $0x0e0e0e0e0e0e0e0e, %r14
        movabs  $0x0f0f0f0f0f0f0f0f, %r15
        mov     %r8, -8(%rsp)           // red zone
        mov     %r9, -64(%rsp)
        mov     %r15, -128(%rsp)

again:  mov     %r8, field(%rip)
        cmp     %r8, field(%rip)
        jne     wrong
        mov     %r8, field+61(%rip)
        add     %r9, field+61(%rip)
        jmp     1f
1:      jmp     *table(%rip)
there:  addl    $1, field+128(%rip)
        lock addl $1, field+132(%rip)
        movdqu  %xmm3, field+190(%rip)
        decl    rounds(%rip)
        jnz     again

        cmp     %r8, -8(%rsp)
        jne     wrong
        cmp     %r9, -64(%rsp)
        jne     wrong
        cmp     %r15, -128(%rsp)
        jne     wrong
        mov     %r8, -8(%rsp)
        movl    $500, rounds(%rip)
2:      call    leaf
        push    %r8
        pop     field(%rip)
        decl    rounds(%rip)
        jnz     2b

        .macro  same register, value
        cmpq    %\register, 9f(%rip)
        jne     wrong
        .section .rodata
        .align  8
9:      .quad   \value
        .text
        .endm
        same    rax, 0x0101010101010101
        same    rcx, 0x0202020202020202
        same    r11, 0x0b0b0b0b0b0b0b0b
        mov     $39, %eax               // getpid
        syscall
3:      lea     3b(%rip), %rax
        cmp     %rax, %rcx
        jne     wrong
        test    $0x202, %r11d
        jz      wrong
        same    rdx, 0x0303030303030303
        same    rbx, 0x0404040404040404
        same    rbp, 0x0505050505050505
        same    rsi, 0x0606060606060606
        same    rdi, 0x0707070707070707
        same    r8, 0x0808080808080808
        same    r9, 0x0909090909090909
        same    r10, 0x0a0a0a0a0a0a0a0a
        same    r12, 0x0c0c0c0c0c0c0c0c
        same    r13, 0x0d0d0d0d0d0d0d0d
        same    r14, 0x0e0e0e0e0e0e0e0e
        same    r15, 0x0f0f0f0f0f0f0f0f
        lea     stack(%rip), %rax
        cmp     %rsp, %rax
        jne     wrong
        .irp    n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        movd    %xmm\n, %eax
        cmp     $0x1111 * (\n + 1), %eax
        jne     wrong
        .endr
        stmxcsr field(%rip)
        mov     field(%rip), %eax
        and     $0x6000, %eax
        cmp     $0x4000, %eax
        jne     wrong
        xor     %edi, %edi
        mov     $60, %eax
        syscall
leaf:   ret
wrong:  mov     $1, %edi
        mov     $60, %eax
        syscall
