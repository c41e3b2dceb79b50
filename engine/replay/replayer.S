// SPDX-License-Identifier: MIT
// A process on a stack of its own (replayer.h).
#include "engine/thread/thread.h"

    .intel_syntax noprefix
    .text
    .globl replayer_clone

// long replayer_clone(u64 flags, u64 stack, u32 *tid, void (*run)(void)): the child calls run,
// which does not return.
    .type replayer_clone, @function
replayer_clone:
    mov r9, rcx
    mov r10, rdx // the kernel clears it at the end
    xor r8d, r8d
    mov eax, 56 // clone
    syscall
    test rax, rax
    jz 1f
    ret
1:  xor ebp, ebp
    and rsp, -16
    call r9
    ud2

    .section .note.GNU-stack, "", @progbits
