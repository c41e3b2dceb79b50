/* SPDX-License-Identifier: MIT */
/* What signal.c and frame.c cannot say in C: the return from the kernel's signal frame, FPU state to and from client memory,
 * one client instruction with the trap flag, and the int $0x80 gate. Instructions that may fault on client memory or on what the client
 * put there are labelled; frame_fixup() sends them to frame_faulted with the stack as at the label. */
#include "engine/thread/thread.h"

    .intel_syntax noprefix
    .text

    .globl signal_restorer
    .type signal_restorer, @function
signal_restorer:
    mov eax, 15 /* rt_sigreturn */
    syscall
    ud2

/* void frame_return(const struct k_ucontext *uc): rt_sigreturn to it */
    .globl frame_return
    .type frame_return, @function
frame_return:
    mov rsp, rdi
    jmp signal_restorer

/* long signal_try_mask(const bool *closed, const u64 *mask): sets the kernel's mask and returns 1, unless *closed: then 0. A signal that is
 * noted between the test and the call closes the mask; the handler sends the thread back to the test. */
    .globl signal_try_mask, signal_try_mask_test, signal_try_mask_done
    .type signal_try_mask, @function
signal_try_mask:
    mov r8, rdi
    mov edi, 2 /* SIG_SETMASK */
    xor edx, edx
    mov r10d, 8
signal_try_mask_test:
    cmp byte ptr [r8], 0
    jne 1f
    mov eax, 14 /* rt_sigprocmask */
    syscall
signal_try_mask_done:
    mov eax, 1
    ret
1:  xor eax, eax
    ret

/* int frame_xsave(u64 to, u64 mask), and so on: 0 or -EFAULT */
    .macro FPU_MOVE name, insn
    .globl \name, \name\()_insn
    .type \name, @function
\name:
    mov eax, esi
    mov rdx, rsi
    shr rdx, 32
\name\()_insn:
    \insn [rdi]
    xor eax, eax
    ret
    .endm

    FPU_MOVE frame_xsave, xsave64
    FPU_MOVE frame_xrstor, xrstor64
    FPU_MOVE frame_fxsave, fxsave64
    FPU_MOVE frame_fxrstor, fxrstor64

    .globl frame_faulted
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

    .macro LOAD_CLIENT /* from rdi */
    mov rax, [rdi + TH_REGS + 0x00]
    mov rcx, [rdi + TH_REGS + 0x08]
    mov rdx, [rdi + TH_REGS + 0x10]
    mov rbx, [rdi + TH_REGS + 0x18]
    mov rbp, [rdi + TH_REGS + 0x28]
    mov rsi, [rdi + TH_REGS + 0x30]
    mov r8, [rdi + TH_REGS + 0x40]
    mov r9, [rdi + TH_REGS + 0x48]
    mov r10, [rdi + TH_REGS + 0x50]
    mov r11, [rdi + TH_REGS + 0x58]
    mov r12, [rdi + TH_REGS + 0x60]
    mov r13, [rdi + TH_REGS + 0x68]
    mov r14, [rdi + TH_REGS + 0x70]
    mov r15, [rdi + TH_REGS + 0x78]
    mov rdi, [rdi + TH_REGS + 0x38]
    .endm

/* _Noreturn void signal_step_go(struct thread *t): the client's registers, and on at t->pc with TF. %gs is the client's
 * already, so nothing here uses it. The handler that follows finds t by its stack. */
    .globl signal_step_go, signal_step_iret
    .type signal_step_go, @function
signal_step_go:
    mov rax, [rdi + TH_RFLAGS]
    or rax, 0x100
    mov rsp, [rdi + TH_ENGINE_SP]
    pushfq
    and qword ptr [rsp], ~0x4000 /* iretq refuses to run with NT, which the client may have set */
    popfq
    mov ecx, ss
    push rcx
    push [rdi + TH_REGS + 0x20]
    push rax
    mov ecx, cs
    push rcx
    push [rdi + TH_PC]
    LOAD_CLIENT
signal_step_iret:
    iretq

/* _Noreturn void signal_int80_go(struct thread *t): a call of the 32-bit kind with the client's registers, signals open. The same
 * two ranges as in the gate of stubs.S: up to signal_int80_call the client is at its instruction, behind it the call is complete. */
    .globl signal_int80_go, signal_int80_call, signal_int80_after, signal_int80_end
    .type signal_int80_go, @function
signal_int80_go:
    cmp qword ptr [rdi + TH_STOP], 0
    jne 1f
    mov dword ptr [rdi + TH_STATE], TS_IN_SYSCALL
    LOAD_CLIENT
signal_int80_call:
    int 0x80
signal_int80_after:
    mov gs:[TH_REGS + 0x00], rax
    mov rdi, gs:[TH_SELF]
    jmp signal_int80_done
1:  jmp dispatch_resume
signal_int80_end:

    .section .note.GNU-stack, "", @progbits
