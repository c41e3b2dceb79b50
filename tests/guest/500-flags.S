// SPDX-License-Identifier: MIT
//
// The six arithmetic flags, all 64 combinations, and the direction flag survive everything that
// does not change them: loads, stores, stack, jumps, calls, returns, indirect branches, string
// instructions, loop, vector code.

        .section .bss
        .align  64
field:  .fill   512
        .fill   4096
stack:

        .section .rodata
        .align  8
table:  .quad   6f

        .text
        .globl  _start
_start: lea     stack(%rip), %rsp
        lea     field(%rip), %rbx
        xor     %r12d, %r12d
again:
        // Bits 0..5 of r12 to CF PF AF ZF SF OF (0x001 004 010 040 080 800).
        mov     $0x202, %eax
        mov     %r12d, %ecx
        test    $1, %ecx
        jz      1f
        or      $0x001, %eax
1:      test    $2, %ecx
        jz      1f
        or      $0x004, %eax
1:      test    $4, %ecx
        jz      1f
        or      $0x010, %eax
1:      test    $8, %ecx
        jz      1f
        or      $0x040, %eax
1:      test    $16, %ecx
        jz      1f
        or      $0x080, %eax
1:      test    $32, %ecx
        jz      1f
        or      $0x800, %eax
1:      mov     %eax, %r13d
        push    %rax
        popfq

        mov     (%rbx), %rax
        mov     %rax, 8(%rbx)
        mov     %r12d, 61(%rbx)         // across a line
        lea     16(%rbx), %rdi
        mov     %rbx, %rsi
        mov     $5, %ecx
        rep movsb
        movsq
        stosl
        lodsb
        push    (%rbx)
        pop     24(%rbx)
        movdqu  60(%rbx), %xmm0
        movdqu  %xmm0, 100(%rbx)
        jmp     2f
2:      call    leaf
        mov     $3, %ecx
3:      mov     %ecx, 200(%rbx)
        loop    3b
        jrcxz   4f
        ud2
4:      lea     5f(%rip), %rax
        jmp     *%rax
5:      jmp     *table(%rip)
6:      lea     leaf(%rip), %rax
        call    *%rax
        not     %rax
        bswap   %rax
        xchg    %rax, 208(%rbx)
        cmovz   8(%rbx), %rcx
        setc    216(%rbx)
        mov     $39, %eax               // getpid: the kernel keeps them, too
        syscall
        leave_alone:
        pushfq
        pop     %rax
        cmp     %r13, %rax
        jne     wrong
        inc     %r12d
        cmp     $64, %r12d
        jne     again

        // Backwards, through a call and a system call.
        std
        call    leaf
        mov     $39, %eax
        syscall
        pushfq
        pop     %rax
        cld
        test    $0x400, %eax
        jz      wrong
        xor     %edi, %edi
        mov     $60, %eax
        syscall
wrong:  mov     $1, %edi
        mov     $60, %eax
        syscall
leaf:   ret
