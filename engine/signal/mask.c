// SPDX-License-Identifier: MIT
// The kernel's mask and the client's, and the signals that only the engine blocks (mask.h).
#include "engine/signal/mask.h"

#include "engine/base/nolibc.h"
#include "engine/signal/action.h"
#include "engine/signal/common.h"
#include "engine/spool/spooler.h"
#include "engine/thread/threads.h"

// mask.S
long mask_try(const bool *closed, const u64 *mask);

void mask_close(struct thread *t)
{
    u64 all = SIGNAL_ALL_BUT_SYNC;

    if (t->sig->blocked)
        return;
    sys_sigprocmask(SIG_SETMASK, &all, NULL);
    // A signal that arrived before the call has closed the mask itself: the same state.
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

u64 mask_held(const struct thread *t)
{
    const struct signal_state *s = t->sig;
    u64 held = common_pending(thread_own(t)->tgid);

    for (u32 i = 0; i < s->held_count; i++)
        held |= SIGBIT(s->held[i].signo);
    return held;
}

bool mask_set(struct thread *t, u64 mask)
{
    struct signal_state *s = t->sig;
    u64 before = s->mask, kernel = mask & ~SIGNAL_NEVER_BLOCKED;

    if (signal_is_noted(t))
        return false;
    if (mask == before)
        return true;
    // Before held signals are checked: a thread that finds no receiver stores a signal and then
    // searches again.
    __atomic_store_n(&s->mask, mask, __ATOMIC_SEQ_CST);
    if (s->blocked) // the next delivery sets the kernel's mask
        return true;
    if (!mask_try(&s->blocked, &kernel)) {
        s->mask = before;
        return false;
    }
    if (mask_held(t) & ~mask)
        stop_set(t, STOP_SIGNAL);
    return true;
}

bool mask_restore_for_exec(struct thread *t)
{
    struct signal_state *s = t->sig;

    mask_close(t);
    if (signal_is_noted(t))
        return false;
    // Nobody notices when a process in shared memory succeeds with its exec: from here on it counts
    // as parked.
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

// ---- Signals that only the engine blocks ----

void mask_hold(struct signal_state *s, const struct k_siginfo *info)
{
    // Ordinary signals do not queue.
    if (info->signo < SIGRTMIN)
        for (u32 i = 0; i < s->held_count; i++)
            if (s->held[i].signo == info->signo)
                return;
    // Further real-time signals are lost: as when the kernel's queue (RLIMIT_SIGPENDING) is full,
    // but too late to tell the sender.
    if (s->held_count < SIGNAL_HELD_MAX)
        s->held[s->held_count++] = *info;
}

bool mask_is_due(const struct thread *t)
{
    return signal_is_noted(t) || (mask_held(t) & ~t->sig->mask);
}

// By slot: how many threads are about to send a signal to the thread there. A thread that exits
// sets own->exiting, then waits for them: what they send must arrive before it is gone.
static u32 senders[SPOOL_THREADS_MAX];

// By its mask, or by the system call that it waits in.
static bool lets_in(const struct signal_state *s, u64 bit)
{
    return !(__atomic_load_n(&s->mask, __ATOMIC_SEQ_CST) & bit) ||
           (__atomic_load_n(&s->awaited, __ATOMIC_SEQ_CST) & bit) ||
           (__atomic_load_n(&s->temp_mask_set, __ATOMIC_SEQ_CST) &&
            !(__atomic_load_n(&s->temp_mask, __ATOMIC_RELAXED) & bit));
}

// Is u another thread of t's process that lets this signal in and does not exit?
static bool is_open(const struct thread *t, const struct thread *u, int sig)
{
    const struct thread_own *own = __atomic_load_n(&u->own, __ATOMIC_RELAXED);
    const struct signal_state *s = __atomic_load_n(&u->sig, __ATOMIC_RELAXED);

    return u != t && own && s && u->tid && own->tgid == thread_own(t)->tgid &&
           !__atomic_load_n(&own->exiting, __ATOMIC_SEQ_CST) && lets_in(s, SIGBIT(sig));
}

static bool any_open(const struct thread *t, int sig)
{
    u32 slot = 0;

    for (struct thread *u; (u = threads_next_live(&slot));)
        if (is_open(t, u, sig))
            return true;
    return false;
}

// Sends it to another thread of the process that lets it in. False: there is none.
static bool give_away(struct thread *t, const struct k_siginfo *info)
{
    struct k_siginfo copy = *info;
    bool given = false;
    u32 slot = 0;

    copy.code = MASK_GIVEN_AWAY;
    for (struct thread *u; !given && (u = threads_next_live(&slot));) {
        u32 *sender = &senders[slot - 1];

        // Another process in this memory may be killed between the two counts, and would be waited
        // for forever: only threads of one process count each other.
        if (!is_open(t, u, info->signo))
            continue;
        __atomic_fetch_add(sender, 1, __ATOMIC_SEQ_CST);
        if (is_open(t, u, info->signo))
            given = sys_call4(SYS_rt_tgsigqueueinfo, (u64)thread_own(t)->tgid, (u64)u->tid,
                              (u64)copy.signo, (u64)&copy) == 0;
        __atomic_fetch_sub(sender, 1, __ATOMIC_SEQ_CST);
    }
    return given;
}

bool mask_give_back(struct thread *t, const struct k_siginfo *info)
{
    s32 tgid = thread_own(t)->tgid;
    struct k_siginfo taken;

    if (info->code != SI_USER)
        return false;
    if (give_away(t, info))
        return true;
    if (!common_put(tgid, info))
        return false;
    // A thread that unblocked it between the search and common_put() has not seen it.
    while (any_open(t, info->signo) && common_take(tgid, SIGBIT(info->signo), &taken))
        if (!give_away(t, &taken))
            common_put(tgid, &taken);
    return true;
}

void mask_pass_on(struct thread *t)
{
    static const u64 all = ~0ul, ours = SIGNAL_NEVER_BLOCKED;
    static const struct k_timespec at_once;
    struct signal_state *s = t->sig;
    struct k_siginfo info;

    sys_sigprocmask(SIG_SETMASK, &all, NULL); // nothing more is added to the list
    while (__atomic_load_n(&senders[t->slot], __ATOMIC_SEQ_CST))
        sys_call0(SYS_sched_yield);
    while (sys_call4(SYS_rt_sigtimedwait, (u64)&ours, (u64)&info, (u64)&at_once, 8) > 0) {
        if (info.code == MASK_GIVEN_AWAY)
            info.code = SI_USER;
        mask_hold(s, &info);
    }
    // Signals that were sent to this thread only are lost with it.
    for (u32 i = 0; i < s->held_count; i++)
        mask_give_back(t, &s->held[i]);
    s->held_count = 0;
}

// The handler adds to the list, also with the mask closed: block all while the list changes.
static void block_all(bool all)
{
    u64 mask = all ? ~0ul : SIGNAL_ALL_BUT_SYNC;

    sys_sigprocmask(SIG_SETMASK, &mask, NULL);
}

// As the kernel: the lowest number first, of the same number the oldest. s->held_count: none.
static u32 lowest_held(const struct signal_state *s, u64 set)
{
    u32 best = s->held_count;

    for (u32 i = 0; i < s->held_count; i++)
        if ((SIGBIT(s->held[i].signo) & set) &&
            (best == s->held_count || s->held[i].signo < s->held[best].signo))
            best = i;
    return best;
}

static int take_from_list(struct signal_state *s, u64 set, struct k_siginfo *info)
{
    u32 best = lowest_held(s, set);

    if (best == s->held_count)
        return 0;
    *info = s->held[best];
    s->held_count--;
    memmove(&s->held[best], &s->held[best + 1], (s->held_count - best) * sizeof(s->held[0]));
    return info->signo;
}

// Signals sent to the thread come before those sent to the process. Some of the latter may be in
// the thread's list: that depends on what the thread was doing when each arrived.
static int take_lowest(struct thread *t, u64 set, struct k_siginfo *info)
{
    const struct signal_state *s = t->sig;
    u32 best = lowest_held(s, set);
    int sig = 0;

    if (best < s->held_count && s->held[best].code == SI_USER)
        sig = common_take(thread_own(t)->tgid, set & (SIGBIT(s->held[best].signo) - 1), info);
    return sig ? sig : take_from_list(t->sig, set, info);
}

int mask_take_held(struct thread *t, u64 set, struct k_siginfo *info)
{
    int sig;

    mask_close(t);
    block_all(true);
    sig = take_lowest(t, set, info);
    block_all(false);
    return sig ? sig : common_take(thread_own(t)->tgid, set, info);
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

// Whether it was certainly sent to the process: signals of the kernel and of a thread's write to a
// closed pipe have SI_USER, too.
static bool is_for_process(const struct k_siginfo *info)
{
    return info->code == SI_USER && info->pid != sys_getpid();
}

// Returns a noted signal to the kernel, which queues it until a mask lets it through; one that was
// sent to the process goes to any thread that lets it in.
void mask_requeue(struct thread *t, struct k_siginfo *info)
{
    struct k_siginfo copy = *info;

    // The kernel accepts SI_USER for the process only from its first thread.
    copy.code = MASK_GIVEN_AWAY;
    if (SIGBIT(info->signo) & SIGNAL_NEVER_BLOCKED) {
        block_all(true);
        mask_hold(t->sig, info);
        block_all(false);
    } else if (is_for_process(info) && sys_call3(SYS_rt_sigqueueinfo, (u64)sys_getpid(),
                                                 (u64)info->signo, (u64)&copy) == 0) {
        return;
    } else if (sys_call4(SYS_rt_tgsigqueueinfo, (u64)sys_getpid(), (u64)sys_gettid(),
                         (u64)info->signo, (u64)info)) {
        sys_tgkill(sys_getpid(), sys_gettid(), info->signo);
    }
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
