/* SPDX-License-Identifier: MIT */
/* The int $0x80 gate (int80.c). */
#include "engine/base/extable.h"
#include "engine/thread/thread.h"
#include "engine/thread/client.inc"

    .intel_syntax noprefix
    .text

/* _Noreturn void int80_go(struct thread *t): a 32-bit call with the client's registers, signals
 * unblocked. The same two ranges as in the gate of stubs.S: up to the instruction's end the client
 * is at its instruction, after it the call is complete. */
    .globl int80_go
    .type int80_go, @function
int80_go:
    cmp qword ptr [rdi + TH_STOP], 0
    jne 1f
    mov dword ptr [rdi + TH_STATE], TS_IN_SYSCALL
    LOAD_CLIENT
4:  int 0x80
2:
    mov gs:[TH_REGS + 0x00], rax
    mov rdi, gs:[TH_SELF]
    jmp int80_done
1:  jmp reentry_resume
3:
5:  mov rdi, gs:[TH_SELF] // in no range: the call has not been made, and must not be repeated
    jmp int80_fault
    FIXUP int80_go, 2b, EXTABLE_CALL_BEFORE, 2b
    FIXUP 2b, 3b, EXTABLE_CALL_AFTER, 2b
    FIXUP 4b, 2b, EXTABLE_FAULT, 5b

/* long int80_make(u64 number, u64 rbx): a call with one argument that does not wait, made from C.
 * -4096: the kernel does not support int $0x80. */
    .globl int80_make
    .type int80_make, @function
int80_make:
    push rbx
    mov eax, edi
    mov rbx, rsi
1:  int 0x80
2:  cdqe
    pop rbx
    ret
3:  mov rax, -4096
    pop rbx
    ret
    FIXUP 1b, 2b, EXTABLE_FAULT, 3b

    .section .note.GNU-stack, "", @progbits
