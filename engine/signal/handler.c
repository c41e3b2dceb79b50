// SPDX-License-Identifier: MIT
// From the kernel's signal to a noted signal. handler_entry() runs on the thread's alternate stack,
// finds out what the thread was doing (restore_find, t->state), notes the signal and sends the
// thread to the dispatcher. That calls deliver_pending(), which makes the client's frame. Nothing
// is delivered from inside the handler.
//
// The handler takes no lock, calls only what is marked @signal-safe, and touches no client memory.
// It finds the thread block by its own stack's address, not by %gs, which is the client's while an
// instruction is stepped.
//
// A signal of SIGNAL_SYNC that was sent may arrive while the handler runs: nothing blocks it. It
// then interrupts a handler, and changes to its own frame have no effect. So it is put aside
// (state.h, `nested`), and the outermost handler handles it as its last step, with everything
// blocked, as if it had arrived right afterwards.
#include "engine/signal/handler.h"

#include "engine/base/cpu.h"
#include "engine/base/extable.h"
#include "engine/base/nolibc.h"
#include "engine/callgraph/calls.h"
#include "engine/codecache/restore.h"
#include "engine/codecache/stubs.h"
#include "engine/count/reftrace.h"
#include "engine/count/rep.h"
#include "engine/replay/recordbuf.h"
#include "engine/replay/replayer.h"
#include "engine/signal/deliver.h"
#include "engine/signal/frame.h"
#include "engine/signal/mask.h"
#include "engine/spool/spooler.h"
#include "engine/thread/reentry.h"
#include "engine/thread/selector.h"
#include "engine/thread/threads.h"

#define FLAGS_NOT_FOR_ENGINE (FLAG_TF | FLAG_DF | FLAG_AC)
#define TRAP_TRACE           2
#define TRAP_HWBKPT          4
#define TRAP_PERF            6
#define BUS_MCEERR_AO        5
#define PAGE_FAULT           14
#define SYSCALL_LENGTH       2

extern const char handler_step_iret[];
_Noreturn void handler_step_go(struct thread *t);

// ---- One instruction in place ----

_Noreturn void handler_step(struct thread *t)
{
    mask_close(t);
    t->state = TS_STEP;
    selector_client(t);
    handler_step_go(t);
}

// ---- The handler ----

static void regs_from_context(struct host_regs *u, const struct k_sigcontext *mc)
{
    frame_regs_from(mc, u->r);
    u->rip = mc->ip;
    u->rflags = mc->flags;
}

static void take_client_state(struct thread *t, const struct host_regs *u, u64 pc)
{
    memcpy(t->regs, u->r, sizeof(t->regs));
    t->rflags = u->rflags & ~FLAG_TF;
    t->pc = pc;
}

static void close_mask(struct thread *t, struct k_ucontext *uc)
{
    uc->sigmask = SIGNAL_ALL_BUT_SYNC;
    t->sig->blocked = true;
    stop_set(t, STOP_SIGNAL);
}

// Return to engine code on an empty engine stack.
static void resume_at(struct thread *t, struct k_ucontext *uc, const char *where)
{
    t->state = TS_ENGINE;
    uc->mc.ip = (u64)where;
    uc->mc.gpr[FRAME_SP] = t->engine_sp - 8;
    uc->mc.flags &= ~FLAGS_NOT_FOR_ENGINE;
}

// Whether the noted signal arrived through the mask of the call. A call that has done a part
// returns that, not EINTR.
static bool came_by_mask(const struct signal_state *s, const struct host_regs *u)
{
    u64 bit = SIGBIT(s->async.info.signo) & ~SIGNAL_NEVER_BLOCKED;

    return (s64)u->r[R_RAX] == -EINTR || ((s->mask & bit) && !(s->temp_mask & bit));
}

// A call of the client is complete; rax is its result.
static void call_complete(struct thread *t, struct k_ucontext *uc, const struct host_regs *u)
{
    struct signal_state *s = t->sig;

    if (s->async.full && s->temp_mask_set && came_by_mask(s, u))
        s->async.use_temp_mask = true;
    take_client_state(t, u, t->sc_next);
    t->regs[R_RCX] = t->sc_next;
    resume_at(t, uc, t->sc_post || thread_own(t)->again ? reentry_resume_finished : reentry_resume);
}

static void call_not_made(struct thread *t, struct k_ucontext *uc)
{
    // If the call was interrupted before, control_call() decides how it ends.
    if (t->sc_post && thread_own(t)->again == AGAIN_NOT)
        deliver_call_over(t);
    resume_at(t, uc, reentry_resume);
}

// Makes the thread leave its fragment at the end, also one that a helper returns to: the word below
// the engine's stack is the return address of the helper's call, in the stub and in what it calls.
static void leave_fragment(struct thread *t, enum restore_where where, struct k_ucontext *uc)
{
    u64 *ret = (u64 *)t->engine_sp - 1;

    if (where == RESTORE_FRAGMENT)
        uc->mc.ip = restore_escape(t, uc->mc.ip);
    else if (!t->leaving && restore_find(*ret) == RESTORE_FRAGMENT)
        *ret = restore_escape(t, *ret);
}

// In the engine's own text, where an extable entry says how to leave it.
static void divert_engine(struct thread *t, struct k_ucontext *uc, const struct host_regs *u)
{
    const struct extable *f;

    if ((f = extable_find(u->rip, EXTABLE_SIGNAL))) {
        uc->mc.ip = extable_target(f);
    } else if (extable_find(u->rip, EXTABLE_CALL_BEFORE)) {
        resume_at(t, uc, reentry_resume);
    } else if ((f = extable_find(u->rip, EXTABLE_CALL_AFTER))) {
        // The call changes rax only: everything else in the thread block is valid throughout.
        if (u->rip == extable_target(f))
            t->regs[R_RAX] = u->r[R_RAX];
        t->pc = t->sc_next;
        resume_at(t, uc, reentry_resume);
    }
}

// Sends the interrupted thread to the dispatcher, depending on where it is. The mask is closed.
static void divert(struct thread *t, struct k_ucontext *uc, const struct host_regs *u)
{
    enum restore_where where = restore_find(u->rip);

    switch (where) {
    case RESTORE_FRAGMENT:
    case RESTORE_HELPER: leave_fragment(t, where, uc); break;
    case RESTORE_ENTER: resume_at(t, uc, reentry_resume); break;
    case RESTORE_WATCH:
        restore_watch_state(t, u);
        resume_at(t, uc, reentry_resume);
        break;
    case RESTORE_GATE_BEFORE:
        restore_gate_state(t, u);
        call_not_made(t, uc);
        break;
    case RESTORE_GATE_AFTER: call_complete(t, uc, u); break;
    case RESTORE_OUTSIDE:
        if (t->state == TS_HELPER) {
            leave_fragment(t, where, uc);
        } else {
            divert_engine(t, uc, u);
        }
        break;
    case RESTORE_ESCAPE:
    case RESTORE_EXIT: break; // already on its way
    }
}

// A watchpoint's signal arrives after the access that raised it: the instruction was executed, the
// client's or the engine's. If an instruction is stepped, the step is over.
static bool is_watchpoint(const struct thread *t, int sig, const struct k_siginfo *info)
{
    return sig == SIGTRAP &&
           (info->code == TRAP_PERF || (info->code == TRAP_HWBKPT && t->state != TS_STEP));
}

static bool is_sync(const struct thread *t, int sig, const struct k_siginfo *info)
{
    return (SIGBIT(sig) & SIGNAL_SYNC) && info->code > 0 &&
           !(sig == SIGBUS && info->code == BUS_MCEERR_AO) && !is_watchpoint(t, sig, info);
}

static bool is_kick(int sig, const struct k_siginfo *info)
{
    return sig == STOP_KICK_SIGNAL && (info->code == SI_QUEUE || info->code == SI_TIMER) &&
           (info->value == STOP_KICK_MAGIC || info->value == STOP_SAMPLE_MAGIC);
}

// At GATE_AFTER: the kernel interrupted the client's call for a signal that natively would not have
// arrived, or not now. Makes the call again, unless it has done its work (false). A call that
// SIGSTOP and SIGCONT end, such as sigtimedwait(), is restarted, too, if these arrived at the same
// moment: the two cases look the same.
static bool restart_call(struct thread *t, struct k_ucontext *uc, const struct host_regs *u)
{
    u64 gate_go = u->rip - (u64)(stubs_at(STUB_GATE_AFTER) - stubs_at(STUB_GATE_GO));

    if (u->r[R_RAX] == (u64)-EINTR && restore_find(gate_go) == RESTORE_GATE_BEFORE &&
        restore_find(u->rip - 1) == RESTORE_GATE_BEFORE && t->regs[R_RAX] != SYS_close) {
        uc->mc.gpr[FRAME_AX] = t->regs[R_RAX];
        uc->mc.ip = gate_go;
        return true;
    }
    return false;
}

// The same where the call has done a part: C code decides whether that is all, and how to continue
// (syscalls/interrupted.h). Only the signal that the kernel delivers as the call returns can have
// interrupted it. False: it was not interrupted.
static bool note_partial_call(struct thread *t, struct k_ucontext *uc, const struct host_regs *u,
                              const char *where)
{
    struct thread_own *own = thread_own(t);
    u64 nr = t->regs[R_RAX];

    if ((s64)u->r[R_RAX] <= 0 || restore_find(u->rip) != RESTORE_GATE_AFTER ||
        restore_find(u->rip - 1) != RESTORE_GATE_BEFORE)
        return false;
    take_client_state(t, u, t->sc_next - SYSCALL_LENGTH);
    t->regs[R_RAX] = nr;
    own->cut.result = (s64)u->r[R_RAX];
    own->cut.broken = true;
    own->cut.begun &= own->again == AGAIN_REST;
    own->again = AGAIN_CUT;
    close_mask(t, uc);
    resume_at(t, uc, where);
    return true;
}

// At the gate's system call instruction.
static bool at_call(u64 rip)
{
    return restore_find(rip + SYSCALL_LENGTH) == RESTORE_GATE_AFTER &&
           restore_find(rip + SYSCALL_LENGTH - 1) == RESTORE_GATE_BEFORE;
}

// After SIGSTOP and SIGCONT the kernel continues a wait by restart_syscall(), and forgets it when a
// handler returns. A signal that natively would not have arrived there must not end the wait with
// EINTR: it is restarted.
static void restart_wait(struct thread *t, struct k_ucontext *uc, struct host_regs *u)
{
    if (u->r[R_RAX] == SYS_restart_syscall && at_call(u->rip))
        u->r[R_RAX] = uc->mc.gpr[FRAME_AX] = t->regs[R_RAX];
}

static void handle_kick(struct thread *t, struct k_ucontext *uc, struct host_regs *u)
{
    enum restore_where where = restore_find(u->rip);

    restart_wait(t, uc, u);
    // It arrived just as the thread went to sleep.
    if (where == RESTORE_GATE_AFTER) {
        if (!restart_call(t, uc, u))
            note_partial_call(t, uc, u, reentry_resume);
        return;
    }
    if (where == RESTORE_FRAGMENT || where == RESTORE_HELPER || where == RESTORE_ENTER ||
        where == RESTORE_WATCH || (where == RESTORE_OUTSIDE && t->state == TS_HELPER)) {
        close_mask(t, uc);
        divert(t, uc, u);
    }
}

static bool is_control(int sig, const struct k_siginfo *info)
{
    return sig == SPOOL_REQUEST_SIGNAL && info->code == SI_QUEUE &&
           info->value == SPOOL_REQUEST_MAGIC;
}

// Whether the call in the gate was interrupted before it had done anything. A call that the kernel
// is about to make looks the same as one that it restarts by itself.
static bool call_interrupted(struct thread *t, enum restore_where where, const struct host_regs *u)
{
    if (where == RESTORE_GATE_AFTER)
        return u->r[R_RAX] == (u64)-EINTR && t->regs[R_RAX] != SYS_close;
    return at_call(u->rip);
}

// A request from outside. A thread in C code, or on the way there, checks when it leaves that.
static void handle_control(struct thread *t, struct k_ucontext *uc, struct host_regs *u)
{
    enum restore_where where = restore_find(u->rip);
    u64 nr = t->regs[R_RAX];

    restart_wait(t, uc, u);
    if (where == RESTORE_OUTSIDE ? t->state != TS_HELPER
                                 : where == RESTORE_ESCAPE || where == RESTORE_EXIT) {
        stop_set(t, STOP_CONTROL);
        return;
    }
    if (note_partial_call(t, uc, u, reentry_resume_control))
        return;
    close_mask(t, uc);
    if (call_interrupted(t, where, u)) {
        if (where == RESTORE_GATE_AFTER) {
            take_client_state(t, u, t->sc_next - 2);
            t->regs[R_RAX] = nr;
        } else {
            restore_gate_state(t, u);
        }
        if (thread_own(t)->again != AGAIN_REST)
            thread_own(t)->again =
                where == RESTORE_GATE_AFTER ? AGAIN_INTERRUPTED : AGAIN_RESTARTED;
        resume_at(t, uc, reentry_resume_control);
        return;
    }
    stop_set(t, STOP_CONTROL);
    divert(t, uc, u);
}

// A signal that the client blocks and the kernel does not. True: note it, because the call that it
// has interrupted lets it in.
static bool held_back(struct thread *t, struct k_siginfo *info, struct k_ucontext *uc,
                      struct host_regs *u)
{
    struct signal_state *s = t->sig;
    bool let_in = s->temp_mask_set && !(s->temp_mask & SIGBIT(info->signo));
    bool awaited = (s->awaited & SIGBIT(info->signo)) != 0;
    bool after = restore_find(u->rip) == RESTORE_GATE_AFTER;
    struct host_regs again;

    restart_wait(t, uc, u);
    if (!s->blocked && let_in && after && u->r[R_RAX] == (u64)-EINTR)
        return true;
    if (!(s->mask & SIGBIT(info->signo)) || let_in || awaited || !mask_give_back(t, info))
        mask_hold(s, info);
    if (s->blocked || (!let_in && note_partial_call(t, uc, u, reentry_resume)))
        return false;
    // A call that is about to be made would not see the signal that it waits for: restart it.
    if (after ? restart_call(t, uc, u) && awaited : let_in || awaited) {
        close_mask(t, uc);
        regs_from_context(&again, &uc->mc);
        divert(t, uc, &again);
    }
    return false;
}

static void handle_async(struct thread *t, struct k_siginfo *info, struct k_ucontext *uc,
                         struct host_regs *u)
{
    struct signal_state *s = t->sig;
    u64 bit = SIGBIT(info->signo);

    if ((bit & SIGNAL_NEVER_BLOCKED) && (s->blocked || (s->mask & bit)) &&
        !held_back(t, info, uc, u))
        return;
    if (s->async.full)
        engine_die("signal %d came while signal %d waited: the engine's mask is wrong", info->signo,
                   s->async.info.signo);
    mask_note(s, &s->async, info);
    close_mask(t, uc);
    divert(t, uc, u);
}

static _Noreturn void crashed(struct thread *t, const struct k_siginfo *info,
                              const struct host_regs *u)
{
    if (info->signo == SIGBUS && spooler_owns(info->addr))
        engine_die("spool %s: no space left for the counters (the file system is full)",
                   spooler_string(spool->s_spool));
    engine_die(
        "the engine crashed: signal %d code %d address 0x%lx at 0x%lx, stack 0x%lx, state %u, "
        "client pc 0x%lx",
        info->signo, info->code, info->addr, u->rip, u->r[R_RSP], t ? t->state : 0, t ? t->pc : 0);
}

static void note_sync(struct thread *t, const struct k_siginfo *info, struct k_ucontext *uc,
                      bool at_host_pc)
{
    struct signal_state *s = t->sig;

    s->last_trapno = uc->mc.trapno;
    s->last_err = uc->mc.err;
    if (uc->mc.trapno == PAGE_FAULT)
        s->last_cr2 = uc->mc.cr2;
    mask_note(s, &s->sync, info);
    // These report the address of the instruction.
    if (at_host_pc && info->addr &&
        (info->signo == SIGILL || info->signo == SIGFPE || info->signo == SIGTRAP))
        s->sync.info.addr = t->pc;
    close_mask(t, uc);
}

// The kernel could not return to this thread: the client has loaded %ss from its own LDT, and
// another thread removed the entry. As an asynchronous signal, it may arrive anywhere.
static bool lost_selector(struct thread *t, const struct k_siginfo *info, struct k_ucontext *uc,
                          const struct host_regs *u)
{
    if (info->signo != SIGSEGV || info->code != SI_KERNEL || uc->mc.ss == FRAME_SS)
        return false;
    uc->mc.ss = FRAME_SS;
    note_sync(t, info, uc, false);
    divert(t, uc, u);
    return true;
}

// A replay makes unaligned accesses: turns alignment checks off.
static void allow_unaligned(void)
{
    __asm__ volatile("pushfq\n\tandq %0, (%%rsp)\n\tpopfq" : : "i"(~(s64)FLAG_AC) : "memory", "cc");
}

static void handle_sync(struct thread *t, const struct k_siginfo *info, struct k_ucontext *uc,
                        const struct host_regs *u)
{
    enum restore_where where = restore_find(u->rip);
    const struct extable *fixup;
    struct restore_progress left;

    if (UNLIKELY(lost_selector(t, info, uc, u)))
        return;

    switch (where) {
    case RESTORE_FRAGMENT:
    case RESTORE_ESCAPE:
        if (info->signo == SIGBUS && spooler_owns(info->addr))
            crashed(t, info, u);
        allow_unaligned();
        if (recordbuf_full(t, info->addr, &uc->mc.gpr[FRAME_R11], uc->mc.gpr[FRAME_SP]) ||
            calls_full(t, info->addr, &uc->mc.gpr[FRAME_CX]))
            return;
        left = restore_recover(t, u);
        recordbuf_interrupted(t, &left);
        for (u32 i = 0; i < left.ntotals; i++)
            calls_corrected(t, left.total[i].block, left.total[i].insns, left.total[i].by);
        if (left.rep)
            rep_simulate(t);
        note_sync(t, info, uc, true);
        resume_at(t, uc, reentry_resume);
        return;
    case RESTORE_GATE_AFTER: // SIGSYS by a seccomp filter from outside
        note_sync(t, info, uc, false);
        t->sig->sync.info.addr = t->sc_next;
        call_complete(t, uc, u);
        return;
    case RESTORE_OUTSIDE:
        fixup = extable_find(u->rip, EXTABLE_FAULT);
        if (fixup) {
            uc->mc.ip = extable_target(fixup);
            return;
        }
        break;
    case RESTORE_EXIT:
    case RESTORE_ENTER:
    case RESTORE_WATCH:
    case RESTORE_HELPER: break;
    case RESTORE_GATE_BEFORE: // the client's pointer is invalid: the kernel will report it
        if (!stubs_between(u->rip, STUB_GATE_LOOK, STUB_GATE_LOOK_OVER))
            break;
        uc->mc.ip = stubs_at(STUB_GATE_LOOK_OVER);
        return;
    }
    crashed(t, info, u);
}

// dispatch.c has counted it.
void handler_not_stepped(struct thread *t)
{
    const struct spool_block *b = spooler_block_at(t->step_block);

    t->counters[t->step_counter]--;
    reftrace_take_back(t, b->map, b->pc);
    calls_corrected(t, t->step_block, 1, -1);
}

// The stepped instruction is done, or has faulted.
static void handle_step(struct thread *t, const struct k_siginfo *info, struct k_ucontext *uc,
                        const struct host_regs *u)
{
    selector_engine(t);
    if (uc->mc.cs != CS_USER64)
        engine_die(
            "the instruction at 0x%lx switches to code segment 0x%x: only 64-bit programs can be "
            "run",
            t->pc, (u32)uc->mc.cs);
    // At the iret: t->pc cannot be jumped to, and the client's state is in the thread block.
    if (u->rip != (u64)handler_step_iret)
        take_client_state(t, u, u->rip);
    if (info->signo != SIGTRAP || info->code != TRAP_TRACE)
        note_sync(t, info, uc, false);
    if (info->signo != SIGTRAP)
        handler_not_stepped(t);
    uc->sigmask = SIGNAL_ALL_BUT_SYNC;
    resume_at(t, uc, reentry_resume);
}

// Was a handler interrupted? An instruction that is stepped has the client's stack pointer.
static bool in_handler(const struct thread *t, const struct host_regs *u)
{
    u64 at = u->r[R_RSP] - (u64)t;

    return at >= TA_SIGNAL_STACK && at < TA_SIGNAL_STACK_TOP && t->state != TS_STEP &&
           restore_find(u->rip) == RESTORE_OUTSIDE;
}

static void put_aside(struct signal_state *s, const struct k_siginfo *info)
{
    for (u32 i = 0; i < s->nested_count; i++)
        if (s->nested[i].signo == info->signo)
            return;
    s->nested[s->nested_count++] = *info;
}

// The end of the outermost handler: handles what arrived meanwhile, at the point where this handler
// leaves the thread. Nothing more arrives until the kernel has returned.
static void take_nested(struct thread *t, struct k_ucontext *uc)
{
    struct signal_state *s = t->sig;
    u64 all = ~0ul;
    struct host_regs u;

    sys_sigprocmask(SIG_SETMASK, &all, NULL);
    for (u32 i = 0; i < s->nested_count; i++) {
        regs_from_context(&u, &uc->mc);
        handle_async(t, &s->nested[i], uc, &u);
    }
    s->nested_count = 0;
}

void handler_entry(int sig, struct k_siginfo *info, struct k_ucontext *uc)
{
    struct thread *t;
    struct host_regs u;
    bool nested;

    // First: the kernel leaves the client's selector in %ss. If another thread removes its entry,
    // the next interrupt here kills the process, because SIGSEGV is blocked.
    __asm__ volatile("mov %0, %%ss" : : "r"(FRAME_SS));
    t = threads_of_address((u64)__builtin_frame_address(0));

    regs_from_context(&u, &uc->mc);
    if (!t || !t->sig)
        crashed(NULL, info, &u);
    if (replayer_takes_signal(t, sig, info))
        return;
    if (info->code == MASK_GIVEN_AWAY)
        info->code = SI_USER;
    nested = in_handler(t, &u);
    if (is_kick(sig, info)) {
        if (info->value == STOP_SAMPLE_MAGIC)
            stop_set(t, STOP_SAMPLE);
        handle_kick(t, uc, &u);
    } else if (is_control(sig, info)) {
        handle_control(t, uc, &u);
    } else if (is_sync(t, sig, info)) {
        frame_learn(uc);
        if (t->state == TS_STEP)
            handle_step(t, info, uc, &u);
        else
            handle_sync(t, info, uc, &u);
    } else if (nested) {
        put_aside(t->sig, info);
    } else {
        handle_async(t, info, uc, &u);
    }
    if (!nested)
        take_nested(t, uc);
}
