// SPDX-License-Identifier: MIT
//
// Read-modify-write: every instruction of the kind, plain and locked, by 1, 2, 4 and 8 bytes,
// aligned and across lines where the processor lets it; compare-and-exchange that succeeds and
// fails, 8 and 16 bytes wide; bit operations with a bit string far from its base. Two passes over a
// field of 4 KiB, a counter in memory. Between them loads whose values are used, so that nothing is
// dead.

        .section .bss
        .align  64
field:  .fill   8192

        .section .rodata
        .align  8
expected:
        .quad   240                     // 120 steps in each of two passes

        .section .data
        .align  8
counter:
        .quad   0
locked: .quad   0

        .text
        .globl  run
        .type   run, @function
run:    push    %rbx
        push    %r12
        mov     $2, %r12d
pass:   lea     field(%rip), %rbx
        mov     $120, %ecx
step:   call    plain
        call    shifts
        call    locked_ones
        call    exchange
        call    bits
        incq    counter(%rip)
        lock incq locked(%rip)
        add     $34, %rbx               // 34: every alignment to 2, lines crossed
        dec     %ecx
        jnz     step
        dec     %r12d
        jnz     pass

        mov     expected(%rip), %rax
        cmp     counter(%rip), %rax
        jne     wrong
        cmp     locked(%rip), %rax
        jne     wrong
        xor     %eax, %eax
        jmp     done
wrong:  mov     $1, %eax
done:   pop     %r12
        pop     %rbx
        ret
        .size   run, . - run

        .type   plain, @function
plain:  addb    $3, (%rbx)
        addw    $0x101, 2(%rbx)
        addl    $-7, 4(%rbx)
        add     %rcx, 8(%rbx)
        adc     %rcx, 16(%rbx)
        sbbl    $1, 24(%rbx)
        subq    $9, 27(%rbx)
        andb    $0x7f, 36(%rbx)
        orw     $0x11, 37(%rbx)
        xorl    %ecx, 39(%rbx)
        incb    44(%rbx)
        incl    45(%rbx)
        decq    50(%rbx)
        notl    58(%rbx)
        negq    60(%rbx)
        setc    68(%rbx)
        ret
        .size   plain, . - plain

        .type   shifts, @function
shifts: shlb    (%rbx)
        shrl    $3, 5(%rbx)
        sarq    %cl, 9(%rbx)
        rolw    $5, 21(%rbx)
        rorl    %cl, 30(%rbx)
        rcll    39(%rbx)
        rcrq    $2, 60(%rbx)
        shldl   $7, %ecx, 70(%rbx)
        shrdq   %cl, %rbx, 90(%rbx)
        shlq    $0, 33(%rbx)
        ret
        .size   shifts, . - shifts

        // Locked accesses must not cross a line here: at most a split lock would be trapped by the
        // kernel.
        .type   locked_ones, @function
locked_ones:
        mov     %rbx, %rdi
        and     $-64, %rdi
        lock addb %cl, (%rdi)
        lock orl $0x10, 4(%rdi)
        lock adcq $1, 8(%rdi)
        lock sbbl $1, 16(%rdi)
        lock andw $0x7fff, 20(%rdi)
        lock subq %rcx, 24(%rdi)
        lock xorl $5, 32(%rdi)
        lock decl 36(%rdi)
        lock notq 40(%rdi)
        lock negl 48(%rdi)
        mov     $1, %eax
        lock xaddl %eax, 52(%rdi)
        mov     %eax, 56(%rdi)
        lock btsl $3, 60(%rdi)
        lock btrl $4, 60(%rdi)
        lock btcl $5, 60(%rdi)
        ret
        .size   locked_ones, . - locked_ones

        .type   exchange, @function
exchange:
        mov     %rbx, %rdi
        and     $-64, %rdi
        mov     %rcx, %rax
        xchg    %al, 1(%rdi)
        xchg    %ax, 2(%rdi)
        xchg    %eax, 4(%rdi)
        xchg    %rax, 8(%rdi)
        mov     %rax, 16(%rdi)
        xadd    %rax, 16(%rdi)
        mov     %rax, 24(%rdi)

        mov     (%rbx), %rax            // succeeds, plain, any alignment
        cmpxchg %rcx, (%rbx)
        sete    25(%rdi)
        mov     32(%rdi), %eax          // succeeds, locked
        lock cmpxchg %ecx, 32(%rdi)
        sete    26(%rdi)
        mov     36(%rdi), %eax          // fails, locked
        inc     %eax
        lock cmpxchg %ecx, 36(%rdi)
        sete    27(%rdi)

        push    %rbx
        push    %rcx
        mov     %ecx, %ebx
        mov     40(%rdi), %eax
        mov     44(%rdi), %edx
        lock cmpxchg8b 40(%rdi)         // succeeds
        sete    28(%rdi)
        mov     %ecx, %edx
        cmpxchg8b 40(%rdi)              // mostly fails
        sete    29(%rdi)
        mov     48(%rdi), %rax
        mov     56(%rdi), %rdx
        lock cmpxchg16b 48(%rdi)        // succeeds
        sete    30(%rdi)
        not     %rdx
        lock cmpxchg16b 48(%rdi)        // fails
        sete    31(%rdi)
        pop     %rcx
        pop     %rbx
        ret
        .size   exchange, . - exchange

        .type   bits, @function
bits:   btl     $5, (%rbx)
        setc    %al
        mov     %al, 80(%rbx)
        btsl    $9, 4(%rbx)
        setc    81(%rbx)
        btrq    $33, 8(%rbx)
        setc    82(%rbx)
        btcw    $2, 60(%rbx)
        setc    83(%rbx)
        mov     $1000, %eax
        add     %ecx, %eax
        bt      %eax, (%rbx)            // 125 bytes and more above
        setc    84(%rbx)
        bts     %rax, (%rbx)
        setc    85(%rbx)
        mov     $-77, %rax
        btr     %rax, 128(%rbx)         // 10 bytes below
        setc    86(%rbx)
        btc     %ax, 128(%rbx)
        setc    87(%rbx)
        and     $-64, %eax
        cltq
        lock bts %rax, 128(%rbx)
        setc    88(%rbx)
        ret
        .size   bits, . - bits
        .section .note.GNU-stack, "", @progbits
