// SPDX-License-Identifier: MIT
// Signal frames on the client's stack, as the kernel lays them out (arch/x86/kernel/signal_64.c and
// fpu/signal.c): made from the thread block and the live FPU registers, and read back by
// rt_sigreturn. Which signal, and with which mask, is decided elsewhere.
#ifndef QUERN_ENGINE_FRAME_H
#define QUERN_ENGINE_FRAME_H

#include "engine/signal/state.h"

#define CS_USER64 0x33
#define FRAME_SS  0x2b // %ss of 64-bit code

#define FRAME_R11 3 // index in gpr[]
#define FRAME_AX  13
#define FRAME_CX  14
#define FRAME_SP  15

struct k_rt_sigframe {
    u64 pretcode;
    struct k_ucontext uc;
    struct k_siginfo info;
};

// Before the first frame.
void frame_init(void);

// Reads from a frame of the kernel which state components it now saves for this process (AMX
// permission).
void frame_learn(const struct k_ucontext *uc);

// Pushes a frame for act and lets t continue at its handler. mask: what rt_sigreturn restores. 0 or
// -EFAULT (nothing of t changed). The FPU registers are then in their initial state.
int frame_push(struct thread *t, const struct k_sigaction *act, const struct signal_pending *p,
               u64 mask);

// rt_sigreturn: takes registers, mask, FPU state and alternate stack from the frame at the client's
// stack pointer. FRAME_GONE and FRAME_BAD_FPU: the client gets SIGSEGV; with the latter, registers
// and mask are those of the frame, and the FPU state is the initial one.
enum frame_popped { FRAME_POPPED, FRAME_GONE, FRAME_BAD_FPU };
enum frame_popped frame_pop(struct thread *t, u64 *mask);

// General registers by hardware number, from and to a context. @signal-safe
void frame_regs_from(const struct k_sigcontext *mc, u64 regs[16]);
void frame_regs_to(struct k_sigcontext *mc, const u64 regs[16]);

// Makes the kernel resume the client natively, with the state in t and this signal mask; the engine
// does not run again. A signal that is pending and not blocked then finds the client's state.
_Noreturn void frame_become_client(struct thread *t, u64 mask);

// sigaltstack's rules, shared by the system call and frame_pop.
s32 frame_alt_flags(const struct k_stack *alt, u64 sp);

// Where the kernel returns to from a handler (frame.S).
extern const char frame_restorer[];

#endif
