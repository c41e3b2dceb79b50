// SPDX-License-Identifier: MIT
// The stubs between translated code and the engine. stubs_copy() copies the range
// stubs_begin..stubs_end to the head of the code cache, where fragments reach it by rel32; hence
// its code addresses only gs:.. and absolute 64-bit constants. stubs.def lists its labels, and the
// functions that it calls. restore_find() classifies a host address by the labels below; each range
// documents what an interrupted thread's registers mean there.
//
// Register map on entry from a fragment: every client register is in its register, except as noted.
#include "engine/thread/thread.h"

    .intel_syntax noprefix
    .section .text.stubs, "ax"
    .globl stubs_begin, stubs_end
#define STUB(NAME, label, kind, function) .globl stubs_##label
#include "engine/codecache/stubs.def"
#undef STUB

    .macro FUNCTION name // of the stub's row, to rax: stubs_copy() fills it in
    movabs rax, 0
    .set stubs_\name\()_call, . - 8
    .globl stubs_\name\()_call
    .endm

    // Behind a load or store of r11: its memory is r11's slot, or log where fragments record.
    .macro R11_PLACE
77:
    .pushsection .rodata.stubs_r11, "a"
    .quad 77b - 4
    .popsection
    .endm

    .section .rodata.stubs_r11, "a"
    .globl stubs_r11_begin, stubs_r11_end
stubs_r11_begin:
    .section .text.stubs, "ax"

    .macro SAVE_REGS_BUT_RSP_RCX recording=1
    mov gs:[TH_REGS + 0x00], rax
    mov gs:[TH_REGS + 0x10], rdx
    mov gs:[TH_REGS + 0x18], rbx
    mov gs:[TH_REGS + 0x28], rbp
    mov gs:[TH_REGS + 0x30], rsi
    mov gs:[TH_REGS + 0x38], rdi
    mov gs:[TH_REGS + 0x40], r8
    mov gs:[TH_REGS + 0x48], r9
    mov gs:[TH_REGS + 0x50], r10
    mov gs:[TH_REGS + 0x58], r11
    .if \recording
    R11_PLACE
    .endif
    mov gs:[TH_REGS + 0x60], r12
    mov gs:[TH_REGS + 0x68], r13
    mov gs:[TH_REGS + 0x70], r14
    mov gs:[TH_REGS + 0x78], r15
    .endm

    .macro TO_C name
    mov rsp, gs:[TH_ENGINE_SP]
    pushfq
    pop qword ptr gs:[TH_RFLAGS]
    cld
    mov dword ptr gs:[TH_STATE], TS_ENGINE
    test dword ptr gs:[TH_RFLAGS], 0x40000 // AC: the engine's own unaligned accesses must not trap
    jz 77f
    push 0x202 // FLAGS_INITIAL (base/cpu.h)
    popfq
77: mov rdi, gs:[TH_SELF]
    FUNCTION \name
    call rax
    ud2
    .endm

    .macro LOAD_REGS_BUT_RSP_RAX
    mov rcx, gs:[TH_REGS + 0x08]
    mov rdx, gs:[TH_REGS + 0x10]
    mov rbx, gs:[TH_REGS + 0x18]
    mov rbp, gs:[TH_REGS + 0x28]
    mov rsi, gs:[TH_REGS + 0x30]
    mov rdi, gs:[TH_REGS + 0x38]
    mov r8, gs:[TH_REGS + 0x40]
    mov r9, gs:[TH_REGS + 0x48]
    mov r10, gs:[TH_REGS + 0x50]
    mov r11, gs:[TH_REGS + 0x58]
    R11_PLACE
    mov r12, gs:[TH_REGS + 0x60]
    mov r13, gs:[TH_REGS + 0x68]
    mov r14, gs:[TH_REGS + 0x70]
    mov r15, gs:[TH_REGS + 0x78]
    .endm

    .balign 64
stubs_begin:

// -- out: an asynchronous signal here is deferred; the code goes on into C --

stubs_ibl_miss: // ibl_target holds the next client address
    mov qword ptr gs:[TH_EXIT_ID], -1
stubs_exit: // exit_id tells which exit
    mov gs:[TH_REGS + 0x08], rcx
    mov gs:[TH_REGS + 0x20], rsp
    SAVE_REGS_BUT_RSP_RCX
    TO_C exit

stubs_syscall_escaped: // from an escape copy, which must not make the call
    mov gs:[TH_REGS + 0x20], rsp
    SAVE_REGS_BUT_RSP_RCX
    TO_C syscall_escaped

stubs_syscall_slow: // rcx has been saved by the fragment, rsp by the gate
    SAVE_REGS_BUT_RSP_RCX
    TO_C syscall_slow

stubs_syscall_done: // after a system call: rcx is not the client's, r11 is
    mov gs:[TH_REGS + 0x20], rsp
    SAVE_REGS_BUT_RSP_RCX 0
    TO_C syscall_done

stubs_watched: // the client is at the start of the fragment in `watch`
    mov gs:[TH_REGS + 0x08], rcx
    mov gs:[TH_REGS + 0x20], rsp
    SAVE_REGS_BUT_RSP_RCX
    TO_C watched
stubs_exit_end:

// -- in: regs[], rflags and pc are intact throughout; a signal redirects to reentry_resume --

stubs_enter: // enters the host address in `host`; rsp is the engine's
    mov eax, TS_RUNNING
    xchg gs:[TH_STATE], eax // a barrier: others set stop and then read state
    cmp qword ptr gs:[TH_STOP], 0
    jne 9f
    push qword ptr gs:[TH_RFLAGS]
    popfq
    LOAD_REGS_BUT_RSP_RAX
    mov rax, gs:[TH_REGS + 0x00]
    mov rsp, gs:[TH_REGS + 0x20]
    jmp qword ptr gs:[TH_HOST]
stubs_gate_from_c: // the same, into the gate
    cmp qword ptr gs:[TH_STOP], 0
    jne 9f
    push qword ptr gs:[TH_RFLAGS]
    popfq
    LOAD_REGS_BUT_RSP_RAX
    mov rax, gs:[TH_REGS + 0x00]
    mov rsp, gs:[TH_REGS + 0x20]
    jmp stubs_gate_go
9:  movabs rax, offset reentry_resume
    jmp rax
stubs_enter_end:

// -- entry into a watched fragment --
//
// The client is at the fragment's start; from stubs_watch_saved on, its rax and rcx are in their
// slots. Flags do not change.

stubs_watch: // `watch`: 8 times the fragment's index
    mov gs:[TH_REGS + 0x00], rax
    mov gs:[TH_REGS + 0x08], rcx
stubs_watch_saved:
    mov rax, gs:[TH_WATCH]
    mov rcx, gs:[TH_RECORD_AT]
    mov [rcx], eax
    lea rcx, [rcx + 4]
    mov gs:[TH_RECORD_AT], rcx
    movzx ecx, cx
    jrcxz 4f
    mov rcx, gs:[TH_BODIES]
    mov rax, [rcx + rax]
    mov gs:[TH_HOST], rax
    mov rax, gs:[TH_REGS + 0x00]
    mov rcx, gs:[TH_REGS + 0x08]
    jmp qword ptr gs:[TH_HOST]
4:  mov rax, gs:[TH_REGS + 0x00]
    mov rcx, gs:[TH_REGS + 0x08]
    jmp stubs_watched
stubs_watch_end:

// -- the system call gate --
//
// The fragment has saved rcx to its slot and set sc_next and sc_cont. Up to stubs_gate_call the
// client is at its syscall instruction; after it the call is complete.

stubs_gate:
    mov gs:[TH_REGS + 0x20], rsp
    mov rsp, gs:[TH_ENGINE_SP]
    pushfq
    pop qword ptr gs:[TH_RFLAGS]
stubs_gate_flags: // from here to stubs_gate_go the client's flags are in rflags
    cmp eax, 512
    jae 1f
    mov ecx, eax
    cmp byte ptr gs:[rcx + TA_SLOW_TABLE], GATE_FAST
    jne 3f
1:  push qword ptr gs:[TH_RFLAGS]
    popfq
    mov rsp, gs:[TH_REGS + 0x20]
    jmp stubs_gate_go
2:  push qword ptr gs:[TH_RFLAGS]
    popfq
    jmp stubs_syscall_slow
3:  cmp byte ptr gs:[rcx + TA_SLOW_TABLE], GATE_FDS
    ja 6f
    cmp byte ptr gs:[rcx + TA_SLOW_TABLE], GATE_FD
    jb 2b
    // arguments that may be descriptors of the engine's (syscalls/descriptors.c)
    movabs rcx, offset fds_window
    je 5f
    cmp esi, [rcx]
    jb 4f
    cmp esi, [rcx + 4]
    jbe 2b
4:  cmp edx, [rcx]
    jb 5f
    cmp edx, [rcx + 4]
    jbe 2b
5:  cmp edi, [rcx]
    jb 1b
    cmp edi, [rcx + 4]
    jbe 2b
    jmp 1b
6:  movzx ecx, byte ptr gs:[rcx + TA_SLOW_TABLE]
    cmp ecx, GATE_FCNTL
    jae 15f
    cmp ecx, GATE_OPEN
    je 13f
    cmp ecx, GATE_OPENAT
    jne 16f
    test edx, GATE_WRITES
    jz 16f
    jmp 2b
13: test esi, GATE_WRITES
    jz 16f
    jmp 2b
14: test esi, GATE_FUTEX_COMMAND // GATE_FUTEX_WAIT
    jnz 1b
    test r10, r10
    jz 1b
    jmp 2b
15: ja 14b
    cmp esi, GATE_DUPFD
    je 2b
    cmp esi, GATE_DUPFD_CLOEXEC
    je 2b
    movabs rcx, offset fds_window
    jmp 5b
16: mov gs:[TH_REGS + 0x00], rax
    mov gs:[TH_REGS + 0x10], rdx
    mov gs:[TH_REGS + 0x40], r8
    mov gs:[TH_REGS + 0x48], r9
    mov gs:[TH_REGS + 0x50], r10
stubs_gate_look: // five registers are in their slots; a fault continues at stubs_gate_look_over
    cmp ecx, GATE_MESSAGE
    jae 12f
    cmp ecx, GATE_AT
    mov r10, rsi
    cmovb r10, rdi
    test r10, r10
    jz 11f
    // Find the name's end: skip words without a 0 byte, from the aligned word that it begins in. An
    // aligned word is within one page and passes alignment checks.
    movabs r8, 0x0101010101010101
    mov r9, r8
    shl r9, 7
    mov rdx, r10
    mov ecx, r10d
    and rdx, -8
    and ecx, 7
    shl ecx, 3
    mov rax, -1
    shl rax, cl
    not rax
    or rax, [rdx]
    jmp 8f
7:  add rdx, 8
    lea rcx, [r10 + 4096] // PATH_MAX
    cmp rdx, rcx
    ja stubs_gate_look_over
    mov rax, [rdx]
8:  mov rcx, rax
    sub rcx, r8
    not rax
    and rcx, rax
    and rcx, r9
    jz 7b
    bsf rcx, rcx
    shr ecx, 3
    add rdx, rcx
    cmp rdx, r10
    je 11f
    // A link to a descriptor ends in at least as many digits as the engine's lowest descriptor has,
    // perhaps followed by "/" or "."; the link to the program ends in "exe".
    movzx eax, byte ptr [rdx - 1]
    lea ecx, [rax - '0']
    cmp ecx, 9
    ja 9f
    movabs rcx, offset fds_window
    mov ecx, [rcx + 8]
    sub rdx, rcx
    movzx eax, byte ptr [rdx]
    sub eax, '0'
    cmp eax, 9
    jbe stubs_gate_look_over
    jmp 11f
9:  cmp al, '/'
    je stubs_gate_look_over
    cmp al, '.'
    je stubs_gate_look_over
    cmp al, 'e'
    jne 11f
    cmp byte ptr [rdx - 2], 'x'
    je stubs_gate_look_over
11: mov rax, gs:[TH_REGS + 0x00]
    mov rdx, gs:[TH_REGS + 0x10]
    mov r8, gs:[TH_REGS + 0x40]
    mov r9, gs:[TH_REGS + 0x48]
    mov r10, gs:[TH_REGS + 0x50]
    movabs rcx, offset fds_window
    jmp 5b // rdi may be a name's address and look like a descriptor: the slow path is right, too
12: ja 17f
    cmp qword ptr [rsi + 40], 0 // msg_controllen
    je 11b
    jmp stubs_gate_look_over
17: cmp esi, 1
    jne stubs_gate_look_over
    test edx, edx
    jg stubs_gate_look_over
    mov ecx, [rdi]
    movabs rdx, offset fds_window
    cmp ecx, [rdx]
    jb 11b
    cmp ecx, [rdx + 4]
    ja 11b
stubs_gate_look_over:
    mov rax, gs:[TH_REGS + 0x00]
    mov rdx, gs:[TH_REGS + 0x10]
    mov r8, gs:[TH_REGS + 0x40]
    mov r9, gs:[TH_REGS + 0x48]
    mov r10, gs:[TH_REGS + 0x50]
    jmp 2b
stubs_gate_look_end:
stubs_gate_go:
    // the number, for handler.c: a call that a kick broke off is restarted
    mov gs:[TH_REGS + 0x00], rax
    mov dword ptr gs:[TH_STATE], TS_IN_SYSCALL
stubs_gate_call:
    syscall
stubs_gate_after:
    mov ecx, TS_RUNNING
    xchg gs:[TH_STATE], ecx
    mov rcx, gs:[TH_STOP]
    jrcxz 3f
    jmp stubs_syscall_done
3:  mov rcx, gs:[TH_SC_NEXT]
    jmp qword ptr gs:[TH_SC_CONT]
stubs_gate_after_end:

// -- helpers: calls into C from the middle of a fragment --
//
// The fragment has saved the client's stack pointer and calls on the engine's stack: the processor
// predicts the return. The return address is the first word there until the return; handler.c
// replaces it. Every register survives. C code called from here uses no string instruction, so the
// client's direction flag may stay set. The way searches (emit/waysearch.c) follow these stubs.

    .macro HELPER name // flags are free
stubs_\name:
    push rax
    push rcx
    push rdx
    push rsi
    push rdi
    push r8
    push r9
    push r10
    push r11
    mov rdi, gs:[TH_SELF]
    mov rsi, [rsp + 72]
    mov dword ptr gs:[TH_STATE], TS_HELPER
    FUNCTION \name
    call rax
    mov dword ptr gs:[TH_STATE], TS_RUNNING
    pop r11
    pop r10
    pop r9
    pop r8
    pop rdi
    pop rsi
    pop rdx
    pop rcx
    pop rax
    ret
    .endm

    .macro HELPER_FLAGS name // flags survive; the registers are where rep_simulate() finds them
stubs_\name:
    mov gs:[TH_H_SAVE + 0], rax
    lahf
    seto al
    mov gs:[TH_H_SAVE + 72], rax
    mov gs:[TH_H_SAVE + 8], rcx
    mov gs:[TH_H_SAVE + 16], rdx
    mov gs:[TH_H_SAVE + 24], rsi
    mov gs:[TH_H_SAVE + 32], rdi
    mov gs:[TH_H_SAVE + 40], r8
    mov gs:[TH_H_SAVE + 48], r9
    mov gs:[TH_H_SAVE + 56], r10
    mov gs:[TH_H_SAVE + 64], r11
    mov rdi, gs:[TH_SELF]
    mov dword ptr gs:[TH_STATE], TS_HELPER
    FUNCTION \name
    sub rsp, 8
    call rax
    add rsp, 8
    mov dword ptr gs:[TH_STATE], TS_RUNNING
    mov rcx, gs:[TH_H_SAVE + 8]
    mov rdx, gs:[TH_H_SAVE + 16]
    mov rsi, gs:[TH_H_SAVE + 24]
    mov rdi, gs:[TH_H_SAVE + 32]
    mov r8, gs:[TH_H_SAVE + 40]
    mov r9, gs:[TH_H_SAVE + 48]
    mov r10, gs:[TH_H_SAVE + 56]
    mov r11, gs:[TH_H_SAVE + 64]
    mov rax, gs:[TH_H_SAVE + 72]
    add al, 0x7f // 1 + 0x7f overflows: OF as it was
    sahf
    mov rax, gs:[TH_H_SAVE + 0]
    ret
    .endm

    .macro HELPER_WHOLE name // every flag survives; C runs with DF and AC clear
stubs_\name:
    pushfq
    push rax
    push rcx
    push rdx
    push rsi
    push rdi
    push r8
    push r9
    push r10
    push r11
    sub rsp, 8
    mov dword ptr gs:[TH_STATE], TS_HELPER
    cld
    test dword ptr [rsp + 80], 0x40000 // AC
    jz 77f
    push 0x202
    popfq
77: mov rdi, gs:[TH_SELF]
    mov rsi, [rsp + 88]
    FUNCTION \name
    call rax
    mov dword ptr gs:[TH_STATE], TS_RUNNING
    add rsp, 8
    pop r11
    pop r10
    pop r9
    pop r8
    pop rdi
    pop rsi
    pop rdx
    pop rcx
    pop rax
    popfq
    ret
    .endm

    .balign 16
stubs_helpers:
#define STUB(NAME, label, kind, function) STUB_##kind(label)
#define STUB_PLACE(label)
#define STUB_TO_C(label)
#define STUB_HELPER(label)       HELPER label
#define STUB_HELPER_FLAGS(label) HELPER_FLAGS label
#define STUB_HELPER_WHOLE(label) HELPER_WHOLE label
#include "engine/codecache/stubs.def"
stubs_end:

    .section .rodata.stubs_r11, "a"
stubs_r11_end:

    .section .note.GNU-stack, "", @progbits
