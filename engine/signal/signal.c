// SPDX-License-Identifier: MIT
// From the kernel's signal to the client's handler. signal_handler() runs on the thread's alternate stack, finds out what the
// thread was doing (tcache_where, t->state), notes the signal and sends the thread on its way to dispatch_run(), which calls
// signal_deliver_pending(), which makes the client's frame. Nothing is delivered from inside the handler.
//
// The handler takes no lock, calls only what is marked @signal-safe, and touches no client memory. It finds the thread block by its own
// stack's address, not by %gs, which is the client's while an instruction is stepped.

#include "engine/signal/signal.h"
#include "engine/base/cpu.h"
#include "engine/base/heap.h"
#include "engine/base/mini.h"
#include "engine/base/safemem.h"
#include "engine/codecache/fragment.h"
#include "engine/codecache/tcache.h"
#include "engine/process/exec.h"
#include "engine/run/dispatch.h"
#include "engine/signal/frame.h"
#include "engine/signal/signal_part.h"
#include "engine/spool/config.h"
#include "engine/spool/fds.h"
#include "engine/spool/spooler.h"
#include "engine/syscalls/syscalls.h"
#include "engine/syscalls/syscalls_part.h"
#include "engine/thread/threads.h"

#define FLAGS_NOT_FOR_ENGINE 0x40500ul // TF, DF, AC
#define FLAG_TF              0x100ul
#define TRAP_TRACE           2
#define SI_USER              0
#define SI_KERNEL            0x80
#define SI_QUEUE             (-1)
#define SI_TIMER             (-2)
#define BUS_MCEERR_AO        5
#define GIVEN_TO_ANOTHER \
    (-0x7175656e) // instead of SI_USER, which the kernel lets nobody say to another thread
#define PAGE_FAULT 14

extern const char dispatch_syscall_done[];
extern const char stubs_gate_go[],
    stubs_gate_after[]; // their distance is that of the copies in the code cache
extern const char signal_step_iret[];
extern const char signal_int80_call[], signal_int80_after[], signal_int80_end[];
extern const char signal_try_mask_test[], signal_try_mask_done[];
long signal_try_mask(const bool *closed, const u64 *mask);
_Noreturn void signal_step_go(struct thread *t);
_Noreturn void signal_int80_go(struct thread *t);
_Noreturn void signal_int80_done(struct thread *t);

static struct signal_table *initial_table;
static u64 initial_mask;

void signals_init(void)
{
    u64 all = SIGNAL_ALL_BUT_SYNC;

    sys_sigprocmask(SIG_SETMASK, &all, NULL);
    initial_mask = spool->start_mask;
    frame_init();
    initial_table = signal_table_inherited();
}

void signals_thread_init(struct thread *t, struct thread *parent, bool share_table)
{
    struct signal_state *s = t->sig;

    if (!s)
        s = t->sig = heap_alloc(sizeof(*s));
    else
        memset(s, 0, sizeof(*s));
    if (!parent) {
        s->mask = initial_mask;
        s->table = initial_table;
    } else {
        s->mask = parent->sig->mask;
        s->alt.flags = 2; // SS_DISABLE
        if (share_table) {
            s->table = parent->sig->table;
            __atomic_fetch_add(&s->table->refs, 1, __ATOMIC_RELAXED);
        } else {
            s->table = signal_table_copy(parent->sig->table);
        }
    }
    s->blocked = true;
    t->stop |= STOP_SIGNAL;
}

void signals_thread_fini(struct thread *t)
{
    signal_table_drop(t->sig->table);
    t->sig->table = NULL;
}

void signals_thread_start(struct thread *t)
{
    struct k_stack ss = { (u64)t + TA_SIGNAL_STACK + PAGE_SIZE, 0, 0,
                          TA_SIGNAL_STACK_TOP - TA_SIGNAL_STACK - PAGE_SIZE };
    long ret = sys_call2(SYS_sigaltstack, (u64)&ss, 0);

    if (ret)
        engine_die("cannot set the signal stack of thread %d: error %ld", t->tid, -ret);
}

// ---- The mask ----

static void stop_set(struct thread *t, u64 bits)
{
    __atomic_fetch_or(&t->stop, bits, __ATOMIC_SEQ_CST);
}

void signals_block(struct thread *t)
{
    u64 all = SIGNAL_ALL_BUT_SYNC;

    if (t->sig->blocked)
        return;
    sys_sigprocmask(SIG_SETMASK, &all, NULL);
    // A signal that came before the call has closed the mask itself: the same state.
    t->sig->blocked = true;
    stop_set(t, STOP_SIGNAL);
}

static void open_mask(struct thread *t)
{
    u64 mask = t->sig->mask & ~SIGNAL_NEVER_BLOCKED;

    t->sig->full_mask = false;
    t->sig->blocked = false;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    sys_sigprocmask(SIG_SETMASK, &mask, NULL);
}

static bool held_is_due(const struct signal_state *s)
{
    for (u32 i = 0; i < s->held_count; i++)
        if (!(SIGBIT(s->held[i].signo) & s->mask))
            return true;
    return false;
}

void signal_set_mask(struct thread *t, u64 mask)
{
    struct signal_state *s = t->sig;
    u64 kernel = mask & ~SIGNAL_NEVER_BLOCKED;

    if (mask == s->mask)
        return;
    s->mask = mask;
    // When the mask is closed, the next delivery opens it to the new one.
    if (!s->blocked && signal_try_mask(&s->blocked, &kernel) && held_is_due(s))
        stop_set(t, STOP_SIGNAL);
}

bool signals_restore_mask(struct thread *t)
{
    struct signal_state *s = t->sig;

    signals_block(t);
    if (signal_is_noted(t))
        return false;
    // A process in shared memory that succeeds with its exec is seen by nobody to go: let it count as parked from here on.
    if (!threads_is_profiled(t) && !thread_own(t)->borrowed)
        __atomic_store_n(&t->state, TS_IN_SYSCALL, __ATOMIC_SEQ_CST);
    s->full_mask = true;
    s->blocked = false;
    __atomic_fetch_and(&t->stop, ~STOP_SIGNAL, __ATOMIC_SEQ_CST);
    signal_table_ignore(s->table, true);
    sys_sigprocmask(SIG_SETMASK, &s->mask, NULL);
    return !signal_is_noted(t);
}

bool signals_close_for_exec(struct thread *t, u64 *mask)
{
    struct signal_state *s = t->sig;

    signals_block(t);
    if (signal_is_noted(t))
        return false;
    if (!threads_is_profiled(t) && !thread_own(t)->borrowed)
        __atomic_store_n(&t->state, TS_IN_SYSCALL, __ATOMIC_SEQ_CST);
    *mask = s->mask;
    signal_table_ignore(s->table, true);
    __atomic_fetch_and(&t->stop, ~STOP_SIGNAL, __ATOMIC_SEQ_CST);
    return true;
}

void signals_exec_failed(struct thread *t)
{
    __atomic_exchange_n(&t->state, TS_ENGINE, __ATOMIC_SEQ_CST);
    signal_table_ignore(t->sig->table, false);
    if (t->sig->full_mask || t->sig->blocked)
        stop_set(t, STOP_SIGNAL);
}

// ---- Signals that only the engine holds back ----

static void hold(struct signal_state *s, const struct k_siginfo *info)
{
    // Ordinary signals do not queue.
    if (info->signo < SIGRTMIN)
        for (u32 i = 0; i < s->held_count; i++)
            if (s->held[i].signo == info->signo)
                return;
    // More of SIGRTMAX than we can hold: as when the kernel's queue (RLIMIT_SIGPENDING) is full, but too late to say so to the sender.
    if (s->held_count < SIGNAL_HELD_MAX)
        s->held[s->held_count++] = *info;
}

bool signal_is_due(const struct thread *t)
{
    return signal_is_noted(t) || held_is_due(t->sig);
}

// A signal that kill() sent to the process and that this thread does not let in: natively the kernel would have chosen one that does.
// signals: which the other must not block.
static bool give_to_another(struct thread *t, struct k_siginfo *info, u64 signals)
{
    s32 tid = info->code == SI_USER ? threads_find_open(t, signals) : 0;
    struct k_siginfo copy = *info;

    copy.code = GIVEN_TO_ANOTHER;
    return tid && sys_call4(SYS_rt_tgsigqueueinfo, (u64)thread_own(t)->tgid, (u64)tid,
                            (u64)copy.signo, (u64)&copy) == 0;
}

void signals_pass_on(struct thread *t)
{
    struct signal_state *s = t->sig;
    u64 all = ~0ul;

    if (!s->held_count)
        return;
    sys_sigprocmask(SIG_SETMASK, &all, NULL); // nothing more comes to this list
    for (u32 i = 0; i < s->held_count; i++)
        if (!give_to_another(t, &s->held[i], SIGBIT(s->held[i].signo)))
            give_to_another(t, &s->held[i], 0);
    s->held_count = 0;
}

int signal_take_held(struct thread *t, u64 set, struct k_siginfo *info)
{
    struct signal_state *s = t->sig;

    u32 best = SIGNAL_HELD_MAX;

    signals_block(t); // the handler adds to the list
    // As the kernel: the lowest number first, of the same number the oldest.
    for (u32 i = 0; i < s->held_count; i++)
        if ((SIGBIT(s->held[i].signo) & set) &&
            (best == SIGNAL_HELD_MAX || s->held[i].signo < s->held[best].signo))
            best = i;
    if (best == SIGNAL_HELD_MAX)
        return 0;
    *info = s->held[best];
    s->held_count--;
    memmove(&s->held[best], &s->held[best + 1], (s->held_count - best) * sizeof(s->held[0]));
    return info->signo;
}

static void note(struct signal_state *s, struct signal_pending *p, const struct k_siginfo *info)
{
    p->full = true;
    p->use_temp_mask = false;
    p->trapno = s->last_trapno;
    p->err = s->last_err;
    p->cr2 = s->last_cr2;
    p->info = *info;
}

void signal_note_held(struct thread *t, const struct k_siginfo *info)
{
    struct signal_state *s = t->sig;

    signals_block(t);
    note(s, &s->async, info);
    s->async.use_temp_mask = true;
}

// Gives a noted signal back to the kernel, which keeps it until the mask lets it through.
static void requeue(struct thread *t, struct k_siginfo *info)
{
    if (SIGBIT(info->signo) & SIGNAL_NEVER_BLOCKED)
        hold(t->sig, info);
    else if (sys_call4(SYS_rt_tgsigqueueinfo, (u64)sys_getpid(), (u64)sys_gettid(),
                       (u64)info->signo, (u64)info))
        sys_tgkill(sys_getpid(), sys_gettid(), info->signo);
}

// ---- Delivery ----

static void deliver(struct thread *t, struct signal_pending *p, bool sync);

// force_sigsegv: the frame could not be made.
static void deliver_failed(struct thread *t, int sig)
{
    struct signal_pending segv = { 0 };

    if (sig == SIGSEGV)
        threads_end_process(t, SPOOL_END_SIGNAL, SIGSEGV);
    segv.full = true;
    segv.trapno = t->sig->last_trapno;
    segv.err = t->sig->last_err;
    segv.cr2 = t->sig->last_cr2;
    segv.info.signo = SIGSEGV;
    segv.info.code = SI_KERNEL;
    deliver(t, &segv, true);
}

// The mask is closed, p no longer in its slot. sync: the client caused it, so it can be neither blocked nor ignored.
static void deliver(struct thread *t, struct signal_pending *p, bool sync)
{
    struct signal_state *s = t->sig;
    int sig = p->info.signo;
    struct k_sigaction act = signal_table_get(s, sig);
    u64 mask = p->use_temp_mask ? s->temp_mask : s->mask;

    s->fatal = p->info;
    if (sync && ((s->mask & SIGBIT(sig)) || act.handler == SIG_IGN))
        threads_end_process(t, SPOOL_END_SIGNAL, sig);
    if (act.handler == SIG_IGN)
        return;
    if (act.handler == SIG_DFL) {
        switch (signal_default(sig)) {
        case SIGNAL_DEFAULT_END: threads_end_process(t, SPOOL_END_SIGNAL, sig);
        case SIGNAL_DEFAULT_STOP: // it had a handler when it came
            sys_tgkill(sys_getpid(), sys_gettid(), sig);
            return;
        case SIGNAL_DEFAULT_IGNORE: return;
        }
    }
    if (frame_push(t, &act, p, s->mask)) {
        deliver_failed(t, sig);
        return;
    }
    mask |= act.mask | (act.flags & SA_NODEFER ? 0 : SIGBIT(sig));
    s->mask = mask & ~(SIGBIT(SIGKILL) | SIGBIT(SIGSTOP));
    __atomic_fetch_add(&spool->n_signals, 1, __ATOMIC_RELAXED);
}

void signal_deliver_pending(struct thread *t)
{
    struct signal_state *s = t->sig;
    struct signal_pending p = { 0 };

    if (t->stop & (STOP_PARK | STOP_YIELD))
        threads_park(t);
    threads_turn_take(t);
    threads_stress_resume(t);
    if (t->sc_args[6]) // a call was to go through the gate and has not
        syscalls_args_restore(t);
    if (!(t->stop & STOP_SIGNAL) && !s->full_mask)
        return;
    signals_block(t);
    __atomic_fetch_and(&t->stop, ~STOP_SIGNAL, __ATOMIC_SEQ_CST);
    if (s->sync.full) {
        p = s->sync;
        s->sync.full = false;
        deliver(t, &p, true);
    }
    if (s->async.full) {
        p = s->async;
        s->async.full = false;
        // The mask may have changed since it was noted: by the client's call that was under way, or by the delivery above.
        if (!p.use_temp_mask && (s->mask & SIGBIT(p.info.signo)))
            requeue(t, &p.info);
        else
            deliver(t, &p, false);
    }
    p.use_temp_mask = false;
    while (s->held_count && signal_take_held(t, ~s->mask, &p.info)) {
        p.trapno = s->last_trapno;
        p.err = s->last_err;
        p.cr2 = s->last_cr2;
        deliver(t, &p, false);
    }
    open_mask(t);
    // What has come into the list meanwhile.
    if (held_is_due(s))
        stop_set(t, STOP_SIGNAL);
}

void signal_fault(struct thread *t, int sig, int code, u64 addr, u64 trapno, u64 err)
{
    struct signal_state *s = t->sig;
    struct k_siginfo info;

    memset(&info, 0, sizeof(info));
    info.signo = sig;
    info.code = code;
    info.addr = addr;
    s->last_trapno = trapno;
    s->last_err = err;
    if (trapno == PAGE_FAULT && sig == SIGSEGV && code != SI_KERNEL)
        s->last_cr2 = addr;
    note(s, &s->sync, &info);
    stop_set(t, STOP_SIGNAL);
}

void signal_sys_return(struct thread *t)
{
    u64 mask;

    if (frame_pop(t, &mask)) {
        signal_fault(t, SIGSEGV, SI_KERNEL, 0, t->sig->last_trapno, t->sig->last_err);
        return;
    }
    signal_set_mask(t, mask & ~(SIGBIT(SIGKILL) | SIGBIT(SIGSTOP)));
}

_Noreturn void signal_die_natively(int sig)
{
    struct k_sigaction dfl = { 0 };
    u64 none = ~SIGBIT(sig);

    dfl.flags = SA_RESTORER;
    dfl.restorer = (u64)signal_restorer;
    sys_sigaction(sig, &dfl, NULL);
    sys_sigprocmask(SIG_SETMASK, &none, NULL);
    sys_tgkill(sys_getpid(), sys_gettid(), sig);
    sys_exit_group(
        128 + sig); // not reached, unless the kernel protects this process (init of a namespace)
}

// Would the kernel write a core file, or hand one to a program? A pipe takes one in spite of a limit of 0.
bool signal_leaves_core(int sig)
{
    static const u64 with_core =
        SIGBIT(SIGQUIT) | SIGBIT(SIGILL) | SIGBIT(SIGTRAP) | SIGBIT(SIGABRT) | SIGBIT(SIGFPE) |
        SIGBIT(SIGSEGV) | SIGBIT(SIGBUS) | SIGBIT(SIGSYS) | SIGBIT(SIGXCPU) | SIGBIT(SIGXFSZ);
    struct k_rlimit limit;
    char first = 0;
    long fd;

    if (!(SIGBIT(sig) & with_core) || sys_prlimit(RLIMIT_CORE, NULL, &limit) ||
        sys_call5(SYS_prctl, PR_GET_DUMPABLE, 0, 0, 0, 0) != 1)
        return false;
    if (limit.cur >= PAGE_SIZE)
        return true;
    fd = fds_open("/proc/sys/kernel/core_pattern", O_RDONLY | O_CLOEXEC, 0);
    if (fd >= 0) {
        sys_read((int)fd, &first, 1);
        sys_close((int)fd);
    }
    return first == '|' && limit.cur != 1;
}

// With the client's registers and, where it was sent to this thread alone or caused by it, the client's own siginfo: so that a core
// file or a debugger sees the client.
_Noreturn void signal_die_as_client(struct thread *t, int sig)
{
    struct k_sigaction dfl = { 0 };
    struct k_siginfo *info = &t->sig->fatal;
    u64 all = ~0ul;

    if (sys_getpid() == 1) // init of a namespace may survive it, and would go on natively
        signal_die_natively(sig);
    sys_sigprocmask(SIG_SETMASK, &all, NULL);
    dfl.flags = SA_RESTORER;
    dfl.restorer = (u64)signal_restorer;
    sys_sigaction(sig, &dfl, NULL);
    // The engine's own memory is of no use to a core's reader.
    sys_madvise(tcache_start(), tcache_end() - tcache_start(), MADV_DONTDUMP);
    sys_madvise(ENGINE_HEAP_BASE, threads_area_end() - ENGINE_HEAP_BASE, MADV_DONTDUMP);
    if (info->signo != sig ||
        sys_call4(SYS_rt_tgsigqueueinfo, (u64)sys_getpid(), (u64)sys_gettid(), (u64)sig, (u64)info))
        sys_tgkill(sys_getpid(), sys_gettid(), sig);
    frame_become_client(t, ~SIGBIT(sig));
}

// ---- One instruction in place ----

// The client's %gs base while its instruction runs in place. The system call refuses addresses of the kernel's half, which
// wrgsbase can set.
static void step_gs(u64 base)
{
    if (cpu.fsgsbase)
        __asm__ volatile("wrgsbase %0" : : "r"(base));
    else
        sys_call2(SYS_arch_prctl, ARCH_SET_GS, base);
}

_Noreturn void signal_step(struct thread *t)
{
    u16 insn = 0;

    safe_read(&insn, t->pc, sizeof(insn));
    if (insn == 0x80cd) {
        t->sc_next = t->pc + 2;
        t->sc_post = 0;
        if (!signal_int80_allowed(t))
            dispatch_run(t);
        signal_int80_go(t);
    }
    signals_block(t);
    t->state = TS_STEP;
    step_gs(t->client_gs_base);
    signal_step_go(t);
}

// ---- The handler ----

static void regs_from_context(struct host_regs *u, const struct k_sigcontext *mc)
{
    u->r[R_RAX] = mc->ax;
    u->r[R_RCX] = mc->cx;
    u->r[R_RDX] = mc->dx;
    u->r[R_RBX] = mc->bx;
    u->r[R_RSP] = mc->sp;
    u->r[R_RBP] = mc->bp;
    u->r[R_RSI] = mc->si;
    u->r[R_RDI] = mc->di;
    u->r[8] = mc->r8;
    u->r[9] = mc->r9;
    u->r[10] = mc->r10;
    u->r[11] = mc->r11;
    u->r[12] = mc->r12;
    u->r[13] = mc->r13;
    u->r[14] = mc->r14;
    u->r[15] = mc->r15;
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
    uc->mc.sp = t->engine_sp - 8;
    uc->mc.flags &= ~FLAGS_NOT_FOR_ENGINE;
}

// A call of the client is complete; rax is its result.
static void call_complete(struct thread *t, struct k_ucontext *uc, const struct host_regs *u)
{
    struct signal_state *s = t->sig;

    if (s->async.full && s->temp_mask_set && (s64)u->r[R_RAX] == -EINTR)
        s->async.use_temp_mask = true;
    take_client_state(t, u, t->sc_next);
    t->regs[R_RCX] = t->sc_next;
    resume_at(t, uc, t->sc_post ? dispatch_syscall_done : dispatch_resume);
}

static void call_not_made(struct thread *t, struct k_ucontext *uc)
{
    if (t->sc_post)
        syscalls_args_restore(t);
    resume_at(t, uc, dispatch_resume);
}

// The fragment that the thread is in, or comes back to from a helper, is to be left at its end.
static void leave_fragment(struct thread *t, enum tcache_where where, struct k_ucontext *uc)
{
    u64 *ret = (u64 *)t->engine_sp - 1; // of a helper's call, throughout the stub and what it calls

    if (where == TCACHE_FRAGMENT)
        uc->mc.ip = tcache_escape(t, uc->mc.ip);
    else if (tcache_where(*ret) == TCACHE_FRAGMENT)
        *ret = tcache_escape(t, *ret);
}

static bool in_int80(u64 rip)
{
    return rip >= (u64)signal_int80_go && rip < (u64)signal_int80_end;
}

// Sends the interrupted thread to the dispatcher by the way that fits where it is. The mask is closed.
static void divert(struct thread *t, struct k_ucontext *uc, const struct host_regs *u)
{
    enum tcache_where where = tcache_where(u->rip);

    switch (where) {
    case TCACHE_FRAGMENT:
    case TCACHE_HELPER: leave_fragment(t, where, uc); break;
    case TCACHE_ENTER: resume_at(t, uc, dispatch_resume); break;
    case TCACHE_GATE_BEFORE:
        tcache_gate_state(t, u);
        call_not_made(t, uc);
        break;
    case TCACHE_GATE_AFTER: call_complete(t, uc, u); break;
    case TCACHE_OUTSIDE:
        if (t->state == TS_HELPER) {
            leave_fragment(t, where, uc);
        } else if (in_int80(u->rip)) {
            // int 0x80 changes rax only: everything else in the thread block is right throughout.
            if (u->rip == (u64)signal_int80_after)
                t->regs[R_RAX] = u->r[R_RAX];
            if (u->rip >= (u64)signal_int80_after)
                t->pc = t->sc_next;
            resume_at(t, uc, dispatch_resume);
        } else if (u->rip >= (u64)signal_try_mask_test && u->rip < (u64)signal_try_mask_done) {
            uc->mc.ip = (u64)signal_try_mask_test;
        } else if (exec_fixup(u->rip)) { // about to exec: it is given up
            uc->mc.ip = exec_fixup(u->rip);
        }
        break;
    case TCACHE_ESCAPE:
    case TCACHE_EXIT: break; // on its way already
    }
}

static bool is_sync(int sig, const struct k_siginfo *info)
{
    return (SIGBIT(sig) & SIGNAL_SYNC) && info->code > 0 &&
           !(sig == SIGBUS && info->code == BUS_MCEERR_AO);
}

static bool is_poke(int sig, const struct k_siginfo *info)
{
    return sig == SIGNAL_POKE && (info->code == SI_QUEUE || info->code == SI_TIMER) &&
           info->value == SIGNAL_POKE_MAGIC;
}

// At GATE_AFTER: the kernel gave the client's call up because of a signal that natively would not have come, or not now: call again, unless
// the call has done its work in spite of that.
static void call_again(struct thread *t, struct k_ucontext *uc, const struct host_regs *u)
{
    u64 gate_go = u->rip - (u64)(stubs_gate_after - stubs_gate_go);

    if (u->r[R_RAX] == (u64)-EINTR && tcache_where(gate_go) == TCACHE_GATE_BEFORE &&
        tcache_where(u->rip - 1) == TCACHE_GATE_BEFORE && t->regs[R_RAX] != SYS_close) {
        uc->mc.ax = t->regs[R_RAX];
        uc->mc.ip = gate_go;
    }
}

static void handle_poke(struct thread *t, struct k_ucontext *uc, const struct host_regs *u)
{
    enum tcache_where where = tcache_where(u->rip);

    // It met the thread just as it went to sleep.
    if (where == TCACHE_GATE_AFTER) {
        call_again(t, uc, u);
        return;
    }
    if (where == TCACHE_FRAGMENT || where == TCACHE_HELPER || where == TCACHE_ENTER ||
        (where == TCACHE_OUTSIDE && t->state == TS_HELPER)) {
        close_mask(t, uc);
        divert(t, uc, u);
    }
}

// A signal that the client blocks and the kernel does not. True: it is to be noted, for the call that it has broken off lets it in.
static bool held_back(struct thread *t, struct k_siginfo *info, struct k_ucontext *uc,
                      const struct host_regs *u)
{
    struct signal_state *s = t->sig;
    bool let_in = s->temp_mask_set && !(s->temp_mask & SIGBIT(info->signo));
    bool after = tcache_where(u->rip) == TCACHE_GATE_AFTER;

    if (!s->blocked && let_in && after && u->r[R_RAX] == (u64)-EINTR)
        return true;
    if (!(s->mask & SIGBIT(info->signo)) || let_in ||
        !give_to_another(t, info, SIGBIT(info->signo)))
        hold(s, info);
    if (s->blocked)
        return false;
    if (after) {
        call_again(t, uc, u);
    } else if (let_in) { // the call, which is about to be made, would not see it: begin anew
        close_mask(t, uc);
        divert(t, uc, u);
    }
    return false;
}

static void handle_async(struct thread *t, struct k_siginfo *info, struct k_ucontext *uc,
                         const struct host_regs *u)
{
    struct signal_state *s = t->sig;
    u64 bit = SIGBIT(info->signo);

    if ((bit & SIGNAL_NEVER_BLOCKED) && (s->blocked || (s->mask & bit)) &&
        !held_back(t, info, uc, u))
        return;
    if (s->async.full)
        engine_die("signal %d came while signal %d waited: the engine's mask is wrong", info->signo,
                   s->async.info.signo);
    note(s, &s->async, info);
    close_mask(t, uc);
    divert(t, uc, u);
}

_Noreturn static void crashed(struct thread *t, const struct k_siginfo *info,
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
    note(s, &s->sync, info);
    // These report the address of the instruction.
    if (at_host_pc && info->addr &&
        (info->signo == SIGILL || info->signo == SIGFPE || info->signo == SIGTRAP))
        s->sync.info.addr = t->pc;
    close_mask(t, uc);
}

static void handle_sync(struct thread *t, const struct k_siginfo *info, struct k_ucontext *uc,
                        const struct host_regs *u)
{
    enum tcache_where where = tcache_where(u->rip);
    u64 fixup;

    switch (where) {
    case TCACHE_FRAGMENT:
    case TCACHE_ESCAPE:
        if (info->signo == SIGBUS && spooler_owns(info->addr))
            crashed(t, info, u);
        tcache_recover(t, u);
        note_sync(t, info, uc, true);
        resume_at(t, uc, dispatch_resume);
        return;
    case TCACHE_GATE_AFTER: // SIGSYS by a seccomp filter from outside
        note_sync(t, info, uc, false);
        t->sig->sync.info.addr = t->sc_next;
        call_complete(t, uc, u);
        return;
    case TCACHE_OUTSIDE:
        fixup = frame_fixup(u->rip);
        if (!fixup)
            fixup = safemem_fixup(u->rip);
        if (fixup) {
            uc->mc.ip = fixup;
            return;
        }
        break;
    case TCACHE_EXIT:
    case TCACHE_ENTER:
    case TCACHE_HELPER:
    case TCACHE_GATE_BEFORE: break;
    }
    crashed(t, info, u);
}

// The stepped instruction is done, or has faulted.
static void handle_step(struct thread *t, const struct k_siginfo *info, struct k_ucontext *uc,
                        const struct host_regs *u)
{
    sys_call2(SYS_arch_prctl, ARCH_GET_GS, (u64)&t->client_gs_base);
    step_gs((u64)t);
    if (uc->mc.cs != CS_USER64)
        engine_die(
            "the instruction at 0x%lx switches to code segment 0x%x: only 64-bit programs can be run",
            t->pc, (u32)uc->mc.cs);
    if (u->rip !=
        (u64)
            signal_step_iret) // an address that cannot be jumped to: the thread block says where and what
        take_client_state(t, u, u->rip);
    if (info->signo != SIGTRAP || info->code != TRAP_TRACE)
        note_sync(t, info, uc, false);
    if (info->signo != SIGTRAP) // it faulted and was not executed: dispatch.c has counted it
        t->counters[t->step_counter]--;
    uc->sigmask = SIGNAL_ALL_BUT_SYNC;
    resume_at(t, uc, dispatch_resume);
}

void signal_handler(int sig, struct k_siginfo *info, struct k_ucontext *uc)
{
    struct thread *t = thread_of_address((u64)__builtin_frame_address(0));
    struct host_regs u;

    regs_from_context(&u, &uc->mc);
    if (!t || !t->sig)
        crashed(NULL, info, &u);
    if (info->code == GIVEN_TO_ANOTHER)
        info->code = SI_USER;
    if (is_poke(sig, info)) {
        handle_poke(t, uc, &u);
    } else if (!is_sync(sig, info)) {
        handle_async(t, info, uc, &u);
    } else {
        frame_learn(uc);
        if (t->state == TS_STEP)
            handle_step(t, info, uc, &u);
        else
            handle_sync(t, info, uc, &u);
    }
}

// ---- int $0x80 ----

// The 32-bit calls that would change the process behind the engine's back.
bool signal_int80_allowed(struct thread *t)
{
    switch ((u32)t->regs[R_RAX]) {
    case 2:   // fork
    case 11:  // execve
    case 45:  // brk
    case 48:  // signal
    case 67:  // sigaction
    case 72:  // sigsuspend
    case 90:  // mmap
    case 91:  // munmap
    case 119: // sigreturn
    case 120: // clone
    case 123: // modify_ldt
    case 125: // mprotect
    case 126: // sigprocmask
    case 163: // mremap
    case 173: // rt_sigreturn
    case 174: // rt_sigaction
    case 175: // rt_sigprocmask
    case 179: // rt_sigsuspend
    case 186: // sigaltstack
    case 190: // vfork
    case 192: // mmap2
    case 358: // execveat
    case 435: // clone3
        engine_msg("int 0x80 with call %u at 0x%lx is refused: use syscall", (u32)t->regs[R_RAX],
                   t->pc);
        t->regs[R_RAX] = (u64)-ENOSYS;
        t->pc += 2;
        return false;
    case 1: // exit
        threads_exit(t, (int)t->regs[R_RBX]);
    case 252: // exit_group
        threads_end_process(t, SPOOL_END_EXIT, (int)(t->regs[R_RBX] & 0xff));
    default: return true;
    }
}

_Noreturn void signal_int80_done(struct thread *t)
{
    // rax is in regs[] already; int 0x80 leaves every other register alone.
    __atomic_store_n(&t->state, TS_ENGINE, __ATOMIC_SEQ_CST);
    t->pc = t->sc_next;
    dispatch_run(t);
}
