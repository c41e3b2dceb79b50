// SPDX-License-Identifier: MIT
// The process that replays (replayer.h).
//
// A thread's area has the queue of its buffers, replayed in order, one at a time: the state is BUSY
// while someone replays the oldest (the replayer; the thread itself; or whoever empties its buffers
// while it is quiet), else FREE.
//
// The process is a child of the client that sends no signal when it ends, so that only a wait for
// children of all kinds would see it (__WALL, __WCLONE): before such a wait it is ended, and the
// next full buffer starts it again. Otherwise it ends with the client, when it finds that the
// client is gone (it checks once a second), and when the client kills all processes it may.
//
// A client that is gone without ending it was killed: the replayer then replays what its threads
// have left (salvage.h). If full buffers are not handed over, that is all it does.
#include "engine/replay/replayer.h"

#include "engine/base/heap.h"
#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/count/ahead.h"
#include "engine/count/caches.h"
#include "engine/count/curve.h"
#include "engine/count/ll.h"
#include "engine/count/reftrace.h"
#include "engine/count/vector.h"
#include "engine/objects/objtable.h"
#include "engine/replay/autotune.h"
#include "engine/replay/record.h"
#include "engine/replay/replay.h"
#include "engine/replay/routine.h"
#include "engine/replay/salvage.h"
#include "engine/replay/sandbox.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/thread/threads.h"

#define FUTEX_WAIT_PRIVATE (FUTEX_WAIT | FUTEX_PRIVATE_FLAG)
#define FUTEX_WAKE_PRIVATE (FUTEX_WAKE | FUTEX_PRIVATE_FLAG)
#define STACK_BYTES        0x10000u
#define SPINS              2000u         // checks before either side sleeps: a sleep costs 50 us
#define MOMENT             200u          // checks: as long as the step to the next buffer may take
#define CHECK_NS           100000000     // between a waiter's checks whether the replayer lives
#define STUCK_NS           10000000000ul // of processor time on one record, without progress
#define END_S              30            // of the thread's time, for each thread that left records
#define SIGEV_THREAD_ID    4

enum job_state { JOB_FREE, JOB_BUSY, JOB_AWAITED };

// AHEAD: its thread simulates it now (count/ahead.h), nobody else does. JOINS: it has; what is left
// of the simulation is done when it is the oldest, and its records may be overwritten already.
// TURN: its thread simulates it, and it is its turn already, so a part of its list is counted.
enum buffer_state { BUFFER_RECORDS, BUFFER_AHEAD, BUFFER_TURN, BUFFER_JOINS };

struct buffer {
    const u64 *from, *end;
    u32 state; // enum buffer_state
};

#define QUEUED (2 * TA_RECORD_BUFFERS) // at most: one more than there are buffers

// The progress of a replay, and when, in processor time of the replaying process.
struct progress {
    u64 record, pulse, ns;
    u32 done;
};

struct job {
    u32 state;                // enum job_state; JOB_AWAITED: busy, and its thread sleeps
    u32 given, done;          // buffers so far: by the thread, by whoever replays the oldest
    u32 until;                // JOB_AWAITED: wake the thread when this many are queued
    struct progress progress; // of its thread, as the process saw it
    struct buffer buffer[QUEUED];
};

_Static_assert(sizeof(struct job) <= TA_JOB_SIZE, "room in the area");
_Static_assert(sizeof(struct autotune) <= TA_VECTOR_SAVE - TA_AUTOTUNE, "room in the area");

static struct {
    _Alignas(64) u32 tid; // 0: there is none; the kernel clears it when the process is gone
    u32 quit;
    u32 starting;
    bool cannot;             // the process could not be started
    u32 over;                // start none
    u32 stuck;               // thread whose replay does not end
    u32 confined;            // the process is confined (sandbox.h)
    u32 began;               // it was started; if killed, no other one is
    s32 client;              // its process
    s32 client_fd;           // the same; negative where there are no such descriptors
    _Alignas(64) u32 asleep; // the replayer sleeps, or is about to
    u32 word;                // it sleeps on
} replayer;

// The thread's block need not be initialized yet.
static struct job *job_of(const struct thread *t)
{
    return (struct job *)((u64)t + TA_JOB);
}

static struct autotune *autotune_of(const struct thread *t)
{
    return (struct autotune *)((u64)t + TA_AUTOTUNE);
}

static bool has_turn; // of the thread that simulates ahead, which is the only one

static u32 queued(const struct job *j)
{
    return __atomic_load_n(&j->given, __ATOMIC_ACQUIRE) -
           __atomic_load_n(&j->done, __ATOMIC_ACQUIRE);
}

static void job_leave(struct job *j)
{
    if (__atomic_exchange_n(&j->state, JOB_FREE, __ATOMIC_SEQ_CST) == JOB_AWAITED)
        sys_futex(&j->state, FUTEX_WAKE_PRIVATE, 1, NULL);
}

// Whether its thread sleeps and need not be woken yet.
static bool is_awaited(const struct job *j)
{
    return __atomic_load_n(&j->state, __ATOMIC_ACQUIRE) == JOB_AWAITED &&
           queued(j) > __atomic_load_n(&j->until, __ATOMIC_RELAXED);
}

static struct buffer *oldest(struct job *j)
{
    return &j->buffer[j->done % QUEUED];
}

static bool is_ready(const struct buffer *b)
{
    u32 state = __atomic_load_n(&b->state, __ATOMIC_ACQUIRE);

    return state == BUFFER_RECORDS || state == BUFFER_JOINS;
}

// Of a buffer that has been taken: whether it is joined. If it cannot be, its records are replayed.
static bool is_joined(struct thread *t, struct buffer *b)
{
    if (b->state != BUFFER_JOINS || ahead_joins(t))
        return b->state == BUFFER_JOINS;
    b->state = BUFFER_RECORDS;
    ahead_forget(t);
    __atomic_fetch_add(&spool->n_again, 1, __ATOMIC_RELAXED);
    return false;
}

// Simulates the buffer that has been taken.
static void simulate(struct thread *t, struct buffer *b)
{
    if (is_joined(t, b))
        ahead_join(t);
    else
        replay_records(t, b->from, b->end);
}

// Takes the oldest buffer. NULL: there is none, or someone is replaying it.
static struct buffer *job_take(struct job *j)
{
    u32 expected = JOB_FREE;

    if (!queued(j) || !__atomic_compare_exchange_n(&j->state, &expected, JOB_BUSY, false,
                                                   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return NULL;
    if (queued(j) && is_ready(oldest(j)))
        return oldest(j);
    job_leave(j);
    return NULL;
}

// The oldest has been replayed. In this order: a salvage after SIGKILL sees whether an unfinished
// replay, if any, is of the oldest or of the one before it.
static void job_done(struct job *j, struct thread *t)
{
    __atomic_store_n(&j->done, j->done + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&t->replay_end, 0, __ATOMIC_RELEASE);
}

// Whoever replayed the oldest is gone, and its unfinished replay has been completed.
static void job_inherit(struct job *j, struct thread *t)
{
    if (t->replay_end && queued(j) && t->replay_end == (u64)j->buffer[j->done % QUEUED].end)
        job_done(j, t);
    t->replay_end = 0;
    __atomic_store_n(&j->state, JOB_FREE, __ATOMIC_SEQ_CST);
}

// -- the process --

// Called at the first buffer: before that the process has the client's rights at that moment, and
// nothing to do. A short program avoids the cost (`true`: 0.12 of 6.5 ms).
static void confine(void)
{
    if (replayer.confined)
        return;
    if (sandbox_enter(replayer.client)) {
        replayer.cannot = true;
        sys_exit_group(0);
    }
    replayer.confined = 1;
}

static bool take_any(void)
{
    struct thread *t;
    u32 slot = 0;
    bool any = false;

    while ((t = threads_next_live(&slot))) {
        struct job *j = job_of(t);
        struct buffer *b;

        if (!queued(j) || !is_ready(oldest(j)))
            continue;
        confine(); // not with a buffer in hand
        b = job_take(j);
        if (!b)
            continue;
        any = true;
        do {
            ll_beside(t, tb_config.replayer_split);
            simulate(t, b);
            job_done(j, t);
            b = oldest(j);
        } while (is_awaited(j) && is_ready(b));
        job_leave(j);
    }
    return any;
}

// Whether the client's process is gone, or a zombie.
static bool is_gone(void)
{
    struct k_pollfd p = { replayer.client_fd, POLLIN, 0 };
    struct k_timespec now = { 0, 0 };

    if (p.fd < 0)
        return sys_call2(SYS_kill, (u64)replayer.client, 0) == -ESRCH;
    return sys_call5(SYS_ppoll, (u64)&p, 1, (u64)&now, 0, 0) == 1;
}

// ll_is_orphan, curve_is_orphan, objtable_is_orphan
static bool is_orphan(void)
{
    return sys_gettid() == (s32)__atomic_load_n(&replayer.tid, __ATOMIC_RELAXED) && is_gone();
}

static bool is_over(void)
{
    return __atomic_load_n(&replayer.quit, __ATOMIC_SEQ_CST) || is_gone();
}

static u64 processor_ns(u32 pid)
{
    struct k_timespec t = { 0, 0 };

    sys_clock_gettime(CLOCK_CPU_OF(pid), &t);
    return (u64)t.sec * 1000000000 + (u64)t.nsec;
}

// Adds t's progress to that of other threads.
static void add_progress(struct progress *p, const struct thread *t)
{
    p->record += __atomic_load_n(&t->record, __ATOMIC_RELAXED);
    p->pulse += __atomic_load_n(&t->replay_pulse, __ATOMIC_RELAXED);
    p->done += __atomic_load_n(&job_of(t)->done, __ATOMIC_RELAXED);
}

// A client that writes at random can make a replay of its records endless. Whether there has been
// no progress since *p, the last state seen, for `most`.
static bool stands_still(struct progress *p, struct progress now, u64 most)
{
    if (p->ns && now.record == p->record && now.pulse == p->pulse && now.done == p->done)
        return now.ns > p->ns && now.ns - p->ns >= most;
    *p = now;
    return false;
}

// Whether t's replay, by process pid, is stuck.
static bool is_stuck(const struct thread *t, struct progress *p, u32 pid, u64 most)
{
    struct progress now = { 0, 0, processor_ns(pid), 0 };

    add_progress(&now, t);
    return stands_still(p, now, most);
}

// Threads replay with most signals blocked: if one makes no progress while each of the client's
// threads has had that much time, it is told, and gives up.
static void check_threads(void)
{
    struct thread *t;
    u32 slot = 0;

    while ((t = threads_next_live(&slot))) {
        struct progress *p = &job_of(t)->progress;
        const struct thread *w = t;

        if (t->ahead && __atomic_load_n(&t->ahead->replay_end, __ATOMIC_ACQUIRE))
            w = t->ahead; // only its thread replays these
        if (!__atomic_load_n(&w->replay_end, __ATOMIC_ACQUIRE)) {
            p->ns = 0;
        } else if (is_stuck(w, p, (u32)replayer.client, STUCK_NS * threads_count())) {
            __atomic_store_n(&replayer.stuck, (u32)t->tid, __ATOMIC_SEQ_CST);
            sys_tgkill(replayer.client, t->tid, SANDBOX_SIGNAL);
        }
    }
}

// Of a process that was killed, what the replay of the other may wait for.
static void forget_locks(void)
{
    ll_forget_locks();
    curve_forget_lock();
    objtable_forget_lock();
    routine_forget_locks();
    heap_forget_lock(); // the replayer dies with it where it may not map more memory
}

// t was killed while it simulated a buffer ahead: its records are there. If it was their turn
// already, the second state goes on with them.
static void resume_ahead(struct job *j, struct thread *t)
{
    for (u32 i = j->done; i != j->given; i++) {
        struct buffer *b = &j->buffer[i % QUEUED];

        if (b->state == BUFFER_AHEAD) {
            b->state = BUFFER_RECORDS;
        } else if (b->state == BUFFER_TURN) {
            ahead_resume(t);
            salvage_replay(t->ahead, NULL, 0);
            b->state = BUFFER_JOINS;
        }
    }
}

// The client was killed. None of its threads runs, but they may have held locks.
static void inherit(void)
{
    struct thread *t;
    u32 slot = 0;

    confine();
    reftrace_stop(); // the file was the client's
    forget_locks();
    while ((t = threads_next_live(&slot))) {
        struct job *j = job_of(t);
        struct buffer *b;
        u32 last = (j->given - 1) % QUEUED;

        if (!t->own || thread_own(t)->tgid != replayer.client)
            continue;
        ll_beside(t, false); // no thread is left to help
        if (j->state != JOB_FREE) {
            salvage_replay(t, NULL, 0);
            job_inherit(j, t);
        }
        resume_ahead(j, t);
        while ((b = job_take(j))) {
            simulate(t, b);
            if (b->state == BUFFER_JOINS)
                caches_restore_clock(t); // the second state's was in a register
            job_done(j, t);
            job_leave(j);
        }
        // A buffer that was being handed over is still the thread's.
        salvage_replay(t,
                       j->buffer[last].from == (const u64 *)t->recordbuf_begin
                           ? NULL
                           : (const u64 *)t->recordbuf_begin,
                       t->recordbuf_size);
    }
}

// Until records are handed over, or the client may be gone: of a client that has just had records
// this is looked at often for a second, so that `quern recover` need not wait.
static void sleep(u32 before)
{
    struct k_timespec time = { before >= 20, before >= 20 ? 0 : 50000000 };
    u32 seen = __atomic_load_n(&replayer.word, __ATOMIC_SEQ_CST);

    check_threads();
    __atomic_store_n(&replayer.asleep, 1, __ATOMIC_SEQ_CST);
    if (!take_any() && !is_over())
        sys_futex(&replayer.word, FUTEX_WAIT_PRIVATE, seen, &time);
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
            sleep(idle - SPINS - 1);
            if (is_over())
                break;
        }
    }
    if (!__atomic_load_n(&replayer.quit, __ATOMIC_SEQ_CST))
        inherit();
    sys_exit_group(0);
}

// -- the client's side --

static void await_turn(struct thread *t);

void replayer_init(void)
{
    ll_is_orphan = curve_is_orphan = objtable_is_orphan = is_orphan;
    ahead_init();
    ahead_await_turn = await_turn;
    if (tb_config.replayer)
        spool->owner = spooler_counters(2) + 1; // 0: none
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
        replayer.quit = replayer.confined = 0;
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

static bool has_processor(void)
{
    u32 slot = 0, running = 0, state;
    const struct thread *t;

    while (running <= tb_config.replayer_beside && (t = threads_next_live(&slot))) {
        state = __atomic_load_n(&t->state, __ATOMIC_RELAXED);
        running += state == TS_RUNNING || state == TS_HELPER || state == TS_ENGINE;
    }
    return running <= tb_config.replayer_beside;
}

bool replayer_pays(struct thread *t)
{
    struct k_timespec now;

    if (!tb_config.replayer_beside)
        return true;
    if (!has_processor())
        return false;
    sys_clock_gettime(CLOCK_MONOTONIC, &now);
    return !autotune_is_here(autotune_of(t), (u64)now.sec * 1000000000 + (u64)now.nsec);
}

static void wake(void)
{
    if (!__atomic_load_n(&replayer.asleep, __ATOMIC_SEQ_CST))
        return;
    __atomic_fetch_add(&replayer.word, 1, __ATOMIC_SEQ_CST);
    sys_futex(&replayer.word, FUTEX_WAKE_PRIVATE, 1, NULL);
}

static void queue(struct job *j, const u64 *from, const u64 *end, enum buffer_state state)
{
    j->buffer[j->given % QUEUED] = (struct buffer){ from, end, state };
    __atomic_store_n(&j->given, j->given + 1, __ATOMIC_SEQ_CST);
}

void replayer_hand_over(struct thread *t, const u64 *from, const u64 *end)
{
    queue(job_of(t), from, end, BUFFER_RECORDS);
    wake();
}

// The process was killed while it replayed t's records. It may also have held a lock that another
// thread would wait for.
static void take_over(struct thread *t)
{
    if (threads_count() > 1)
        engine_die("the process that simulated the caches has been killed");
    forget_locks();
    salvage_resume(t);
    job_inherit(job_of(t), t);
}

static _Noreturn void give_up(void)
{
    engine_die(ENGINE_DAMAGED "a replay does not end");
}

// A waiter checks whether the process makes progress.
static void check_progress(const struct thread *t, struct progress *p)
{
    u32 tid = __atomic_load_n(&replayer.tid, __ATOMIC_SEQ_CST);

    if (!tid || !is_stuck(t, p, tid, STUCK_NS))
        return;
    sys_call2(SYS_kill, tid, SIGKILL);
    give_up();
}

// Of all threads.
static struct progress all_progress(void)
{
    struct progress all = { 0, 0, 0, 0 };
    struct thread *t;
    u32 slot = 0;

    while ((t = threads_next_live(&slot)))
        add_progress(&all, t);
    return all;
}

static struct progress at_end; // when the timer was set, or last expired

// A timer of the thread itself: no other process may exist.
s32 replayer_bound(const struct thread *t)
{
    struct {
        u64 value;
        s32 signo, notify, tid;
        s32 pad[11];
    } event = { REPLAYER_END_MAGIC, SANDBOX_SIGNAL, SIGEV_THREAD_ID, t->tid, { 0 } };
    s64 seconds = (s64)END_S * threads_count();
    const struct {
        struct k_timespec interval, value;
    } each = { { seconds, 0 }, { seconds, 0 } };
    s32 timer;

    if (!tb_config.recording ||
        sys_call3(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, (u64)&event, (u64)&timer))
        return -1;
    at_end = all_progress();
    sys_call4(SYS_timer_settime, (u64)timer, 0, (u64)&each, 0);
    return timer;
}

void replayer_bound_over(s32 timer)
{
    if (timer >= 0)
        sys_call1(SYS_timer_delete, (u64)timer);
}

// A thread's buffers take much less time than this, whatever the records, except string
// instructions: each may span the client's memory, and shows progress.
static bool is_endless(void)
{
    struct progress now = all_progress();
    bool same = now.pulse == at_end.pulse && now.done == at_end.done;

    at_end = now;
    return same;
}

bool replayer_takes_signal(const struct thread *t, int sig, const struct k_siginfo *info)
{
    if (sig != SANDBOX_SIGNAL)
        return false;
    if (info->code == SI_TIMER && info->timer_value == REPLAYER_END_MAGIC) {
        if (is_endless())
            give_up();
        return true;
    }
    if (info->code == SI_TKILL &&
        (u32)info->pid == __atomic_load_n(&replayer.tid, __ATOMIC_RELAXED) &&
        (u32)t->tid == __atomic_load_n(&replayer.stuck, __ATOMIC_SEQ_CST))
        give_up();
    return false;
}

static void await_any(struct thread *t, u32 n, bool patient)
{
    struct k_timespec check = { 0, CHECK_NS };
    struct job *j = job_of(t);
    struct progress seen = { 0, 0, 0, 0 };

    for (u32 i = 0; i < SPINS && !patient; i++) {
        if (__atomic_load_n(&j->state, __ATOMIC_ACQUIRE) == JOB_FREE || queued(j) <= n)
            return;
        __builtin_ia32_pause();
    }
    __atomic_store_n(&j->until, n, __ATOMIC_RELAXED);
    for (;;) {
        u32 busy = JOB_BUSY;

        if (patient && queued(j) > n && ll_help(t))
            continue;
        __atomic_compare_exchange_n(&j->state, &busy, JOB_AWAITED, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&j->state, __ATOMIC_ACQUIRE) == JOB_FREE || queued(j) <= n)
            return;
        if (!__atomic_load_n(&replayer.tid, __ATOMIC_SEQ_CST) &&
            __atomic_load_n(&j->state, __ATOMIC_ACQUIRE) != JOB_FREE) {
            take_over(t);
            return;
        }
        if ((!patient || !ll_ask(t, &j->state)) &&
            sys_futex(&j->state, FUTEX_WAIT_PRIVATE, JOB_AWAITED, &check) == -ETIMEDOUT)
            check_progress(t, &seen);
    }
}

// Waits until no one replays the oldest, or at most n are queued. patient: that takes long, so it
// sleeps at once, after helping with LL.
static void await(struct thread *t, u32 n, bool patient)
{
    if (patient)
        ll_helps(t, true);
    await_any(t, n, patient);
    if (patient)
        ll_helps(t, false);
}

// ahead_join(), by the thread.
static void join_here(struct thread *t)
{
    if (tb_config.vectors)
        vector_save(t);
    ll_beside(t, false);
    ahead_join(t);
    if (tb_config.vectors)
        vector_restore(t);
}

// Waits until at most n are queued. Between two buffers, for a moment no one replays.
static void settle(struct thread *t, u32 n, u32 looks, bool patient)
{
    struct job *j = job_of(t);
    u32 seen = 0;

    while (queued(j) > n) {
        struct buffer *b;

        if (__atomic_load_n(&j->state, __ATOMIC_ACQUIRE) != JOB_FREE) {
            await(t, n, patient);
            seen = 0;
        } else if (seen++ < looks) {
            __builtin_ia32_pause();
        } else if ((b = job_take(j))) {
            if (is_joined(t, b))
                join_here(t);
            else
                replay_run(t, b->from, b->end);
            job_done(j, t);
            job_leave(j);
            seen = 0;
        }
    }
}

void replayer_settle(struct thread *t)
{
    if (tb_config.replayer)
        settle(t, 0, 0, false);
}

// Queued buffers whose records are needed, or may be.
static u32 held(const struct job *j)
{
    u32 n = 0;

    for (u32 i = __atomic_load_n(&j->done, __ATOMIC_ACQUIRE); i != j->given; i++)
        n += ahead_keeps() || j->buffer[i % QUEUED].state != BUFFER_JOINS;
    return n;
}

// How many are queued behind the one that waits to be joined; 1: none does.
static u32 behind_joining(const struct job *j)
{
    for (u32 i = __atomic_load_n(&j->done, __ATOMIC_ACQUIRE); i != j->given; i++)
        if (j->buffer[i % QUEUED].state == BUFFER_JOINS)
            return j->given - i - 1;
    return 1;
}

// The process has been killed while the thread simulates a buffer ahead: the thread simulates those
// before it, in the middle of that one. Vector registers have been saved already.
static void take_over_within(struct thread *t)
{
    struct job *j = job_of(t);
    struct buffer *b;

    if (__atomic_load_n(&j->state, __ATOMIC_ACQUIRE) != JOB_FREE) {
        forget_locks();
        salvage_replay(t, NULL, 0);
        job_inherit(j, t);
    }
    while (queued(j) > 1 && (b = job_take(j))) {
        simulate(t, b);
        job_done(j, t);
        job_leave(j);
    }
}

// ahead_await_turn: those before it are simulated by the process.
static void await_turn(struct thread *t)
{
    struct job *j = job_of(t);
    u32 expected = JOB_FREE;

    while (queued(j) > 1 || !__atomic_compare_exchange_n(&j->state, &expected, JOB_BUSY, false,
                                                         __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        expected = JOB_FREE;
        if (is_there())
            sys_call0(SYS_sched_yield);
        else
            take_over_within(t);
    }
    j->buffer[(j->given - 1) % QUEUED].state = BUFFER_TURN;
    has_turn = true;
}

static void simulate_ahead(struct thread *t, const u64 *from, const u64 *end)
{
    struct job *j = job_of(t);
    struct buffer *b = &j->buffer[j->given % QUEUED];

    queue(j, from, end, BUFFER_AHEAD);
    has_turn = false;
    routine_replays_two(true);
    if (tb_config.vectors)
        vector_save(t);
    replay_records(ahead_begin(t, t->recordbuf_sp, t->recordbuf_top), from, end);
    ahead_sort(t);
    t->ahead->replay_end = 0;
    if (has_turn) {
        ahead_join(t);
        job_done(j, t);
        job_leave(j);
    } else {
        __atomic_store_n(&b->state, BUFFER_JOINS, __ATOMIC_SEQ_CST);
        wake();
    }
    if (tb_config.vectors)
        vector_restore(t);
    routine_replays_two(false);
    __atomic_fetch_add(&spool->n_ahead, 1, __ATOMIC_RELAXED);
}

// Whether it is known how things are at the buffer's beginning: within what follows a record,
// changes of frames, the client's stack and frames are not as there.
static bool is_known(const struct thread *t, const u64 *from)
{
    return t->recordbuf_sp_known && *(const u32 *)from >= RECORD_FIRST;
}

bool replayer_ahead(struct thread *t, const u64 *from, const u64 *end)
{
    // With two more before it the process has enough to do meanwhile. With a call graph the thread
    // often has as much to do as the process: it has to be certain that it would wait.
    u32 least = spool->flags & SPOOL_F_REPLAY_SPLIT ? 1
                : tb_config.calls                   ? TA_RECORD_BUFFERS - 1
                                                    : TA_RECORD_BUFFERS - 2;
    struct job *j = job_of(t);

    ahead_next(t);
    while (held(j) >= least) {
        if (is_known(t, from) && ahead_may(t, queued(j))) {
            simulate_ahead(t, from, end);
            if (ahead_keeps())
                settle(t, TA_RECORD_BUFFERS - 1, MOMENT, true);
            return true;
        }
        if (held(j) < TA_RECORD_BUFFERS - 1)
            return false;
        settle(t, behind_joining(j), MOMENT, true);
    }
    return false;
}

void replayer_ahead_over(struct thread *t, const u64 *from)
{
    struct job *j = job_of(t);
    struct buffer *b = &j->buffer[(j->given - 1) % QUEUED];

    if (b->from == from)
        b->from = NULL;
}

// Drops the queue of a thread that was killed.
static void forget(struct thread *t)
{
    struct job *j = job_of(t);

    for (u32 i = 0; i < QUEUED; i++)
        j->buffer[i].state = BUFFER_RECORDS;
    ahead_forget(t);
    while (queued(j)) {
        if (job_take(j)) {
            j->done = j->given;
            job_leave(j);
        } else {
            await(t, 0, false);
        }
    }
    j->buffer[(j->given - 1) % QUEUED].from = NULL; // the next may begin at the same address
}

void replayer_thread_init(struct thread *t)
{
    if (!tb_config.replayer)
        return;
    forget(t);
    autotune_init(autotune_of(t), tb_config.ahead);
    // Counters of executions and of misses of a block are adjacent: two processors would wait for
    // each other's writes at each miss (a program that multiplies matrices: 1.4 times the time).
    threads_more_counters(t);
    if (t->misses != t->counters)
        t->misses[spool->owner] = t->slot + 1;
    ahead_thread_init(t);
}

// A waiter for its end does not know whose records it replays.
static void check_end(u32 pid, struct progress *p)
{
    struct progress now = all_progress();

    now.ns = processor_ns(pid);
    if (!stands_still(p, now, STUCK_NS))
        return;
    sys_call2(SYS_kill, pid, SIGKILL);
    give_up();
}

void replayer_stop(void)
{
    struct k_timespec check = { 0, CHECK_NS };
    struct progress seen = { 0, 0, 0, 0 };
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
        // the kernel's wake is not PRIVATE
        if (sys_futex(&replayer.tid, FUTEX_WAIT, child, &check) == -ETIMEDOUT)
            check_end(child, &seen);
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
    routine_fork_child();
}
