// SPDX-License-Identifier: MIT
// From a noted signal to the client's frame (deliver.h).
#include "engine/signal/deliver.h"

#include "engine/base/nolibc.h"
#include "engine/callgraph/calls.h"
#include "engine/codecache/gate.h"
#include "engine/signal/action.h"
#include "engine/signal/frame.h"
#include "engine/signal/mask.h"
#include "engine/spool/spooler.h"
#include "engine/thread/stopworld.h"
#include "engine/thread/stress.h"

#define PAGE_FAULT 14

void deliver_call_over(struct thread *t)
{
    gate_args_restore(t);
    t->sig->temp_mask_set = false;
    t->sig->awaited = 0;
}

static bool deliver(struct thread *t, struct signal_pending *p, bool sync);

// force_sigsegv: the frame could not be made.
static bool deliver_failed(struct thread *t, int sig)
{
    struct signal_pending segv = { 0 };

    if (sig == SIGSEGV)
        return true;
    segv.full = true;
    segv.trapno = t->sig->last_trapno;
    segv.err = t->sig->last_err;
    segv.cr2 = t->sig->last_cr2;
    segv.info.signo = SIGSEGV;
    segv.info.code = SI_KERNEL;
    return deliver(t, &segv, true);
}

// The mask is closed, p was removed from the state. sync: the client caused it, so it can be
// neither blocked nor ignored.
static bool deliver(struct thread *t, struct signal_pending *p, bool sync)
{
    struct signal_state *s = t->sig;
    int sig = p->info.signo;
    struct k_sigaction act = action_table_get(s, sig);
    u64 mask = p->use_temp_mask ? s->temp_mask : s->mask;

    s->fatal = p->info;
    if (sync && ((s->mask & SIGBIT(sig)) || act.handler == SIG_IGN))
        return true;
    if (act.handler == SIG_IGN)
        return false;
    if (act.handler == SIG_DFL) {
        switch (action_default(sig)) {
        case SIGNAL_DEFAULT_END: return true;
        case SIGNAL_DEFAULT_STOP: // it had a handler when it arrived
            sys_tgkill(sys_getpid(), sys_gettid(), sig);
            return false;
        case SIGNAL_DEFAULT_IGNORE: return false;
        }
    }
    if (frame_push(t, &act, p, s->mask))
        return deliver_failed(t, sig);
    calls_signal(t);
    mask |= act.mask | (act.flags & SA_NODEFER ? 0 : SIGBIT(sig));
    s->mask = mask & ~(SIGBIT(SIGKILL) | SIGBIT(SIGSTOP));
    __atomic_fetch_add(&spool->n_signals, 1, __ATOMIC_RELAXED);
    return false;
}

// Delivers the held signals of the set that the client lets in. True: the process dies.
static bool deliver_held(struct thread *t, u64 set)
{
    struct signal_state *s = t->sig;
    struct signal_pending p = { 0 };

    while ((mask_held(t) & ~s->mask & set) && mask_take_held(t, ~s->mask & set, &p.info)) {
        p.trapno = s->last_trapno;
        p.err = s->last_err;
        p.cr2 = s->last_cr2;
        if (deliver(t, &p, false))
            return true;
    }
    return false;
}

// The signals that the kernel delivers before this one when both are pending.
static u64 before(int sig)
{
    return SIGBIT(sig) & SIGNAL_SYNC ? SIGNAL_SYNC & (SIGBIT(sig) - 1) : SIGNAL_SYNC;
}

int deliver_pending(struct thread *t)
{
    struct signal_state *s = t->sig;
    struct signal_pending p = { 0 };

    if (t->stop & (STOP_PARK | STOP_YIELD))
        stopworld_park(t);
    stopworld_turn_take(t);
    stress_resume(t);
    if (t->sc_args[6]) // a call was prepared for the gate and not made
        deliver_call_over(t);
    if (!(t->stop & STOP_SIGNAL) && !s->full_mask)
        return 0;
    mask_close(t);
    stop_clear(t, STOP_SIGNAL);
    if (s->sync.full) {
        p = s->sync;
        s->sync.full = false;
        if (deliver(t, &p, true))
            return s->fatal.signo;
    }
    if (s->async.full && !s->async.use_temp_mask && deliver_held(t, before(s->async.info.signo)))
        return s->fatal.signo;
    if (s->async.full) {
        p = s->async;
        s->async.full = false;
        // The mask may have changed since it was noted: by the client's system call, or by the
        // delivery above.
        if (!p.use_temp_mask && (s->mask & SIGBIT(p.info.signo)))
            mask_requeue(t, &p.info);
        else if (deliver(t, &p, false))
            return s->fatal.signo;
    }
    if (deliver_held(t, ~0ul))
        return s->fatal.signo;
    mask_open(t);
    // A signal that was held meanwhile.
    if (mask_is_due(t))
        stop_set(t, STOP_SIGNAL);
    return 0;
}

void deliver_fault(struct thread *t, int sig, int code, u64 addr, u64 trapno, u64 err)
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
    mask_note(s, &s->sync, &info);
    stop_set(t, STOP_SIGNAL);
}
