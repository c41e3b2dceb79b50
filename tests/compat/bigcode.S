// SPDX-License-Identifier: MIT
//
// More code than I1 holds: 640 functions of 160 bytes, 100 KiB, called in turn, in strides and at
// random, so that the instruction cache misses in every pattern and shares LL with data that misses
// too.

        .set    FUNCTIONS, 640
        .set    SIZE, 160

        .section .bss
        .align  64
field:  .fill   65536

        .text
        .globl  run
        .type   run, @function
run:    push    %rbx
        push    %r12
        push    %r13
        // In turn, twice.
        mov     $2, %r12d
1:      xor     %ebx, %ebx
2:      mov     %ebx, %eax
        call    one
        inc     %ebx
        cmp     $FUNCTIONS, %ebx
        jne     2b
        dec     %r12d
        jnz     1b
        // In strides of 64 * 160 bytes: few sets.
        mov     $300, %r12d
        xor     %ebx, %ebx
3:      mov     %ebx, %eax
        call    one
        add     $64, %ebx
        cmp     $FUNCTIONS, %ebx
        jb      4f
        sub     $FUNCTIONS - 3, %ebx
        cmp     $64, %ebx
        jb      4f
        and     $63, %ebx
4:      dec     %r12d
        jnz     3b
        // At random, most often among few.
        mov     $1500, %r12d
        mov     $12345, %r13d
5:      imul    $1664525, %r13d, %r13d
        add     $1013904223, %r13d
        mov     %r13d, %eax
        shr     $8, %eax
        test    $3, %eax
        jz      6f
        and     $31, %eax
6:      xor     %edx, %edx
        mov     $FUNCTIONS, %ecx
        div     %ecx
        mov     %edx, %eax
        call    one
        dec     %r12d
        jnz     5b
        // 1280 + 300 + 1500 calls were counted at the end of the field.
        xor     %eax, %eax
        cmpl    $1280 + 300 + 1500, field+65532(%rip)
        je      7f
        mov     $1, %eax
7:      pop     %r13
        pop     %r12
        pop     %rbx
        ret
        .size   run, . - run

        // Calls function number eax.
        .type   one, @function
one:    imul    $SIZE, %eax, %eax
        lea     functions(%rip), %rdx
        add     %rax, %rdx
        jmp     *%rdx
        .size   one, . - one

        .align  64
        .type   functions, @function
functions:
        .set    k, 0
        .rept   FUNCTIONS
0:      lea     field(%rip), %rdx
        mov     k * 97 % 65000 (%rdx), %eax
        .if     k % 3 == 0
        test    $1, %eax
        jz      1f
        add     $5, %eax
        .endif
1:      add     $k, %eax
        mov     %eax, k * 97 % 65000 (%rdx)
        .if     k % 2 == 0
        mov     %rdx, %rcx
        add     k * 211 % 65000 (%rdx), %ecx
        mov     %ecx, 8 + k * 211 % 65000 (%rdx)
        .endif
        jmp     2f
        .org    0b + 130, 0x90
2:      incl    65532(%rdx)
        ret
        .org    0b + SIZE, 0x90
        .set    k, k + 1
        .endr
        .size   functions, . - functions
        .section .note.GNU-stack, "", @progbits
