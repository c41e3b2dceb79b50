/* SPDX-License-Identifier: MIT */
/* From signal handlers and stubs to the dispatcher (reentry.h), and from C to the code cache.
 * Client state is in the thread block. */
#include "engine/thread/thread.h"

    .intel_syntax noprefix
    .text

    .macro REENTER entry
    mov dword ptr gs:[TH_STATE], TS_ENGINE
    cld
    mov rsp, gs:[TH_ENGINE_SP]
    mov rdi, gs:[TH_SELF]
    call qword ptr [rip + \entry]
    ud2
    .endm

    .globl reentry_resume, reentry_resume_finished, reentry_resume_control, reentry_enter
    .type reentry_resume, @function
reentry_resume:
    REENTER reentry_run
    .type reentry_resume_finished, @function
reentry_resume_finished:
    REENTER reentry_finished
    .type reentry_resume_control, @function
reentry_resume_control:
    REENTER reentry_control
    .type reentry_enter, @function
reentry_enter: /* rdi */
    mov rsp, gs:[TH_ENGINE_SP]
    jmp rdi

    .section .note.GNU-stack, "", @progbits
