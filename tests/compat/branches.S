// SPDX-License-Identifier: MIT
//
// Branches for the predictors: all conditions on random flags, loop, loope, loopne, jrcxz, nests of
// loops that the history learns and does not, conditional moves and sets, indirect jumps and calls
// through registers and memory whose targets alternate, returns with an operand, and branches at
// addresses that share a counter.

        .section .bss
        .align  64
field:  .fill   4096

        .section .data
        .align  8
seed:   .quad   88172645463325252

        .section .rodata
        .align  8
targets:
        .quad   t0, t1, t2, t3, t4, t5, t6, t7
functions:
        .quad   f0, f1, f2, f3

        .text
        .type   random, @function
random: mov     seed(%rip), %rax        // xorshift
        mov     %rax, %rdx
        shl     $13, %rdx
        xor     %rdx, %rax
        mov     %rax, %rdx
        shr     $7, %rdx
        xor     %rdx, %rax
        mov     %rax, %rdx
        shl     $17, %rdx
        xor     %rdx, %rax
        mov     %rax, seed(%rip)
        ret
        .size   random, . - random

        .globl  run
        .type   run, @function
run:    push    %rbx
        push    %r12
        push    %r13
        mov     $700, %r12d
        xor     %r13d, %r13d
again:  call    random
        mov     %rax, %rbx
        call    conditions
        call    loops
        call    jump
        call    calls
        call    moves
        dec     %r12d
        jnz     again
        call    nest
        call    aliases
        // 700 rounds, one of eight ways each, counted in r13.
        xor     %eax, %eax
        cmp     $700, %r13
        je      1f
        mov     $1, %eax
1:      pop     %r13
        pop     %r12
        pop     %rbx
        ret
        .size   run, . - run

        .macro  both condition
        cmp     %bx, %ax
        j\condition 1f
        add     $7, %ecx
1:      add     $1, %ecx
        ror     $5, %rax
        .endm

        .type   conditions, @function
conditions:
        xor     %ecx, %ecx
        .irp    c, o, no, b, ae, e, ne, be, a, s, ns, p, np, l, ge, le, g
        both    \c
        .endr
        mov     %ecx, field(%rip)
        ret
        .size   conditions, . - conditions

        .type   loops, @function
loops:  mov     %ebx, %ecx
        and     $7, %ecx
        jrcxz   3f
1:      inc     %eax
        loop    1b
        mov     %ebx, %ecx
        and     $15, %ecx
        add     $1, %ecx
        mov     %ebx, %eax
2:      ror     $1, %eax
        test    $1, %eax
        loope   2b
        mov     %ebx, %ecx
        shr     $4, %ecx
        and     $15, %ecx
        add     $1, %ecx
4:      ror     $1, %eax
        test    $3, %eax
        loopne  4b
3:      mov     %ebx, %ecx
        shr     $9, %ecx
        and     $1, %ecx
        jecxz   5f
        inc     %eax
5:      mov     %eax, field+4(%rip)
        ret
        .size   loops, . - loops

        .type   jump, @function
jump:   mov     %ebx, %eax
        shr     $12, %eax
        and     $7, %eax
        lea     targets(%rip), %rdx
        test    $0x8000000, %ebx
        jz      1f
        jmp     *(%rdx,%rax,8)
1:      mov     (%rdx,%rax,8), %rax
        jmp     *%rax
t0:     inc     %r13
t1:     inc     %r13
t2:     inc     %r13
t3:     inc     %r13
t4:     inc     %r13
t5:     inc     %r13
t6:     inc     %r13
t7:     inc     %r13
        // Eight minus the index were added; take all but one away again.
        mov     %ebx, %eax
        shr     $12, %eax
        and     $7, %eax
        sub     $7, %rax
        add     %rax, %r13
        ret
        .size   jump, . - jump

        .type   calls, @function
calls:  mov     %ebx, %eax
        shr     $20, %eax
        and     $3, %eax
        lea     functions(%rip), %rdx
        call    *(%rdx,%rax,8)
        mov     %ebx, %eax
        shr     $22, %eax
        and     $3, %eax
        mov     (%rdx,%rax,8), %rax
        push    $1
        call    *%rax
        add     $8, %rsp
        push    $2
        call    g
        jmp     *back(%rip)
1:      ret
        .size   calls, . - calls
        .section .rodata
        .align  8
back:   .quad   1b
        .text

        .type   f0, @function
f0:     ret
        .size   f0, . - f0
        .type   f1, @function
f1:     nop
        ret
        .size   f1, . - f1
        .type   f2, @function
f2:     rep ret
        .size   f2, . - f2
        .type   f3, @function
f3:     push    %rax
        pop     field+16(%rip)
        ret
        .size   f3, . - f3
        .type   g, @function
g:      ret     $8
        .size   g, . - g

        .type   moves, @function
moves:  lea     field(%rip), %rdx
        test    $0x10000, %ebx
        cmovz   8(%rdx), %rax           // read in either case
        cmovnz  64(%rdx), %ecx
        cmovc   %ebx, %ecx
        sets    128(%rdx)
        setnz   129(%rdx)
        add     %rcx, %rax
        mov     %rax, 192(%rdx)
        ret
        .size   moves, . - moves

        .type   nest, @function
nest:   mov     $40, %edx
1:      mov     $3, %ecx
2:      mov     $9, %eax
3:      dec     %eax
        jnz     3b
        dec     %ecx
        jnz     2b
        dec     %edx
        jnz     1b
        ret
        .size   nest, . - nest

        // Branches 128 bytes apart meet in the same counters, with opposite habits.
        .type   aliases, @function
aliases:
        mov     $100, %ecx
        .align  128
1:      test    %ecx, %ecx
        jz      2f
        nop
2:      jmp     3f
        .align  128
3:      test    %ecx, %ecx
        jnz     4f
        nop
4:      dec     %ecx
        jnz     1b
        ret
        .size   aliases, . - aliases
        .section .note.GNU-stack, "", @progbits
