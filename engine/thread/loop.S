/* SPDX-License-Identifier: MIT */
/* From signal handlers and stubs to the dispatcher (loop.h), and from C to the code cache. Client
 * state is in the thread block. */
#include "engine/thread/thread.h"

    .intel_syntax noprefix
    .text

    .macro TO_LOOP entry
    mov dword ptr gs:[TH_STATE], TS_ENGINE
    cld
    mov rsp, gs:[TH_ENGINE_SP]
    mov rdi, gs:[TH_SELF]
    call qword ptr [rip + \entry]
    ud2
    .endm

    .globl loop_resume, loop_resume_finished, loop_resume_control, loop_enter
    .type loop_resume, @function
loop_resume:
    TO_LOOP loop_run
    .type loop_resume_finished, @function
loop_resume_finished:
    TO_LOOP loop_finished
    .type loop_resume_control, @function
loop_resume_control:
    TO_LOOP loop_control
    .type loop_enter, @function
loop_enter: /* rdi */
    mov rsp, gs:[TH_ENGINE_SP]
    jmp rdi

    .section .note.GNU-stack, "", @progbits
