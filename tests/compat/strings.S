// SPDX-License-Identifier: MIT
//
// String instructions, single and repeated, with counts 0, 1 and n, forwards and backwards, by 1,
// 2, 4 and 8 bytes; comparisons that end early, late and not at all. Counts come through memory or
// registers set in an earlier block: Valgrind drops the first test of a count that is a constant of
// the same block. `lods` without a prefix only, and no `cmps` without one: Valgrind 3.19 repeats no
// lods and does not know the other.

        .section .bss
        .align  64
from:   .fill   4096
to:     .fill   4096

        .section .rodata
        .align  8
counts: .quad   0, 1, 2, 7, 64, 129, 0, 300, 5, 1
counts_end:

        .text
        .globl  run
        .type   run, @function
run:    push    %rbx
        push    %r12
        push    %r13
        lea     from(%rip), %rdi
        mov     $1, %eax
fill:   stosl
        imul    $69069, %eax, %eax
        add     $12345, %eax
        lea     from+4096(%rip), %rdx
        cmp     %rdx, %rdi
        jne     fill

        lea     counts(%rip), %rbx
next:   mov     (%rbx), %r12
        call    copies
        call    fills
        call    compares
        call    scans
        call    backwards
        add     $8, %rbx
        lea     counts_end(%rip), %rdx
        cmp     %rdx, %rbx
        jne     next
        call    singles

        // What was copied last is there: the first 4 bytes of `from`.
        mov     from(%rip), %eax
        cmp     to+2000(%rip), %eax
        setne   %al
        movzbl  %al, %eax
        pop     %r13
        pop     %r12
        pop     %rbx
        ret
        .size   run, . - run

        // rsi, rdi and rcx for the next instruction. The caller's block ends here.
        .type   set, @function
set:    lea     from(%rip), %rsi
        lea     to(%rip), %rdi
        mov     %r12, %rcx
        ret
        .size   set, . - set

        .type   copies, @function
copies: call    set
        rep movsb
        call    set
        rep movsw
        call    set
        rep movsl
        call    set
        rep movsq
        call    set
        add     $3, %rdi                // across lines
        jmp     1f
1:      rep movsq
        call    set
        add     $2000, %rdi
        mov     %r12d, %ecx
        jmp     1f
1:      addr32 rep movsl
        ret
        .size   copies, . - copies

        .type   fills, @function
fills:  call    set
        rep stosb
        call    set
        rep stosw
        call    set
        rep stosl
        call    set
        inc     %rdi
        jmp     1f
1:      rep stosq
        ret
        .size   fills, . - fills

        .type   compares, @function
compares:
        call    set
        mov     %rsi, %rdi              // the same: ends with the count
        jmp     1f
1:      repe cmpsb
        sete    %r13b
        mov     %r13b, to+3000(%rip)
        call    set
        rep movsb                       // equal, and then one byte differs
        notb    (%rdi)
        call    set
        lea     3(%rcx), %rcx
        jmp     1f
1:      repe cmpsb
        setb    to+3001(%rip)
        call    set
        mov     %rsi, %rdi
        jmp     1f
1:      repe cmpsq
        sete    to+3002(%rip)
        call    set
        mov     %rsi, %rdi
        add     $4, %rdi
        jmp     1f
1:      repe cmpsl                      // ends at once
        seta    to+3003(%rip)
        ret
        .size   compares, . - compares

        .type   scans, @function
scans:  call    set
        mov     %rsi, %rdi
        mov     $0, %eax
        jmp     1f
1:      repne scasb
        mov     %rcx, to+3008(%rip)
        call    set
        mov     %rsi, %rdi
        mov     from+256(%rip), %eax
        jmp     1f
1:      repne scasl
        mov     %rcx, to+3016(%rip)
        call    set
        mov     $7, %eax
        rep stosb
        call    set
        add     $2, %rcx
        jmp     1f
1:      repe scasb                      // one or two further than the fill
        mov     %rcx, to+3024(%rip)
        call    set
        mov     %rsi, %rdi
        mov     $-1, %rax
        jmp     1f
1:      repne scasq
        sete    to+3032(%rip)
        ret
        .size   scans, . - scans

        .type   backwards, @function
backwards:
        call    set
        add     $1024, %rsi
        add     $1027, %rdi
        std
        jmp     1f
1:      rep movsb
        rep movsl                       // count 0 in the same block: tested again
        call    set
        add     $2048, %rdi
        jmp     1f
1:      rep stosq
        call    set
        add     $512, %rsi
        mov     %rsi, %rdi
        jmp     1f
1:      repe cmpsb
        cld
        ret
        .size   backwards, . - backwards

        .type   singles, @function
singles:
        mov     $400, %r12d
1:      call    set
        add     %r12, %rsi
        add     %r12, %rdi
        lodsb
        stosb
        lodsw
        stosw
        lodsl
        stosl
        lodsq
        stosq
        movsb
        movsw
        movsl
        movsq
        scasb
        sete    to+3040(%rip)
        scasq
        sete    to+3041(%rip)
        dec     %r12d
        jnz     1b
        call    set
        mov     $4, %ecx
        add     $2000, %rdi
        jmp     1f
1:      rep movsb
        ret
        .size   singles, . - singles
        .section .note.GNU-stack, "", @progbits
