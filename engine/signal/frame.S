/* SPDX-License-Identifier: MIT */
/* The parts of frame.c that cannot be in C: the return from the kernel's signal frame, and moving
 * FPU state to and from client memory. */
#include "engine/base/extable.h"

    .intel_syntax noprefix
    .text

    .globl frame_restorer
    .type frame_restorer, @function
frame_restorer:
    mov eax, 15 /* rt_sigreturn */
    syscall
    ud2

/* void frame_return(const struct k_ucontext *uc): rt_sigreturn to it */
    .globl frame_return
    .type frame_return, @function
frame_return:
    mov rsp, rdi
    jmp frame_restorer

/* int frame_xsave(u64 to, u64 mask), and so on: 0 or -EFAULT */
    .macro FPU_MOVE name, insn
    .globl \name
    .type \name, @function
\name:
    mov eax, esi
    mov rdx, rsi
    shr rdx, 32
1:  \insn [rdi]
2:  xor eax, eax
    ret
    FIXUP 1b, 2b, EXTABLE_FAULT, frame_faulted
    .endm

    FPU_MOVE frame_xsave, xsave64
    FPU_MOVE frame_xrstor, xrstor64
    FPU_MOVE frame_fxsave, fxsave64
    FPU_MOVE frame_fxrstor, fxrstor64

frame_faulted:
    mov eax, -14
    ret

/* void frame_wrpkru(u32 value) */
    .globl frame_wrpkru
    .type frame_wrpkru, @function
frame_wrpkru:
    mov eax, edi
    xor ecx, ecx
    xor edx, edx
    wrpkru
    ret

    .section .note.GNU-stack, "", @progbits
