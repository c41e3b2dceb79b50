// SPDX-License-Identifier: MIT
// The process that replays (replayer.h).
//
// A job is a thread's, and lies in its area: it has one at a time. Its state goes from FREE to FULL
// by the thread, to BUSY by who takes it (the replayer; the thread itself, or who empties its
// buffer while it is quiet), and back to FREE.
//
// The process is a child of the client that sends no signal when it ends, so that only a wait for
// children of all kinds would see it (__WALL, __WCLONE): before such a one it is ended, and begins
// anew with the next full buffer. Otherwise it ends when the client does, when it finds the
// client's process gone (it looks once in a second), and when the client kills all that it may.
//
// A client's process that is gone and has not ended it was killed: what its threads have left is
// replayed then (rest.h). That is all it does where full buffers are not handed over.
#include "engine/replay/replayer.h"

#include "engine/base/heap.h"
#include "engine/base/mini.h"
#include "engine/base/sys.h"
#include "engine/count/caches.h"
#include "engine/count/ll.h"
#include "engine/count/reftrace.h"
#include "engine/replay/replay.h"
#include "engine/replay/rest.h"
#include "engine/replay/routine.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/thread/threads.h"

#define FUTEX_WAIT_PRIVATE (FUTEX_WAIT | FUTEX_PRIVATE_FLAG)
#define FUTEX_WAKE_PRIVATE (FUTEX_WAKE | FUTEX_PRIVATE_FLAG)
#define STACK_BYTES        0x10000u
#define SPINS              2000u     // looks before either side sleeps: a sleep costs 50 us
#define LOOK_NS            100000000 // between looks of who waits, at whether the replayer lives

enum job_state { JOB_FREE, JOB_FULL, JOB_BUSY, JOB_AWAITED };

struct job {
    u32 state; // enum job_state; JOB_AWAITED: busy, and its thread sleeps
    const u64 *from, *end;
};

_Static_assert(sizeof(struct job) <= TA_JOB_SIZE, "room in the area");

static struct {
    _Alignas(64) u32 tid; // 0: there is none; the kernel clears it when the process is gone
    u32 quit;
    u32 starting;
    bool cannot;             // there was no process to be had
    u32 over;                // none is to be started
    u32 began;               // there is one, or it has been killed, and there will be no other
    s32 client;              // its process
    s32 client_fd;           // the same; negative where there are no such descriptors
    _Alignas(64) u32 asleep; // the replayer is, or is about to be
    u32 word;                // it sleeps on
} replayer;

// Also of one whose block is not filled in yet.
static struct job *job_of(const struct thread *t)
{
    return (struct job *)((u64)t + TA_JOB);
}

static bool job_take(struct job *j)
{
    u32 full = JOB_FULL;

    return __atomic_compare_exchange_n(&j->state, &full, JOB_BUSY, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

// -- the process --

static bool take_any(void)
{
    struct thread *t;
    u32 slot = 0;
    bool any = false;

    while ((t = threads_next_live(&slot))) {
        struct job *j = job_of(t);

        if (__atomic_load_n(&j->state, __ATOMIC_RELAXED) != JOB_FULL || !job_take(j))
            continue;
        any = true;
        replay_records(t, j->from, j->end);
        t->replay_end = 0;
        if (__atomic_exchange_n(&j->state, JOB_FREE, __ATOMIC_SEQ_CST) == JOB_AWAITED)
            sys_futex(&j->state, FUTEX_WAKE_PRIVATE, 1, NULL);
    }
    return any;
}

// The client's process is no more, or is waited for.
static bool is_gone(void)
{
    struct k_pollfd p = { replayer.client_fd, POLLIN, 0 };
    struct k_timespec now = { 0, 0 };

    if (p.fd < 0)
        return sys_call2(SYS_kill, (u64)replayer.client, 0) == -ESRCH;
    return sys_call5(SYS_ppoll, (u64)&p, 1, (u64)&now, 0, 0) == 1;
}

static bool is_over(void)
{
    return __atomic_load_n(&replayer.quit, __ATOMIC_SEQ_CST) || is_gone();
}

// The client was killed. None of its threads runs, but they may have held locks.
static void inherit(void)
{
    struct thread *t;
    u32 slot = 0;

    reftrace_stop(); // the file was the client's
    ll_forget_locks();
    routine_forget_locks();
    while ((t = threads_next_live(&slot))) {
        struct job *j = job_of(t);

        if (!t->own || thread_own(t)->tgid != replayer.client)
            continue;
        if (job_take(j)) {
            replay_records(t, j->from, j->end);
            t->replay_end = 0;
        }
        // While it was being handed over it was still the thread's.
        rest_replay(t, j->from == (const u64 *)t->log_begin ? NULL : (const u64 *)t->log_begin,
                    tb_config.log_size);
    }
}

static void sleep(void)
{
    struct k_timespec second = { 1, 0 };
    u32 seen = __atomic_load_n(&replayer.word, __ATOMIC_SEQ_CST);

    __atomic_store_n(&replayer.asleep, 1, __ATOMIC_SEQ_CST);
    if (!take_any() && !is_over())
        sys_futex(&replayer.word, FUTEX_WAIT_PRIVATE, seen, &second);
    __atomic_store_n(&replayer.asleep, 0, __ATOMIC_SEQ_CST);
}

static void run(void)
{
    static const char name[] = "quern-replay";
    u64 all = ~0ul;
    u32 idle = 0;

    sys_sigprocmask(SIG_SETMASK, &all, NULL);
    sys_call0(SYS_setsid);
    sys_call5(SYS_prctl, PR_SET_NAME, (u64)name, 0, 0, 0);
    sys_call1(SYS_chdir, (u64) "/");
    if (sys_call3(SYS_close_range, 0, ~0u, 0))
        for (u64 fd = 0; fd < 65536; fd++)
            sys_close((int)fd);
    replayer.client_fd = (s32)sys_call2(SYS_pidfd_open, (u64)replayer.client, 0);
    while (!__atomic_load_n(&replayer.quit, __ATOMIC_RELAXED)) {
        if (take_any()) {
            idle = 0;
        } else if (idle++ < SPINS) {
            __builtin_ia32_pause();
        } else {
            sleep();
            if (is_over())
                break;
        }
    }
    if (!__atomic_load_n(&replayer.quit, __ATOMIC_SEQ_CST))
        inherit();
    sys_exit_group(0);
}

// -- the client's side --

void replayer_init(void)
{
    if (tb_config.replayer)
        spool->owner = spooler_counters(2) + 1; // 0 says that there is none
}

void replayer_start(void)
{
    u64 flags = CLONE_VM | CLONE_UNTRACED | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
    static u64 stack;

    if (!tb_config.watched || replayer.cannot || __atomic_load_n(&replayer.tid, __ATOMIC_RELAXED) ||
        __atomic_exchange_n(&replayer.starting, 1, __ATOMIC_SEQ_CST))
        return;
    if (!replayer.began && !__atomic_load_n(&replayer.over, __ATOMIC_SEQ_CST)) {
        replayer.began = 1;
        replayer.client = sys_getpid();
        replayer.quit = 0;
        if (!stack)
            stack = (u64)heap_pages(STACK_BYTES);
        replayer.cannot =
            sys_failed(replayer_clone(flags, stack + STACK_BYTES, &replayer.tid, run));
        spool->replayer = replayer.tid;
    }
    __atomic_store_n(&replayer.starting, 0, __ATOMIC_RELEASE);
}

static bool is_there(void)
{
    return __atomic_load_n(&replayer.tid, __ATOMIC_RELAXED) &&
           !__atomic_load_n(&replayer.quit, __ATOMIC_RELAXED);
}

bool replayer_is_there(void)
{
    return tb_config.replayer && is_there();
}

bool replayer_has_processor(void)
{
    u32 slot = 0, running = 0, state;
    const struct thread *t;

    if (!tb_config.replayer_beside)
        return true;
    while ((t = threads_next_live(&slot))) {
        state = __atomic_load_n(&t->state, __ATOMIC_RELAXED);
        running += state == TS_RUNNING || state == TS_HELPER || state == TS_ENGINE;
    }
    return running <= tb_config.replayer_beside;
}

void replayer_thread_init(struct thread *t)
{
    struct job *j = job_of(t);

    if (!tb_config.replayer)
        return;
    // Of a thread that was killed: its records go with it.
    if (!job_take(j))
        replayer_settle(t);
    j->from = NULL;
    __atomic_store_n(&j->state, JOB_FREE, __ATOMIC_SEQ_CST);
    // Executions and misses of a block are counted side by side: two processors would wait for each
    // other's writes, at each miss (a program that multiplies matrices: 1.4 times the time).
    threads_more_counters(t);
    if (t->misses != t->counters)
        t->misses[spool->owner] = t->slot + 1;
}

void replayer_hand_over(struct thread *t, const u64 *from, const u64 *end)
{
    struct job *j = job_of(t);

    j->from = from;
    j->end = end;
    __atomic_store_n(&j->state, JOB_FULL, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&replayer.asleep, __ATOMIC_SEQ_CST))
        return;
    __atomic_fetch_add(&replayer.word, 1, __ATOMIC_SEQ_CST);
    sys_futex(&replayer.word, FUTEX_WAKE_PRIVATE, 1, NULL);
}

// The process has been killed while it was at t's records. What else it held may be a lock, which
// another thread would wait for.
static void take_over(struct thread *t)
{
    if (threads_count() > 1)
        engine_die("the process that simulated the caches has been killed");
    ll_forget_locks();
    routine_forget_locks();
    rest_resume(t);
    t->replay_end = 0;
    __atomic_store_n(&job_of(t)->state, JOB_FREE, __ATOMIC_SEQ_CST);
}

// Until the state is not BUSY any more.
static void await(struct thread *t)
{
    struct k_timespec look = { 0, LOOK_NS };
    struct job *j = job_of(t);

    for (u32 i = 0; i < SPINS; i++) {
        if (__atomic_load_n(&j->state, __ATOMIC_ACQUIRE) == JOB_FREE)
            return;
        __builtin_ia32_pause();
    }
    for (;;) {
        u32 busy = JOB_BUSY;

        __atomic_compare_exchange_n(&j->state, &busy, JOB_AWAITED, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&j->state, __ATOMIC_ACQUIRE) == JOB_FREE)
            return;
        if (!__atomic_load_n(&replayer.tid, __ATOMIC_SEQ_CST) &&
            __atomic_load_n(&j->state, __ATOMIC_ACQUIRE) != JOB_FREE) {
            take_over(t);
            return;
        }
        sys_futex(&j->state, FUTEX_WAIT_PRIVATE, JOB_AWAITED, &look);
    }
}

void replayer_settle(struct thread *t)
{
    struct job *j = job_of(t);

    if (!tb_config.replayer || __atomic_load_n(&j->state, __ATOMIC_ACQUIRE) == JOB_FREE)
        return;
    if (!job_take(j)) {
        await(t);
        return;
    }
    replay_run(t, j->from, j->end);
    t->replay_end = 0;
    __atomic_store_n(&j->state, JOB_FREE, __ATOMIC_SEQ_CST);
}

void replayer_stop(void)
{
    struct k_timespec look = { 0, LOOK_NS };
    u32 child;

    // Threads that are not stopped may be about to start it.
    __atomic_store_n(&replayer.over, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&replayer.starting, __ATOMIC_SEQ_CST))
        sys_call0(SYS_sched_yield);
    child = __atomic_load_n(&replayer.tid, __ATOMIC_SEQ_CST);
    if (!is_there())
        return;
    __atomic_store_n(&replayer.quit, 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&replayer.word, 1, __ATOMIC_SEQ_CST);
    sys_futex(&replayer.word, FUTEX_WAKE_PRIVATE, 1, NULL);
    while (__atomic_load_n(&replayer.tid, __ATOMIC_SEQ_CST) == child)
        sys_futex(&replayer.tid, FUTEX_WAIT, child, &look); // the kernel wakes without PRIVATE
    while (sys_call4(SYS_wait4, child, 0, __WALL, 0) == -EINTR)
        ;
    replayer.began = 0;
}

void replayer_allow(void)
{
    __atomic_store_n(&replayer.over, 0, __ATOMIC_SEQ_CST);
}

void replayer_fork_child(void)
{
    replayer.tid = replayer.starting = replayer.over = replayer.began = 0;
    replayer.cannot = false;
    spool->replayer = 0;
}
