// SPDX-License-Identifier: MIT
// Parking and stopping the world (stopworld.h).
//
// Invariants
// - A thread in the list whose state is PARKED, IN_SYSCALL or DEAD touches nothing but its own area
//   until it has checked its stop word (a locked exchange of the state orders the two; the stopper
//   sets stop by a locked or and then reads the state).
// - The thread that stops the world skips itself in the list.

#include "engine/thread/stopworld.h"

#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/spool/spooler.h"
#include "engine/thread/stop.h"

#define FUTEX_WAIT_PRIVATE (FUTEX_WAIT | FUTEX_PRIVATE_FLAG)
#define FUTEX_WAKE_PRIVATE (FUTEX_WAKE | FUTEX_PRIVATE_FLAG)
#define POLL_NS            1000000 // between two polls of a thread that does not park
#define END_POLLS          3000    // polls before the process exits without it

static u32 stopworld_busy; // 1: some thread stops or has stopped the world
static u32 parked_word;    // changes whenever a thread has parked
static u32 ending;

static bool serialized;
static u32 turn_next, turn_serving; // tickets
static struct thread *turn_holder;

void (*stopworld_on_turn)(struct thread *t);

void stopworld_init(void)
{
    serialized = (spool->flags & SPOOL_F_SERIALIZE) != 0;
}

static void wake_word(u32 *word, u32 n)
{
    sys_futex(word, FUTEX_WAKE_PRIVATE, n, NULL);
}

static void wait_word(u32 *word, u32 seen)
{
    struct k_timespec ts = { 0, POLL_NS };

    sys_futex(word, FUTEX_WAIT_PRIVATE, seen, &ts);
}

static void set_state(struct thread *t, u32 state)
{
    __atomic_store_n(&t->state, state, __ATOMIC_SEQ_CST);
}

static void send_kick(struct thread *t)
{
    struct k_siginfo info;

    memset(&info, 0, sizeof(info));
    info.signo = STOP_KICK_SIGNAL;
    info.code = SI_QUEUE;
    info.pid = thread_own(t)->tgid;
    info.value = STOP_KICK_MAGIC;
    sys_call4(SYS_rt_tgsigqueueinfo, (u64)thread_own(t)->tgid, (u64)t->tid, STOP_KICK_SIGNAL,
              (u64)&info);
}

static bool is_running(const struct thread *t)
{
    u32 state = __atomic_load_n(&t->state, __ATOMIC_SEQ_CST);

    return state == TS_RUNNING || state == TS_HELPER;
}

static bool is_quiet(const struct thread *t)
{
    u32 state = __atomic_load_n(&t->state, __ATOMIC_SEQ_CST);

    return state == TS_PARKED || state == TS_IN_SYSCALL || state == TS_DEAD;
}

void stopworld_kick(struct thread *t, u64 stop_bits)
{
    stop_set(t, stop_bits);
    if (is_running(t))
        send_kick(t);
}

// ---- --serialize-threads ----

void stopworld_turn_take(struct thread *t)
{
    u32 mine, seen, state = t->state;

    if (!serialized || thread_own(t)->has_turn)
        return;
    mine = __atomic_fetch_add(&turn_next, 1, __ATOMIC_SEQ_CST);
    // Waiting counts as parked: it touches nothing meanwhile.
    set_state(t, TS_IN_SYSCALL);
    while ((seen = __atomic_load_n(&turn_serving, __ATOMIC_SEQ_CST)) != mine) {
        struct thread *holder = __atomic_load_n(&turn_holder, __ATOMIC_SEQ_CST);

        wait_word(&turn_serving, seen);
        if (holder && holder == __atomic_load_n(&turn_holder, __ATOMIC_SEQ_CST))
            stopworld_kick(holder, STOP_YIELD);
    }
    __atomic_store_n(&turn_holder, t, __ATOMIC_SEQ_CST);
    thread_own(t)->has_turn = true;
    __atomic_exchange_n(&t->state, state, __ATOMIC_SEQ_CST);
    if (stopworld_on_turn)
        stopworld_on_turn(t);
}

void stopworld_turn_give(struct thread *t)
{
    if (!serialized || !thread_own(t)->has_turn)
        return;
    thread_own(t)->has_turn = false;
    __atomic_store_n(&turn_holder, NULL, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&turn_serving, 1, __ATOMIC_SEQ_CST);
    wake_word(&turn_serving, ~0u >> 1);
}

// ---- Parking and the world ----

void stopworld_park(struct thread *t)
{
    if (t->stop & STOP_YIELD) {
        stop_clear(t, STOP_YIELD);
        stopworld_turn_give(t);
    }
    while (__atomic_load_n(&t->stop, __ATOMIC_SEQ_CST) & STOP_PARK) {
        u32 seen;

        stopworld_turn_give(t);
        set_state(t, TS_PARKED);
        __atomic_fetch_add(&parked_word, 1, __ATOMIC_SEQ_CST);
        wake_word(&parked_word, 1);
        while ((seen = (u32)__atomic_load_n(&t->stop, __ATOMIC_SEQ_CST)) & STOP_PARK)
            sys_futex((u32 *)&t->stop, FUTEX_WAIT_PRIVATE, seen, NULL);
        set_state(t, TS_ENGINE);
    }
    stopworld_turn_take(t);
}

// One pass over all threads (of the process tgid, or of all processes when it is 0): sets their
// stop bits, kicks those that run. False: some are not quiet yet.
static bool stop_pass(struct thread *self, s32 tgid, bool kick)
{
    struct thread *t, *next;
    bool quiet = true;

    threads_lock();
    for (t = threads_first(); t; t = next) {
        next = t->next;
        if (t == self || (tgid && thread_own(t)->tgid != tgid))
            continue;
        stop_set(t, STOP_PARK);
        if (is_quiet(t))
            continue;
        if (kick && threads_is_gone(t)) {
            threads_remove_gone(t);
            continue;
        }
        quiet = false;
        if (kick && is_running(t))
            send_kick(t);
    }
    threads_unlock();
    return quiet;
}

static bool stop_all(struct thread *self, s32 tgid, u32 polls)
{
    for (u32 i = 0; i < polls; i++) {
        u32 seen = __atomic_load_n(&parked_word, __ATOMIC_SEQ_CST);

        // The first pass sets the bits and kicks. Later ones kick again, because a kick may have
        // arrived just before its thread entered client code: at first each time, then ever more
        // rarely, or a thread that cannot take its kicks fills the user's signal queue (96,365 were
        // seen).
        if (stop_pass(self, tgid, i < 8 || (i & (i - 1)) == 0))
            return true;
        wait_word(&parked_word, seen);
    }
    return false;
}

static void stopworld_take(struct thread *t)
{
    for (;;) {
        u32 free_word = 0;

        if (__atomic_compare_exchange_n(&stopworld_busy, &free_word, 1, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST))
            return;
        if (t->stop & STOP_PARK)
            stopworld_park(t);
        else
            wait_word(&stopworld_busy, 1);
    }
}

void stopworld_stop(struct thread *t)
{
    stopworld_take(t);
    stop_all(t, 0, ~0u);
}

void stopworld_resume(struct thread *t)
{
    struct thread *u;

    threads_lock();
    for (u = threads_first(); u; u = u->next) {
        if (u == t)
            continue;
        stop_clear(u, STOP_PARK);
        wake_word((u32 *)&u->stop, 1);
    }
    threads_unlock();
    __atomic_store_n(&stopworld_busy, 0, __ATOMIC_SEQ_CST);
    wake_word(&stopworld_busy, 1);
}

bool stopworld_stop_for_end(struct thread *t)
{
    if (__atomic_exchange_n(&ending, 1, __ATOMIC_SEQ_CST)) {
        // Another thread ends the process: park until it has.
        static u32 never;

        set_state(t, TS_PARKED);
        __atomic_fetch_add(&parked_word, 1, __ATOMIC_SEQ_CST);
        wake_word(&parked_word, 1);
        for (;;)
            sys_futex(&never, FUTEX_WAIT_PRIVATE, 0, NULL);
    }
    stopworld_take(t);
    return stop_all(t, thread_own(t)->tgid, END_POLLS);
}

void stopworld_blocking_begin(struct thread *t)
{
    stopworld_turn_give(t);
    set_state(t, TS_IN_SYSCALL);
}

void stopworld_blocking_end(struct thread *t)
{
    __atomic_exchange_n(&t->state, TS_ENGINE, __ATOMIC_SEQ_CST);
    if (t->stop & STOP_PARK)
        stopworld_park(t);
    stopworld_turn_take(t);
}

void stopworld_left(void)
{
    __atomic_fetch_add(&parked_word, 1, __ATOMIC_SEQ_CST);
    wake_word(&parked_word, 1);
}

bool stopworld_is_ending(void)
{
    return __atomic_load_n(&ending, __ATOMIC_SEQ_CST) != 0;
}

void stopworld_fork_child(struct thread *t)
{
    stopworld_busy = 0;
    ending = 0;
    turn_next = 1;
    turn_serving = 0;
    turn_holder = t;
    thread_own(t)->has_turn = serialized;
    stop_clear(t, STOP_PARK | STOP_YIELD);
}
