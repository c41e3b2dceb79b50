// SPDX-License-Identifier: MIT
//
// Accesses across lines: loads and stores of 2, 4, 8, 10, 16 and 32 bytes at every offset of two
// lines of 64, over a field larger than the small first levels; 108 bytes at once; pushes on an odd
// stack; and code whose instructions cross lines at every place, by one-byte instructions in
// varying number before long ones.
// needs: avx

        .section .bss
        .align  128
field:  .fill   16384

        .text
        .globl  run
        .type   run, @function
run:    push    %rbx
        push    %rbp
        push    %r12
        push    %r13
        lea     field(%rip), %rbx
        mov     $128, %r12d
        fldz
offset: call    accesses
        call    code
        add     $65, %rbx               // one line on, one byte further in it
        dec     %r12d
        jnz     offset
        fstp    %st(0)

        // The stack of the program, at odd addresses.
        mov     %rsp, %r13
        mov     $200, %r12d
pushes: sub     $5, %rsp
        push    %r12
        push    (%rsp)
        pushw   $7
        call    nothing
        dec     %r12d
        jnz     pushes
        mov     %r13, %rsp
        xor     %eax, %eax
        pop     %r13
        pop     %r12
        pop     %rbp
        pop     %rbx
        ret
        .size   run, . - run

        .type   nothing, @function
nothing:
        ret
        .size   nothing, . - nothing

        .type   accesses, @function
accesses:
        mov     %r12w, (%rbx)
        mov     %r12d, 64(%rbx)
        mov     %r12, 128(%rbx)
        movzwl  1(%rbx), %eax
        mov     62(%rbx), %ecx
        mov     125(%rbx), %rdx
        add     %rax, %rcx
        add     %rcx, %rdx
        mov     %rdx, 250(%rbx)
        fld     %st(0)
        fstpt   300(%rbx)
        fldt    300(%rbx)
        fstpt   370(%rbx)
        movdqu  300(%rbx), %xmm0
        movdqu  %xmm0, 433(%rbx)
        movups  440(%rbx), %xmm1
        addps   %xmm1, %xmm0
        movups  %xmm0, 500(%rbx)
        vmovdqu 600(%rbx), %ymm2
        vmovdqu %ymm2, 700(%rbx)
        vmovups 720(%rbx), %ymm3
        vmovups %ymm3, 765(%rbx)
        vzeroupper
        incl    800(%rbx)
        addq    $3, 860(%rbx)
        fnsave  900(%rbx)
        frstor  900(%rbx)
        ret
        .size   accesses, . - accesses

        // Each line of the repetition is 1 + 10 + 7 + 5 bytes or one more: all phases occur.
        .type   code, @function
code:
        .set    k, 0
        .rept   48
        .rept   k % 5
        nop
        .endr
        movabs  $0x1122334455667788, %rax
        lea     0x12345678(%rax,%rcx,4), %rdx
        mov     $0x11223344, %ecx
        xor     %rax, %rdx
        .set    k, k + 1
        .endr
        mov     %rdx, 1000(%rbx)
        ret
        .size   code, . - code
        .section .note.GNU-stack, "", @progbits
