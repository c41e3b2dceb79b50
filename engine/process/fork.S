/* SPDX-License-Identifier: MIT */
/* The clone calls whose child shares the parent's memory. Arguments for the kernel are in
 * args[0..5]: number, rdi, rsi, rdx, r10, r8. All signals are blocked. */
#include "engine/thread/thread.h"

    .intel_syntax noprefix
    .text

    .macro LOAD_ARGS /* from rdi */
    mov rax, [rdi]
    mov rsi, [rdi + 16]
    mov rdx, [rdi + 24]
    mov r10, [rdi + 32]
    mov r8, [rdi + 40]
    mov rdi, [rdi + 8]
    .endm

/* long fork_clone_thread(const u64 args[6]): the child begins on its own engine stack, with the
 * address of its thread block on top. */
    .globl fork_clone_thread
    .type fork_clone_thread, @function
fork_clone_thread:
    LOAD_ARGS
    syscall
    test rax, rax
    jz 1f
    ret
1:  xor ebp, ebp
    pop rdi
    and rsp, -16
    call fork_thread_child
    ud2

/* _Noreturn void fork_clone_borrow(const u64 args[6], struct thread *t): the child runs on the same
 * engine stack, from its top, while the parent waits in the kernel. The child overwrites the
 * parent's frames, so the parent restarts at the top as well. */
    .globl fork_clone_borrow
    .type fork_clone_borrow, @function
fork_clone_borrow:
    mov rbx, rsi
    LOAD_ARGS
    syscall
    mov rsp, [rbx + TH_ENGINE_SP]
    mov rdi, rbx
    mov rsi, rax
    test rax, rax
    jz 1f
    call fork_borrow_parent
    ud2
1:  call fork_borrow_child
    ud2

    .section .note.GNU-stack, "", @progbits
