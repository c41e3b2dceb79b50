// SPDX-License-Identifier: MIT
//
// A program sees its own addresses: the return address of a call, the value of lea of rip, the
// bytes of the stack below; it may return without a call, change the return address, jump into the
// middle of an instruction, and execute the same bytes as two different instruction streams.

        .section .bss
        .align  64
        .fill   4096
stack:
field:  .fill   64

        .section .data
        .align  8
pointer:
        .quad   3f

        .text
        .globl  _start
_start: lea     stack(%rip), %rsp
        call    1f
1:      pop     %rax
        lea     1b(%rip), %rdx
        cmp     %rax, %rdx
        jne     wrong
        lea     field(%rip), %rbx
        movq    $target, (%rbx)
        call    *(%rbx)
2:      cmpq    $2b, -8(%rsp)           // still there, below the stack
        jne     wrong
        jmp     *pointer(%rip)
        ud2
3:      push    $4f                     // a return without a call
        ret
        ud2
4:      call    changes
        ud2                             // the return address is changed to 5
5:      call    6f                      // calls that never return
6:      call    7f
7:      pop     %rax
        pop     %rdx
        cmp     $7b, %rax
        jne     wrong
        cmp     $6b, %rdx
        jne     wrong
        // b8 31 c0 90 90: mov $0x9090c031, %eax, or, one byte later, xor %eax, %eax; nop; nop.
        mov     $3, %ecx
8:      xor     %edx, %edx
inside: .byte   0xb8, 0x31, 0xc0, 0x90, 0x90
        add     %eax, %edx
        dec     %ecx
        jz      9f
        test    $1, %ecx
        jz      inside + 1
        jmp     inside
9:      // 0x9090c031 + 0 + 0x9090c031 modulo 2^32
        cmp     $0x21218062, %edx
        jne     wrong
        xor     %edi, %edi
        mov     $60, %eax
        syscall
wrong:  mov     $1, %edi
        mov     $60, %eax
        syscall
target: mov     (%rsp), %rax
        cmp     $2b, %rax
        jne     wrong
        ret
changes:
        movq    $5b, (%rsp)
        ret
