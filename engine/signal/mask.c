// SPDX-License-Identifier: MIT
// The kernel's mask beside the client's, and the signals that only the engine holds back (mask.h).
#include "engine/signal/mask.h"

#include "engine/base/mini.h"
#include "engine/signal/action.h"
#include "engine/thread/threads.h"

// mask.S
long mask_try(const bool *closed, const u64 *mask);

void mask_close(struct thread *t)
{
    u64 all = SIGNAL_ALL_BUT_SYNC;

    if (t->sig->blocked)
        return;
    sys_sigprocmask(SIG_SETMASK, &all, NULL);
    // A signal that came before the call has closed the mask itself: the same state.
    t->sig->blocked = true;
    stop_set(t, STOP_SIGNAL);
}

void mask_open(struct thread *t)
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

void mask_set(struct thread *t, u64 mask)
{
    struct signal_state *s = t->sig;
    u64 kernel = mask & ~SIGNAL_NEVER_BLOCKED;

    if (mask == s->mask)
        return;
    s->mask = mask;
    // When the mask is closed, the next delivery opens it to the new one.
    if (!s->blocked && mask_try(&s->blocked, &kernel) && held_is_due(s))
        stop_set(t, STOP_SIGNAL);
}

bool mask_restore_for_exec(struct thread *t)
{
    struct signal_state *s = t->sig;

    mask_close(t);
    if (signal_is_noted(t))
        return false;
    // A process in shared memory that succeeds with its exec is seen by nobody to go: let it count
    // as parked from here on.
    if (!threads_is_profiled(t) && !thread_own(t)->borrowed)
        __atomic_store_n(&t->state, TS_IN_SYSCALL, __ATOMIC_SEQ_CST);
    s->full_mask = true;
    s->blocked = false;
    stop_clear(t, STOP_SIGNAL);
    action_table_ignore(s->table, true);
    sys_sigprocmask(SIG_SETMASK, &s->mask, NULL);
    return !signal_is_noted(t);
}

bool mask_close_for_exec(struct thread *t, u64 *mask)
{
    struct signal_state *s = t->sig;

    mask_close(t);
    if (signal_is_noted(t))
        return false;
    if (!threads_is_profiled(t) && !thread_own(t)->borrowed)
        __atomic_store_n(&t->state, TS_IN_SYSCALL, __ATOMIC_SEQ_CST);
    *mask = s->mask;
    action_table_ignore(s->table, true);
    stop_clear(t, STOP_SIGNAL);
    return true;
}

void mask_exec_failed(struct thread *t)
{
    __atomic_exchange_n(&t->state, TS_ENGINE, __ATOMIC_SEQ_CST);
    action_table_ignore(t->sig->table, false);
    if (t->sig->full_mask || t->sig->blocked)
        stop_set(t, STOP_SIGNAL);
}

// ---- Signals that only the engine holds back ----

void mask_hold(struct signal_state *s, const struct k_siginfo *info)
{
    // Ordinary signals do not queue.
    if (info->signo < SIGRTMIN)
        for (u32 i = 0; i < s->held_count; i++)
            if (s->held[i].signo == info->signo)
                return;
    // More of SIGRTMAX than we can mask_hold: as when the kernel's queue (RLIMIT_SIGPENDING) is
    // full, but too late to say so to the sender.
    if (s->held_count < SIGNAL_HELD_MAX)
        s->held[s->held_count++] = *info;
}

bool mask_is_due(const struct thread *t)
{
    return signal_is_noted(t) || held_is_due(t->sig);
}

// Another thread of t's process that blocks none of these signals and does not end: its id, 0 when
// there is none. Who asks can do with an answer that is a moment old. @signal-safe
static s32 find_open(struct thread *t, u64 signals)
{
    u32 slot = 0;

    for (struct thread *u; (u = threads_next_live(&slot));) {
        const struct thread_own *own = __atomic_load_n(&u->own, __ATOMIC_RELAXED);
        const struct signal_state *s = __atomic_load_n(&u->sig, __ATOMIC_RELAXED);
        s32 tid = __atomic_load_n(&u->tid, __ATOMIC_RELAXED);

        if (u == t || !own || !s || !tid || own->tgid != thread_own(t)->tgid || own->exiting)
            continue;
        if (!(__atomic_load_n(&s->mask, __ATOMIC_RELAXED) & signals))
            return tid;
    }
    return 0;
}

// A signal that kill() sent to the process and that this thread does not let in: natively the
// kernel would have chosen one that does. signals: which the other must not block.
bool mask_give_away(struct thread *t, struct k_siginfo *info, u64 signals)
{
    s32 tid = info->code == SI_USER ? find_open(t, signals) : 0;
    struct k_siginfo copy = *info;

    copy.code = MASK_GIVEN_AWAY;
    return tid && sys_call4(SYS_rt_tgsigqueueinfo, (u64)thread_own(t)->tgid, (u64)tid,
                            (u64)copy.signo, (u64)&copy) == 0;
}

void mask_pass_on(struct thread *t)
{
    struct signal_state *s = t->sig;
    u64 all = ~0ul;

    if (!s->held_count)
        return;
    sys_sigprocmask(SIG_SETMASK, &all, NULL); // nothing more comes to this list
    for (u32 i = 0; i < s->held_count; i++)
        if (!mask_give_away(t, &s->held[i], SIGBIT(s->held[i].signo)))
            mask_give_away(t, &s->held[i], 0);
    s->held_count = 0;
}

int mask_take_held(struct thread *t, u64 set, struct k_siginfo *info)
{
    struct signal_state *s = t->sig;

    u32 best = SIGNAL_HELD_MAX;

    mask_close(t); // the handler adds to the list
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

void mask_note(struct signal_state *s, struct signal_pending *p, const struct k_siginfo *info)
{
    p->full = true;
    p->use_temp_mask = false;
    p->trapno = s->last_trapno;
    p->err = s->last_err;
    p->cr2 = s->last_cr2;
    p->info = *info;
}

void mask_note_held(struct thread *t, const struct k_siginfo *info)
{
    struct signal_state *s = t->sig;

    mask_close(t);
    mask_note(s, &s->async, info);
    s->async.use_temp_mask = true;
}

// Gives a noted signal back to the kernel, which keeps it until the mask lets it through.
void mask_requeue(struct thread *t, struct k_siginfo *info)
{
    if (SIGBIT(info->signo) & SIGNAL_NEVER_BLOCKED)
        mask_hold(t->sig, info);
    else if (sys_call4(SYS_rt_tgsigqueueinfo, (u64)sys_getpid(), (u64)sys_gettid(),
                       (u64)info->signo, (u64)info))
        sys_tgkill(sys_getpid(), sys_gettid(), info->signo);
}

bool mask_any_noted(struct thread *t)
{
    bool any = false;

    threads_lock();
    for (struct thread *u = threads_first(); u; u = u->next)
        any |= u != t && thread_own(u)->tgid == thread_own(t)->tgid && u->sig && signal_is_noted(u);
    threads_unlock();
    return any;
}
