/* SPDX-License-Identifier: MIT */
/* One client instruction with the trap flag (handler.c). */
#include "engine/thread/thread.h"
#include "engine/thread/client.inc"

    .intel_syntax noprefix
    .text

/* _Noreturn void handler_step_go(struct thread *t): loads the client's registers and continues at
 * t->pc with TF. %gs is the client's already, so nothing here uses it. The signal handler finds t
 * by its stack. */
    .globl handler_step_go, handler_step_iret
    .type handler_step_go, @function
handler_step_go:
    mov rax, [rdi + TH_RFLAGS]
    or rax, 0x100 // FLAG_TF (base/cpu.h)
    mov rsp, [rdi + TH_ENGINE_SP]
    pushfq
    and qword ptr [rsp], ~0x4000 /* iretq faults with NT, which the client may have set */
    popfq
    mov ecx, ss
    push rcx
    push [rdi + TH_REGS + 0x20]
    push rax
    mov ecx, cs
    push rcx
    push [rdi + TH_PC]
    LOAD_CLIENT
handler_step_iret:
    iretq

    .section .note.GNU-stack, "", @progbits
