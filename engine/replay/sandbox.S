// SPDX-License-Identifier: MIT
// The kernel returns here from the handler of sandbox.c.

    .intel_syntax noprefix
    .text
    .globl sandbox_restorer
    .type sandbox_restorer, @function
sandbox_restorer:
    mov eax, 15 // rt_sigreturn
    syscall
    ud2

    .section .note.GNU-stack, "", @progbits
