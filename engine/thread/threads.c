// SPDX-License-Identifier: MIT
// Threads (threads.h): their areas and slots, the list, parking, stopping the world, and the end of a thread or of the process.
// Births are in fork.c.
//
// Invariants
// - A thread in the list whose state is PARKED, IN_SYSCALL or DEAD touches nothing but its own area until it has looked at its stop
//   word (a locked exchange of the state orders the two; the stopper sets stop by a locked or and then reads the state).
// - The thread that stops the world is never in the list walk's way: it skips itself.
// - An area is used again only when the kernel no longer knows the thread that lived there: the exiting thread runs its last
//   instructions on its engine stack.

#include "engine/thread/threads.h"

#include "engine/base/heap.h"
#include "engine/base/mini.h"
#include "engine/codecache/tcache.h"
#include "engine/count/prof.h"
#include "engine/process/exec.h"
#include "engine/process/finish.h"
#include "engine/run/dispatch.h"
#include "engine/spool/spooler.h"
#include "engine/syscalls/syscalls.h"

#define CLOCK_THREAD_CPUTIME_ID 3
#define SIGEV_THREAD_ID         4
#define SI_QUEUE                (-1)
#define FUTEX_WAIT_PRIVATE      (FUTEX_WAIT | FUTEX_PRIVATE_FLAG)
#define FUTEX_WAKE_PRIVATE      (FUTEX_WAKE | FUTEX_PRIVATE_FLAG)
#define POLL_NS                 1000000 // between two looks at a thread that does not park
#define END_POLLS               3000    // looks before the end of the process goes on without it

enum slot_state { SLOT_UNUSED, SLOT_FREE, SLOT_LIVE, SLOT_DYING };

static struct lock list_lock;
static struct thread *list;
static u32 count;
static struct thread_own owns[SPOOL_THREADS_MAX];
static u8 slots[SPOOL_THREADS_MAX]; // enum slot_state
static u32 slots_high;              // slots ever used

static u32 world_busy;  // 1: some thread stops or has stopped the world
static u32 parked_word; // changes whenever a thread has parked
static u32 ending;

static s32 profiled_pid;
static s32 leader_code = -1; // exit status of the main thread, when it has ended before the process

static bool serialized;
static u32 turn_next, turn_serving; // tickets
static struct thread *turn_holder;

void threads_lock(void)
{
    lock_take(&list_lock);
}

void threads_unlock(void)
{
    lock_drop(&list_lock);
}

u32 threads_count(void)
{
    return __atomic_load_n(&count, __ATOMIC_RELAXED);
}

struct thread *threads_first(void)
{
    return list;
}

u64 threads_area_end(void)
{
    return (u64)thread_at_slot(slots_high ? slots_high : 1);
}

struct thread *thread_of_address(u64 addr)
{
    struct thread *t;

    if (addr < THREAD_AREA_BASE || addr >= threads_area_end())
        return NULL;
    t = thread_at_slot((u32)((addr - THREAD_AREA_BASE) / THREAD_AREA_STRIDE));
    return (u64)addr - (u64)t < TA_COUNTERS ? t : NULL;
}

bool threads_is_profiled(const struct thread *t)
{
    return ((const struct thread_own *)t->extra[0])->tgid == profiled_pid;
}

// ---- Areas ----

static const struct {
    u64 start, end;
} area_parts[] = {
    { 0, TA_ENGINE_STACK },
    { TA_ENGINE_STACK + PAGE_SIZE, TA_ENGINE_STACK_TOP },
    { TA_SIGNAL_STACK + PAGE_SIZE, TA_SIGNAL_STACK_TOP },
    { TA_D1, TA_D1 + TA_D1_SIZE },
};

// Zeroed memory for a slot: mapped at its first use, emptied at the next ones. 0 or -errno.
static long area_make(u32 slot, bool again)
{
    u64 base = (u64)thread_at_slot(slot);
    long ret;

    if (!again) {
        ret = sys_mmap(base, TA_COUNTERS, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
        if (sys_failed(ret))
            return ret;
        if (ret != (long)base) { // a kernel that does not know FIXED_NOREPLACE took it for a hint
            sys_munmap((u64)ret, TA_COUNTERS);
            return -EEXIST;
        }
    }
    for (u32 i = 0; i < ARRAY_SIZE(area_parts); i++) {
        u64 start = base + area_parts[i].start, len = area_parts[i].end - area_parts[i].start;

        ret = again ? sys_madvise(start, len, MADV_DONTNEED)
                    : sys_mprotect(start, len, PROT_READ | PROT_WRITE);
        if (ret)
            return ret;
    }
    return 0;
}

// On the heap, and of use to the slot's next thread.
struct kept {
    struct sim_state *sim;
    struct signal_state *sig;
};

// Finds a slot and makes it live; -errno when there is none. @holds(list_lock)
static long slot_take(struct kept *kept)
{
    long ret;

    for (u32 i = 0; i < slots_high; i++) {
        if (slots[i] == SLOT_DYING && sys_tgkill(owns[i].tgid, owns[i].dying_tid, 0) == -ESRCH)
            slots[i] = SLOT_FREE;
        if (slots[i] != SLOT_FREE)
            continue;
        kept->sim = thread_at_slot(i)->sim;
        kept->sig = thread_at_slot(i)->sig;
        ret = area_make(i, true);
        if (ret)
            return ret;
        slots[i] = SLOT_LIVE;
        return i;
    }
    while (slots_high < SPOOL_THREADS_MAX) {
        u32 i = slots_high;

        ret = area_make(i, false);
        if (ret == -EEXIST) { // the kernel has put something of the client's there
            slots_high++;
            continue;
        }
        if (ret)
            return ret;
        slots_high++;
        slots[i] = SLOT_LIVE;
        return i;
    }
    return -EAGAIN;
}

struct thread *threads_new(struct thread *parent)
{
    struct kept kept = { NULL, NULL };
    struct thread *t;
    long slot;

    lock_take(&list_lock);
    slot = slot_take(&kept);
    lock_drop(&list_lock);
    if (slot < 0)
        return NULL;
    t = thread_at_slot((u32)slot);
    t->sim = kept.sim;
    t->sig = kept.sig;
    t->self = t;
    t->slot = (u32)slot;
    t->counters = (u64 *)((u64)t + TA_COUNTERS);
    t->engine_sp = (u64)t + TA_ENGINE_STACK_TOP - 64;
    t->state = TS_ENGINE;
    t->extra[0] = &owns[slot];
    memset(&owns[slot], 0, sizeof(owns[slot]));
    owns[slot].tgid = parent ? thread_own(parent)->tgid : sys_getpid();
    memcpy((u8 *)t + TA_SLOW_TABLE, syscalls_slow_table, SYSCALLS_TABLE_SIZE);
    if (spooler_thread_slot(t->slot) || tcache_thread_init(t))
        goto fail;
    if (prof_thread_init(t)) {
        tcache_thread_fini(t);
        goto fail;
    }
    return t;
fail:
    lock_take(&list_lock);
    slots[slot] = SLOT_FREE;
    lock_drop(&list_lock);
    return NULL;
}

// @holds(list_lock)
static void list_remove(struct thread *t)
{
    struct thread **at;

    for (at = &list; *at && *at != t; at = &(*at)->next)
        ;
    if (*at) {
        *at = t->next;
        __atomic_store_n(&count, count - 1, __ATOMIC_RELAXED);
    }
}

void threads_abort_birth(struct thread *t)
{
    signals_thread_fini(t);
    prof_thread_fini(t);
    tcache_thread_fini(t);
    lock_take(&list_lock);
    list_remove(t);
    slots[t->slot] = SLOT_FREE;
    lock_drop(&list_lock);
}

void threads_list_add(struct thread *t)
{
    lock_take(&list_lock);
    t->next = list;
    list = t;
    __atomic_store_n(&count, count + 1, __ATOMIC_RELAXED);
    if (spool->threads_used < (u64)t->slot + 1)
        spool->threads_used = (u64)t->slot + 1;
    lock_drop(&list_lock);
}

// Preempts the thread again and again, for tests (--stress). The kernel looks at a thread's own processor time once a tick only, so
// shorter intervals take the wall clock: then every call is slow, and the timer rests while the client's call is made, for a poke
// would make a sleep begin anew for ever.
#define STRESS_TICK_US 4000

static bool stress_by_wall_clock(void)
{
    return spool->stress_us && spool->stress_us < STRESS_TICK_US;
}

static void stress_arm(struct thread *t, u64 us)
{
    struct {
        struct k_timespec interval, value;
    } when;

    when.interval.sec = (s64)(us / 1000000);
    when.interval.nsec = (s64)(us % 1000000) * 1000;
    when.value = when.interval;
    sys_call4(SYS_timer_settime, (u64)thread_own(t)->stress_timer, 0, (u64)&when, 0);
}

static void stress_start(struct thread *t)
{
    struct {
        u64 value;
        s32 signo, notify, tid;
        s32 pad[11];
    } event = { SIGNAL_POKE_MAGIC, SIGNAL_POKE, SIGEV_THREAD_ID, sys_gettid(), { 0 } };
    u64 clock = stress_by_wall_clock() ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;

    thread_own(t)->stress = STRESS_OFF;
    if (!spool->stress_us ||
        sys_call3(SYS_timer_create, clock, (u64)&event, (u64)&thread_own(t)->stress_timer))
        return;
    thread_own(t)->stress = STRESS_RUNS;
    stress_arm(t, spool->stress_us);
}

void threads_stress_pause(struct thread *t)
{
    if (thread_own(t)->stress != STRESS_RUNS || !stress_by_wall_clock())
        return;
    thread_own(t)->stress = STRESS_PAUSED;
    stress_arm(t, 0);
}

void threads_stress_resume(struct thread *t)
{
    if (thread_own(t)->stress != STRESS_PAUSED)
        return;
    thread_own(t)->stress = STRESS_RUNS;
    stress_arm(t, spool->stress_us);
}

void threads_start(struct thread *t)
{
    long ret = sys_call2(SYS_arch_prctl, ARCH_SET_GS, (u64)t);

    if (ret)
        engine_die("cannot set the gs base of a thread: error %ld", -ret);
    t->tid = sys_gettid();
    thread_own(t)->tgid = sys_getpid();
    signals_thread_start(t);
    stress_start(t);
}

struct thread *threads_init_main(void)
{
    struct thread *t;

    syscalls_init();
    serialized = (spool->flags & SPOOL_F_SERIALIZE) != 0;
    t = threads_new(NULL);
    if (!t)
        engine_die("not enough memory for the first thread's tables");
    profiled_pid = sys_getpid();
    signals_thread_init(t, NULL, true);
    threads_start(t);
    t->rflags = 0x202;
    threads_list_add(t);
    threads_turn_take(t);
    return t;
}

// ---- Parking and the world ----

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

static void send_poke(struct thread *t)
{
    struct k_siginfo info;

    memset(&info, 0, sizeof(info));
    info.signo = SIGNAL_POKE;
    info.code = SI_QUEUE;
    info.pid = thread_own(t)->tgid;
    info.value = SIGNAL_POKE_MAGIC;
    sys_call4(SYS_rt_tgsigqueueinfo, (u64)thread_own(t)->tgid, (u64)t->tid, SIGNAL_POKE,
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

void threads_poke(struct thread *t, u64 stop_bits)
{
    __atomic_fetch_or(&t->stop, stop_bits, __ATOMIC_SEQ_CST);
    if (is_running(t))
        send_poke(t);
}

void threads_park(struct thread *t)
{
    if (t->stop & STOP_YIELD) {
        __atomic_fetch_and(&t->stop, ~STOP_YIELD, __ATOMIC_SEQ_CST);
        threads_turn_give(t);
    }
    while (__atomic_load_n(&t->stop, __ATOMIC_SEQ_CST) & STOP_PARK) {
        u32 seen;

        threads_turn_give(t);
        set_state(t, TS_PARKED);
        __atomic_fetch_add(&parked_word, 1, __ATOMIC_SEQ_CST);
        wake_word(&parked_word, 1);
        while ((seen = (u32)__atomic_load_n(&t->stop, __ATOMIC_SEQ_CST)) & STOP_PARK)
            sys_futex((u32 *)&t->stop, FUTEX_WAIT_PRIVATE, seen, NULL);
        set_state(t, TS_ENGINE);
    }
    threads_turn_take(t);
}

// The kernel knows it no more: killed together with its process, in shared memory.
static bool is_gone(const struct thread *t)
{
    const struct thread_own *own = t->extra[0];

    return t->tid && !own->borrowed && sys_tgkill(own->tgid, t->tid, 0) == -ESRCH;
}

// One look at all threads (of the process tgid, or of all processes when it is 0): sets their stop bits, pokes who runs.
// False: some are not quiet yet.
static bool stop_look(struct thread *self, s32 tgid, bool poke)
{
    struct thread *t, *next;
    bool quiet = true;

    lock_take(&list_lock);
    for (t = list; t; t = next) {
        next = t->next;
        if (t == self || (tgid && thread_own(t)->tgid != tgid))
            continue;
        __atomic_fetch_or(&t->stop, STOP_PARK, __ATOMIC_SEQ_CST);
        if (is_quiet(t))
            continue;
        if (poke && is_gone(t)) {
            list_remove(t);
            slots[t->slot] = SLOT_FREE;
            continue;
        }
        quiet = false;
        if (poke && is_running(t))
            send_poke(t);
    }
    lock_drop(&list_lock);
    return quiet;
}

static void stop_all(struct thread *self, s32 tgid, u32 polls)
{
    for (u32 i = 0; i < polls; i++) {
        u32 seen = __atomic_load_n(&parked_word, __ATOMIC_SEQ_CST);

        // The first look sets the bits and pokes; later ones poke again, in case a poke met its thread on the way: at first each
        // time, then ever more rarely, so that a thread that cannot take its pokes does not fill the user's signal queue
        // (96,365 were seen).
        if (stop_look(self, tgid, i < 8 || (i & (i - 1)) == 0))
            return;
        wait_word(&parked_word, seen);
    }
}

static void world_take(struct thread *t)
{
    for (;;) {
        u32 free_word = 0;

        if (__atomic_compare_exchange_n(&world_busy, &free_word, 1, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST))
            return;
        if (t->stop & STOP_PARK)
            threads_park(t);
        else
            wait_word(&world_busy, 1);
    }
}

void threads_stop_world(struct thread *t)
{
    world_take(t);
    stop_all(t, 0, ~0u);
}

void threads_resume_world(struct thread *t)
{
    struct thread *u;

    lock_take(&list_lock);
    for (u = list; u; u = u->next) {
        if (u == t)
            continue;
        __atomic_fetch_and(&u->stop, ~STOP_PARK, __ATOMIC_SEQ_CST);
        wake_word((u32 *)&u->stop, 1);
    }
    lock_drop(&list_lock);
    __atomic_store_n(&world_busy, 0, __ATOMIC_SEQ_CST);
    wake_word(&world_busy, 1);
}

void threads_stop_for_end(struct thread *t)
{
    if (__atomic_exchange_n(&ending, 1, __ATOMIC_SEQ_CST)) {
        // Another thread ends the process: wait for that, as a parked one.
        static u32 never;

        set_state(t, TS_PARKED);
        __atomic_fetch_add(&parked_word, 1, __ATOMIC_SEQ_CST);
        wake_word(&parked_word, 1);
        for (;;)
            sys_futex(&never, FUTEX_WAIT_PRIVATE, 0, NULL);
    }
    world_take(t);
    stop_all(t, thread_own(t)->tgid, END_POLLS);
}

void threads_blocking_begin(struct thread *t)
{
    threads_turn_give(t);
    set_state(t, TS_IN_SYSCALL);
}

void threads_blocking_end(struct thread *t)
{
    __atomic_exchange_n(&t->state, TS_ENGINE, __ATOMIC_SEQ_CST);
    if (t->stop & STOP_PARK)
        threads_park(t);
    threads_turn_take(t);
}

void threads_fork_child(struct thread *t)
{
    profiled_pid = sys_getpid();
    for (struct thread *u = list; u; u = u->next)
        if (u != t)
            slots[u->slot] = SLOT_FREE;
    for (u32 i = 0; i < slots_high; i++)
        if (slots[i] == SLOT_DYING)
            slots[i] = SLOT_FREE;
    list = t;
    t->next = NULL;
    count = 1;
    world_busy = 0;
    ending = 0;
    leader_code = -1;
    list_lock.w = 0;
    turn_next = 1;
    turn_serving = 0;
    turn_holder = t;
    thread_own(t)->has_turn = serialized;
    t->stop &= ~(STOP_PARK | STOP_YIELD);
    t->tid = sys_gettid();
    thread_own(t)->tgid = profiled_pid;
    stress_start(t);
}

// Without a lock: areas and what they point to are never unmapped, and who asks can do with an answer that is a moment old.
s32 threads_find_open(struct thread *t, u64 signals)
{
    for (u32 i = 0; i < slots_high; i++) {
        struct thread *u = thread_at_slot(i);
        // Read once: the area may be emptied for its next thread meanwhile. What it points to is never freed.
        struct signal_state *s = __atomic_load_n(&u->sig, __ATOMIC_RELAXED);
        s32 tid = __atomic_load_n(&u->tid, __ATOMIC_RELAXED);

        if (u == t || !s || !tid || __atomic_load_n(&slots[i], __ATOMIC_RELAXED) != SLOT_LIVE ||
            owns[i].tgid != thread_own(t)->tgid || owns[i].exiting)
            continue;
        if (!(__atomic_load_n(&s->mask, __ATOMIC_RELAXED) & signals))
            return tid;
    }
    return 0;
}

bool threads_any_noted(struct thread *t)
{
    bool any = false;

    lock_take(&list_lock);
    for (struct thread *u = list; u; u = u->next)
        any |= u != t && thread_own(u)->tgid == thread_own(t)->tgid && u->sig && signal_is_noted(u);
    lock_drop(&list_lock);
    return any;
}

// ---- The end ----

static u32 live_in_process(s32 tgid)
{
    u32 n = 0;

    lock_take(&list_lock);
    for (struct thread *u = list; u; u = u->next)
        n += thread_own(u)->tgid == tgid;
    lock_drop(&list_lock);
    return n;
}

_Noreturn static void leave_kernel_thread(int code)
{
    for (;;)
        sys_call1(SYS_exit, (u64)code);
}

_Noreturn void threads_exit(struct thread *t, int code)
{
    struct thread_own *own = thread_own(t);
    bool last = true, profiled = threads_is_profiled(t);

    signals_block(t);
    // A signal of the process that this thread was the one to take: nobody else gets it any more. The call is made anew.
    if (signal_is_due(t))
        dispatch_run(t);
    if (own->borrowed) // the parent goes on with this block
        leave_kernel_thread(code);

    // Of two that leave at once, exactly one is the last.
    lock_take(&list_lock);
    own->exiting = true;
    for (struct thread *u = list; u; u = u->next)
        if (thread_own(u)->tgid == own->tgid && !thread_own(u)->exiting)
            last = false;
    if (profiled && t->tid == own->tgid)
        leader_code = code & 0xff;
    lock_drop(&list_lock);
    if (last && profiled)
        threads_end_process(t, SPOOL_END_EXIT, leader_code >= 0 ? leader_code : code & 0xff);

    // While it is in the list the world waits for this thread: what takes locks is done before it goes.
    prof_thread_fini(t); // with the turn, if there are turns
    threads_turn_give(t);
    tcache_thread_fini(t);
    signals_pass_on(t);
    signals_thread_fini(t);
    own->dying_tid = t->tid;
    lock_take(&list_lock);
    list_remove(t);
    t->state = TS_DEAD;
    lock_drop(&list_lock);
    __atomic_fetch_add(&parked_word, 1, __ATOMIC_SEQ_CST);
    wake_word(&parked_word, 1);
    // From here on the slot may be taken as soon as the kernel has forgotten this thread.
    __atomic_store_n(&slots[t->slot], SLOT_DYING, __ATOMIC_SEQ_CST);
    leave_kernel_thread(code);
}

_Noreturn void threads_end_process(struct thread *t, u32 kind, int code)
{
    s32 tgid = thread_own(t)->tgid;

    signals_block(t);
    if (!threads_is_profiled(t)) {
        // A process that shares or borrows this memory: what it counted stays with the one it came from.
        if (!thread_own(t)->borrowed) {
            lock_take(&list_lock);
            for (struct thread *u = list, *next; u; u = next) {
                next = u->next;
                if (thread_own(u)->tgid == tgid) {
                    list_remove(u);
                    u->state = TS_DEAD;
                    thread_own(u)->dying_tid = u->tid;
                    slots[u->slot] = SLOT_DYING;
                }
            }
            lock_drop(&list_lock);
        }
        threads_turn_give(t);
        if (kind == SPOOL_END_SIGNAL)
            signal_die_natively(code);
        sys_exit_group(code);
    }
    if (live_in_process(tgid) > 1 || __atomic_load_n(&ending, __ATOMIC_SEQ_CST))
        threads_stop_for_end(t);
    if ((kind == SPOOL_END_SIGNAL && signal_leaves_core(code)) || exec_is_traced()) {
        if (finish_in_child(kind, code))
            engine_msg("warning: the profile was not written");
        if (kind == SPOOL_END_SIGNAL)
            signal_die_as_client(t, code);
        sys_exit_group(code);
    }
    finish_process(kind, code);
}

// ---- --serialize-threads ----

void threads_turn_take(struct thread *t)
{
    u32 mine, seen, state = t->state;

    if (!serialized || thread_own(t)->has_turn)
        return;
    mine = __atomic_fetch_add(&turn_next, 1, __ATOMIC_SEQ_CST);
    // Waiting counts as parked: nothing is touched meanwhile.
    set_state(t, TS_IN_SYSCALL);
    while ((seen = __atomic_load_n(&turn_serving, __ATOMIC_SEQ_CST)) != mine) {
        struct thread *holder = __atomic_load_n(&turn_holder, __ATOMIC_SEQ_CST);

        wait_word(&turn_serving, seen);
        if (holder && holder == __atomic_load_n(&turn_holder, __ATOMIC_SEQ_CST))
            threads_poke(holder, STOP_YIELD);
    }
    __atomic_store_n(&turn_holder, t, __ATOMIC_SEQ_CST);
    thread_own(t)->has_turn = true;
    __atomic_exchange_n(&t->state, state, __ATOMIC_SEQ_CST);
    prof_turn(t);
}

void threads_turn_give(struct thread *t)
{
    if (!serialized || !thread_own(t)->has_turn)
        return;
    thread_own(t)->has_turn = false;
    __atomic_store_n(&turn_holder, NULL, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&turn_serving, 1, __ATOMIC_SEQ_CST);
    wake_word(&turn_serving, ~0u >> 1);
}
