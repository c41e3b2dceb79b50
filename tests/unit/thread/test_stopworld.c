// SPDX-License-Identifier: MIT
// engine/thread/stopworld.c and stress.c: stopping and resuming threads that really run, kicks as
// the kernel delivers them, turns, and the timer of --stress. A second thread of this program is
// the client. It blocks the kick signal and takes it out of the kernel's queue: tests check what
// was sent.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <threads.h>

#include <cmocka.h>

#include "engine/spool/spooler.h"
#include "engine/thread/stop.h"
#include "engine/thread/stopworld.h"
#include "engine/thread/stress.h"

static struct spool_header header;
struct spool_header *spool = &header;

int spooler_thread_slot(u32 slot)
{
    (void)slot;
    return 0;
}

#define KICK (1ul << (STOP_KICK_SIGNAL - 1))

// -- the test's side --

static struct thread *self;
static s32 gone; // a process that has exited

// The C library leaves this signal out of the masks it sets, and unblocks it in a new thread.
static void block_kick(void)
{
    u64 kick = KICK;

    assert_int_equal(sys_call4(SYS_rt_sigprocmask, 0 /* SIG_BLOCK */, (u64)&kick, 0, 8), 0);
}

static int begin(void **state)
{
    long child = sys_call5(SYS_clone, 17 /* SIGCHLD */, 0, 0, 0, 0);

    (void)state;
    if (child == 0)
        sys_exit_group(0);
    sys_call4(SYS_wait4, (u64)child, 0, 0, 0);
    gone = (s32)child;
    return 0;
}

static struct thread *add(s32 tid)
{
    struct thread *t = threads_new(NULL);

    t->tid = tid;
    threads_list_add(t);
    return t;
}

static int setup(void **state)
{
    (void)state;
    block_kick();
    memset(&header, 0, sizeof(header));
    stopworld_init();
    stopworld_on_turn = NULL;
    while (threads_first())
        threads_free(threads_first());
    self = add(sys_gettid());
    return 0;
}

// Takes a kick of this thread out of the queue: its code, or 0 when there is none within `ms`.
static s32 take_kick(u64 ms)
{
    struct k_timespec wait = { 0, (s64)ms * 1000000 };
    struct k_siginfo info;
    u64 set = KICK;

    memset(&info, 0, sizeof(info));
    if (sys_call4(SYS_rt_sigtimedwait, (u64)&set, (u64)&info, (u64)&wait, 8) != STOP_KICK_SIGNAL)
        return 0;
    if (info.code == SI_QUEUE)
        assert_int_equal(info.pid, sys_getpid());
    assert_int_equal(info.value, STOP_KICK_MAGIC);
    return info.code;
}

// The second thread: as client code it counts up until it is kicked; then it does what the
// dispatcher does.
static struct thread *client;
static volatile u64 counted;
static volatile bool finish;

static int run_client(void *arg)
{
    (void)arg;
    block_kick();
    client->tid = sys_gettid();
    while (!finish) {
        __atomic_store_n(&client->state, TS_RUNNING, __ATOMIC_SEQ_CST);
        while (!take_kick(1) && !finish)
            counted++;
        __atomic_store_n(&client->state, TS_ENGINE, __ATOMIC_SEQ_CST);
        stopworld_park(client);
    }
    __atomic_store_n(&client->state, TS_DEAD, __ATOMIC_SEQ_CST);
    stopworld_left();
    return 0;
}

static void pause_ms(s64 ms)
{
    struct k_timespec t = { 0, ms * 1000000 };

    sys_call2(SYS_nanosleep, (u64)&t, 0);
}

static void wait_count(u64 more)
{
    u64 from = counted;

    while (counted < from + more)
        pause_ms(1);
}

static void test_stop(void **state)
{
    thrd_t thread;

    (void)state;
    client = add(0);
    client->tid = self->tid; // until it has set its own
    finish = false;
    thrd_create(&thread, run_client, NULL);
    block_kick();
    for (u32 i = 0; i < 20; i++) {
        wait_count(1);
        stopworld_stop(self);
        assert_int_equal(client->state, TS_PARKED);
        assert_true(client->stop & STOP_PARK);
        u64 at = counted;

        pause_ms(2);
        assert_int_equal(counted, at);
        stopworld_resume(self);
        assert_false(client->stop & STOP_PARK);
    }
    wait_count(1);
    finish = true;
    thrd_join(thread, NULL);
    stopworld_stop(self); // no other thread to wait for
    stopworld_resume(self);
}

// A thread that takes kicks and continues.
static u32 kicks;

static int run_deaf(void *arg)
{
    (void)arg;
    block_kick();
    client->tid = sys_gettid();
    while (kicks < 10 && take_kick(900))
        kicks++;
    __atomic_store_n(&client->state, TS_DEAD, __ATOMIC_SEQ_CST);
    stopworld_left();
    return 0;
}

// It is kicked in each of the first eight passes, then in those whose number is a power of two: the
// tenth kick is in the 16th pass. A pass takes a millisecond.
static void test_kicked_again(void **state)
{
    thrd_t thread;

    (void)state;
    kicks = 0;
    client = add(0);
    client->tid = self->tid;
    client->state = TS_ENGINE;
    thrd_create(&thread, run_deaf, NULL);
    block_kick();
    while (__atomic_load_n(&client->tid, __ATOMIC_SEQ_CST) == self->tid)
        pause_ms(1);
    __atomic_store_n(&client->state, TS_RUNNING, __ATOMIC_SEQ_CST);
    stopworld_stop(self);
    thrd_join(thread, NULL);
    assert_int_equal(kicks, 10);
    stopworld_resume(self);
}

// A thread in a system call, parked or dead is neither waited for nor kicked; one that was killed
// is removed from the list.
static void test_quiet(void **state)
{
    static const u32 quiet[] = { TS_IN_SYSCALL, TS_PARKED, TS_DEAD };
    struct thread *t[4];

    (void)state;
    for (u32 i = 0; i < 3; i++) {
        t[i] = add(self->tid);
        t[i]->state = quiet[i];
    }
    t[3] = add(gone);
    thread_own(t[3])->tgid = gone;
    t[3]->state = TS_RUNNING;
    assert_int_equal(threads_count(), 5);
    stopworld_stop(self);
    assert_int_equal(threads_count(), 4);
    for (u32 i = 0; i < 3; i++)
        assert_int_equal(t[i]->stop, STOP_PARK);
    assert_int_equal(self->stop, 0);
    assert_int_equal(take_kick(0), 0);
    stop_set(t[1], STOP_SIGNAL);
    stopworld_resume(self);
    assert_int_equal(t[0]->stop, 0);
    assert_int_equal(t[1]->stop, STOP_SIGNAL);
}

// Only a thread in client code or in a helper is sent the signal.
static void test_kick(void **state)
{
    static const struct {
        u32 state;
        s32 code;
    } cases[] = { { TS_ENGINE, 0 }, { TS_RUNNING, SI_QUEUE }, { TS_IN_SYSCALL, 0 },
                  { TS_PARKED, 0 }, { TS_HELPER, SI_QUEUE },  { TS_STEP, 0 } };

    (void)state;
    for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
        self->stop = 0;
        self->state = cases[i].state;
        stopworld_kick(self, STOP_SIGNAL);
        assert_int_equal(self->stop, STOP_SIGNAL);
        assert_int_equal(take_kick(0), cases[i].code);
    }
    self->state = TS_ENGINE;
}

static struct thread *turned;
static u32 turns;

static void on_turn(struct thread *t)
{
    turned = t;
    turns++;
}

static int take_turn(void *arg)
{
    struct thread *t = arg;

    t->tid = sys_gettid();
    stopworld_turn_take(t);
    stopworld_turn_give(t);
    __atomic_store_n(&t->state, TS_DEAD, __ATOMIC_SEQ_CST);
    return 0;
}

// --serialize-threads: one has the turn, the next one waits as in a system call and asks for it.
static void test_turns(void **state)
{
    thrd_t thread;

    (void)state;
    turns = 0;
    stopworld_on_turn = on_turn;
    stopworld_turn_take(self); // not serialized
    assert_int_equal(turns, 0);
    assert_false(thread_own(self)->has_turn);
    header.flags = SPOOL_F_SERIALIZE;
    stopworld_init();
    stopworld_turn_take(self);
    assert_int_equal(turns, 1);
    assert_ptr_equal(turned, self);
    stopworld_turn_take(self); // has it already
    assert_int_equal(turns, 1);

    client = add(self->tid);
    thrd_create(&thread, take_turn, client);
    block_kick();
    while (!(__atomic_load_n(&self->stop, __ATOMIC_SEQ_CST) & STOP_YIELD))
        pause_ms(1);
    assert_int_equal(client->state, TS_IN_SYSCALL);
    assert_int_equal(turns, 1);
    stopworld_park(self); // gives it up, and gets it back after the other
    thrd_join(thread, NULL);
    assert_int_equal(turns, 3);
    assert_ptr_equal(turned, self);
    assert_true(thread_own(self)->has_turn);
    assert_int_equal(self->stop, 0);
    stopworld_blocking_begin(self);
    assert_false(thread_own(self)->has_turn);
    assert_int_equal(self->state, TS_IN_SYSCALL);
    stopworld_blocking_end(self);
    assert_int_equal(self->state, TS_ENGINE);
    assert_int_equal(turns, 4);
    self->stop = STOP_PARK | STOP_YIELD | STOP_SIGNAL;
    stopworld_fork_child(self);
    assert_int_equal(self->stop, STOP_SIGNAL);
    assert_true(thread_own(self)->has_turn);
    stopworld_turn_give(self);
    stopworld_turn_take(self);
    assert_int_equal(turns, 5);
    stopworld_turn_give(self);
}

// --stress: below 4 ms by the wall clock; the timer is off during a system call of the client.
static void test_stress(void **state)
{
    (void)state;
    stress_start(self); // without the option
    assert_int_equal(thread_own(self)->stress, STRESS_OFF);
    header.stress_us = 2000;
    stress_start(self);
    assert_int_equal(thread_own(self)->stress, STRESS_RUNS);
    for (u32 i = 0; i < 3; i++)
        assert_int_equal(take_kick(900), SI_TIMER);
    stress_pause(self);
    assert_int_equal(thread_own(self)->stress, STRESS_PAUSED);
    take_kick(0); // one may have come before that
    assert_int_equal(take_kick(20), 0);
    stress_resume(self);
    assert_int_equal(take_kick(900), SI_TIMER);
    stress_pause(self);
    take_kick(0);
}

// From 4 ms on by the thread's own time: no kicks while it sleeps, and calls do not stop the timer.
static void test_stress_by_own_time(void **state)
{
    (void)state;
    header.stress_us = 4000;
    stress_start(self);
    stress_pause(self);
    assert_int_equal(thread_own(self)->stress, STRESS_RUNS);
    assert_int_equal(take_kick(50), 0);
    while (!take_kick(0))
        for (volatile u32 i = 0; i < 100000; i++)
            ;
    sys_call1(SYS_timer_delete, (u64)thread_own(self)->stress_timer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_stop, setup),
        cmocka_unit_test_setup(test_quiet, setup),
        cmocka_unit_test_setup(test_kicked_again, setup),
        cmocka_unit_test_setup(test_kick, setup),
        cmocka_unit_test_setup(test_turns, setup),
        cmocka_unit_test_setup(test_stress, setup),
        cmocka_unit_test_setup(test_stress_by_own_time, setup),
    };

    return cmocka_run_group_tests(tests, begin, NULL);
}
