// SPDX-License-Identifier: MIT
//
// Code that changes: a function in writable memory whose constant, and then whose whole body, is
// rewritten between calls and by itself while it runs; and a page of code that is unmapped and
// mapped again with other contents at the same address.

        .set    PLACE, 0x10000000
        .section .bss
        .align  4096
result: .fill   8

        .section .rodata
one:    lea     1(%rdi), %eax
        ret
one_end:
two:    mov     %edi, %eax
        add     $2, %eax
        add     %eax, %eax
        ret
two_end:

        .text
        .globl  run
        .type   run, @function
run:    push    %rbx
        push    %r12
        push    %r13
        xor     %r13d, %r13d

        // The constant of the first instruction, 40 times: returns what was written.
        lea     function(%rip), %rdi
        and     $-4096, %rdi
        mov     $8192, %esi
        mov     $7, %edx                // read, write, execute
        mov     $10, %eax               // mprotect
        syscall
        test    %rax, %rax
        jnz     wrong
        mov     $40, %ebx
1:      mov     %ebx, constant(%rip)
        call    function
        add     %eax, %r13d
        dec     %ebx
        jnz     1b
        cmp     $820, %r13d             // 40 * 41 / 2
        jne     wrong

        // It overwrites a later instruction of itself: inc becomes dec and back.
        xor     %r13d, %r13d
        mov     $20, %ebx
2:      call    itself
        dec     %ebx
        jnz     2b
        cmp     $-20, %r13d
        jne     wrong

        // Other code at the same address, mapped anew each time.
        xor     %r13d, %r13d
        mov     $10, %r12d
3:      lea     one(%rip), %rsi
        mov     $one_end - one, %ecx
        test    $1, %r12d
        jz      4f
        lea     two(%rip), %rsi
        mov     $two_end - two, %ecx
4:      call    place
        mov     $5, %edi
        mov     $PLACE, %eax
        call    *%rax
        add     %eax, %r13d
        dec     %r12d
        jnz     3b
        cmp     $5 * 6 + 5 * 14, %r13d
        jne     wrong
        xor     %eax, %eax
        jmp     done
wrong:  mov     $1, %eax
done:   pop     %r13
        pop     %r12
        pop     %rbx
        ret
        .size   run, . - run

        // Maps a page at PLACE and copies rcx bytes from rsi there.
        .type   place, @function
place:  push    %rsi
        push    %rcx
        mov     $PLACE, %edi
        mov     $4096, %esi
        mov     $11, %eax               // munmap
        syscall
        mov     $PLACE, %edi
        mov     $4096, %esi
        mov     $7, %edx
        mov     $0x32, %r10d            // private, fixed, anonymous
        mov     $-1, %r8
        xor     %r9d, %r9d
        mov     $9, %eax                // mmap
        syscall
        pop     %rcx
        pop     %rsi
        mov     $PLACE, %edi
        rep movsb
        ret
        .size   place, . - place

        .align  4096
        .type   function, @function
function:
        .byte   0xb8                    // mov $constant, %eax
constant:
        .long   0
        ret
        .size   function, . - function

        // r13 goes down by one: the inc in the source is a dec when it is executed.
        .type   itself, @function
itself: movb    $0xcd, ahead+2(%rip)    // dec %r13d is 41 ff cd, inc 41 ff c5
        jmp     1f
1:      nop
ahead:  inc     %r13d
        movb    $0xc5, ahead+2(%rip)
        ret
        .size   itself, . - itself
        .section .note.GNU-stack, "", @progbits
