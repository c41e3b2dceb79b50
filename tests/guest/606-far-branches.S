// SPDX-License-Identifier: MIT
//
// Branches that name the program's own code segment. Each is an instruction without data
// references and without a prediction; the pushes before them count as usual.
//
// Ir: lea, mov; 1000 * (push, lea, push, lretq; push, lea, push, lretq $8 and its sub; ljmp; lcall,
// lret; mov, mov, push, push, pushfq, push, lea, push, iretq; dec, jnz = 23); cmp, jne, mov, xor,
// syscall: 23007. Dw: 1000 * (2 + 2 + 5) = 9000. Dr: none but the cmp. Bc: 1001.
//
// case: --I1=32768,8,64
// expect: Ir=23007 Dr=1 Dw=9000 Bc=1001 Bi=0
// about: no-ibl replay-unlinked

        .section .bss
        .align  4096
        .fill   4096
stack:  .quad   0
        .section .data
        .align  16
jump:   .long   4f
        .short  0x33
        .align  16
call:   .long   function
        .short  0x33

        .text
        .globl  _start
_start: lea     stack(%rip), %rsp
        mov     $1000, %ebp
1:      pushq   $0x33
        lea     2f(%rip), %rax
        push    %rax
        lretq
        ud2
2:      sub     $8, %rsp
        pushq   $0x33
        lea     3f(%rip), %rax
        push    %rax
        lretq   $8
        ud2
3:      ljmp    *jump(%rip)
        ud2
4:      lcall   *call(%rip)
        mov     %rsp, %rcx
        mov     %ss, %eax
        push    %rax
        push    %rcx
        pushfq
        pushq   $0x33
        lea     5f(%rip), %rax
        push    %rax
        iretq
        ud2
5:      dec     %ebp
        jnz     1b
        cmpq    $0, stack(%rip)
        jne     6f
        mov     $60, %eax
        xor     %edi, %edi
        syscall
6:      ud2
function:
        lretl
