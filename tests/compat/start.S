// SPDX-License-Identifier: MIT
//
// The start of every compat program: a stack of its own in .bss, so addresses do not depend on
// the caller; run() of the program; exit with its result by a raw system call. Valgrind reads the
// debug information of a program only if it has initialised writable data: hence
// `writable`.

        .section .data
        .globl  writable
        .align  8
        .type   writable, @object
        .size   writable, 8
writable:
        .quad   1

        .section .bss
        .align  4096
stack:  .fill   1 << 20
stack_top:

        .text
        .globl  _start
        .type   _start, @function
_start:
        mov     $stack_top, %rsp
        xor     %ebp, %ebp
        call    run
        mov     %eax, %edi
        mov     $60, %eax               // exit
        syscall
        .size   _start, . - _start
        .section .note.GNU-stack, "", @progbits
