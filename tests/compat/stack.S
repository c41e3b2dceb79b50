// SPDX-License-Identifier: MIT
//
// The stack: push and pop of registers, constants, memory and flags, frames by enter and leave,
// calls through memory, returns that drop arguments, red zone, two stacks in turn, arguments above
// and below.

        .section .bss
        .align  64
other:  .fill   8192
other_top:
field:  .fill   256

        .section .data
        .align  8
method: .quad   squares

        .text
        .globl  run
        .type   run, @function
run:    push    %rbx
        push    %rbp
        push    %r12
        push    %r13
        mov     $150, %r12d
        lea     field(%rip), %rbx
again:  call    pushes
        call    frames
        mov     %r12, (%rbx)
        push    %r12
        push    %r12
        call    *method(%rip)           // pops two arguments
        mov     %rax, 64(%rbx)
        mov     %rsp, %r13              // the other stack, a little lower each time
        lea     other_top(%rip), %rsp
        lea     (%r12,%r12,2), %rax
        shl     $4, %rax
        sub     %rax, %rsp
        call    pushes
        call    frames
        mov     %r13, %rsp
        dec     %r12d
        jnz     again
        // The last square is 1 * 1 + 1 * 1.
        mov     64(%rbx), %rax
        sub     $2, %rax
        pop     %r13
        pop     %r12
        pop     %rbp
        pop     %rbx
        ret
        .size   run, . - run

        .type   pushes, @function
pushes: push    %rax
        push    $-5
        push    $0x12345
        pushw   $3
        pushw   $4
        pushw   $5
        pushw   $6
        pushfq
        push    (%rbx)
        push    8(%rsp)
        pop     8(%rbx)
        pop     16(%rbx)
        popfq
        popw    %cx                     // Valgrind 3.19 knows no popw to memory
        mov     %cx, 24(%rbx)
        popw    %dx
        mov     %dx, 26(%rbx)
        popw    %cx
        mov     %cx, 28(%rbx)
        popw    %dx
        mov     %dx, 30(%rbx)
        pop     32(%rbx)
        pop     %rcx
        add     %rcx, 40(%rbx)
        pop     %rax
        mov     %rax, -8(%rsp)          // red zone
        mov     -8(%rsp), %rdx
        mov     %rdx, 48(%rbx)
        push    %rsp
        pop     56(%rbx)
        ret
        .size   pushes, . - pushes

        .type   frames, @function
frames: push    %rbp
        mov     %rsp, %rbp
        sub     $200, %rsp
        mov     %rbx, -8(%rbp)
        mov     %rax, -120(%rbp)
        movq    $1, (%rsp)
        enter   $40, $0
        mov     %rbx, -16(%rbp)
        addq    $2, -16(%rbp)
        leave
        leave
        ret
        .size   frames, . - frames

        .type   squares, @function
squares:
        mov     8(%rsp), %rax
        mov     16(%rsp), %rdx
        imul    %rax, %rax
        imul    16(%rsp), %rdx
        add     %rdx, %rax
        ret     $16
        .size   squares, . - squares
        .section .note.GNU-stack, "", @progbits
