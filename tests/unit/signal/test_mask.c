// SPDX-License-Identifier: MIT
// engine/signal/mask.c: the kernel's mask and the client's, and the signals that only the engine
// blocks. The kernel's mask and queue are read back. No handler runs: every signal that is sent is
// blocked.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/signal/action.h"
#include "engine/signal/common.h"
#include "engine/signal/mask.h"
#include "engine/thread/threads.h"

// -- fakes of other files --

static struct thread block[3];
static struct thread_own own[3];
static struct signal_state sig[3];
static struct signal_table table;
static u32 listed; // threads in the list
static int ignoring;
static bool profiled;

void action_table_ignore(struct signal_table *of, bool ignore)
{
    assert_ptr_equal(of, &table);
    ignoring = ignore;
}

bool threads_is_profiled(const struct thread *t)
{
    (void)t;
    return profiled;
}

void threads_lock(void) {}

void threads_unlock(void) {}

struct thread *threads_first(void)
{
    return listed ? &block[0] : NULL;
}

struct thread *threads_next_live(u32 *slot)
{
    return *slot < listed ? &block[(*slot)++] : NULL;
}

// -- the test's side --

#define TERM SIGBIT(SIGTERM)
#define USR  SIGBIT(SIGUSR1)
#define SEGV SIGBIT(SIGSEGV)

static struct thread *const t = &block[0];
static struct signal_state *const s = &sig[0];
static u64 first_mask;

static u64 kernel_mask(void)
{
    u64 mask;

    sys_sigprocmask(SIG_BLOCK, NULL, &mask);
    return mask;
}

static int begin(void **state)
{
    (void)state;
    first_mask = kernel_mask();
    return 0;
}

static int setup(void **state)
{
    (void)state;
    memset(block, 0, sizeof(block));
    memset(own, 0, sizeof(own));
    memset(sig, 0, sizeof(sig));
    common_forget(0);
    listed = 1;
    ignoring = -1;
    profiled = true;
    for (u32 i = 0; i < 3; i++) {
        block[i].own = &own[i];
        block[i].sig = &sig[i];
        block[i].next = i < 2 ? &block[i + 1] : NULL;
        sig[i].table = &table;
        own[i].tgid = sys_getpid();
    }
    return 0;
}

static int end(void **state)
{
    (void)state;
    return (int)sys_sigprocmask(SIG_SETMASK, &first_mask, NULL);
}

static struct k_siginfo info(int signo, u64 value)
{
    struct k_siginfo i;

    memset(&i, 0, sizeof(i));
    i.signo = signo;
    i.code = SI_QUEUE;
    i.value = value;
    return i;
}

static void test_open_and_closed(void **state)
{
    (void)state;
    s->mask = USR | SEGV; // the client may block signals that the kernel never does
    mask_close(t);
    assert_true(s->blocked);
    assert_int_equal(t->stop, STOP_SIGNAL);
    // All but SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV and SIGSYS; KILL and STOP cannot be blocked.
    assert_int_equal(kernel_mask(), ~(1ul << 3 | 1ul << 4 | 1ul << 6 | 1ul << 7 | 1ul << 10 |
                                      1ul << 30 | 1ul << 8 | 1ul << 18));
    s->full_mask = true;
    mask_open(t);
    assert_false(s->blocked);
    assert_false(s->full_mask);
    assert_int_equal(kernel_mask(), USR);
}

static void test_set(void **state)
{
    struct k_siginfo i = info(SIGSEGV, 1);

    (void)state;
    mask_open(t);
    assert_true(mask_set(t, TERM | SEGV));
    assert_int_equal(s->mask, TERM | SEGV);
    assert_int_equal(kernel_mask(), TERM);
    mask_hold(s, &i);
    assert_true(mask_set(t, USR | SEGV));
    assert_int_equal(t->stop, 0); // the held signal is still blocked
    assert_true(mask_set(t, USR));
    assert_int_equal(t->stop, STOP_SIGNAL);
    assert_int_equal(kernel_mask(), USR);
    t->stop = 0;
    s->blocked = true; // closed: the next delivery sets the new mask
    assert_true(mask_set(t, TERM));
    assert_int_equal(s->mask, TERM);
    assert_int_equal(kernel_mask(), USR);
    assert_int_equal(t->stop, 0);
    // A signal that arrived before the call is delivered before it.
    s->blocked = false;
    i = info(SIGUSR2, 1);
    mask_note(s, &s->async, &i);
    assert_false(mask_set(t, 0));
    assert_false(mask_set(t, TERM));
    assert_int_equal(s->mask, TERM);
    assert_int_equal(kernel_mask(), USR);
}

// Ordinary signals do not queue, others do, up to 32; the lowest number is taken first, of one
// number the oldest.
static void test_held(void **state)
{
    static const struct {
        int signo;
        u64 value;
    } in[] = { { 33, 1 }, { SIGSEGV, 2 }, { 33, 3 }, { SIGSEGV, 4 }, { SIGBUS, 5 } };
    static const struct {
        int signo;
        u64 value;
    } out[] = { { SIGBUS, 5 }, { SIGSEGV, 2 }, { 33, 1 }, { 33, 3 } };
    struct k_siginfo i, got;

    (void)state;
    for (u32 k = 0; k < ARRAY_SIZE(in); k++) {
        i = info(in[k].signo, in[k].value);
        mask_hold(s, &i);
    }
    assert_int_equal(s->held_count, 4);
    assert_int_equal(mask_take_held(t, TERM, &got), 0);
    assert_true(s->blocked);
    for (u32 k = 0; k < ARRAY_SIZE(out); k++) {
        u64 none = 0; // in any case: afterwards only faults arrive

        sys_sigprocmask(SIG_SETMASK, &none, NULL);
        assert_int_equal(mask_take_held(t, ~0ul, &got), out[k].signo);
        assert_true(kernel_mask() ==
                    (SIGNAL_ALL_BUT_SYNC & ~(SIGBIT(9) | SIGBIT(19)))); // KILL, STOP
        assert_int_equal(got.value, out[k].value);
    }
    assert_int_equal(mask_take_held(t, ~0ul, &got), 0);
    for (u32 k = 0; k < 40; k++) {
        i = info(33, k);
        mask_hold(s, &i);
    }
    assert_int_equal(s->held_count, 32);
    assert_int_equal(s->held[31].value, 31);
}

// Signals that were sent to the process may be in the list or stored for all threads: the lowest
// first in any case. Those sent to the thread only (SI_TKILL) come before them.
static void test_held_in_two_places(void **state)
{
    static const int lowest[] = { SIGTRAP, SIGFPE, SIGSEGV };
    struct k_siginfo i, got;

    (void)state;
    mask_close(t);
    s->mask = ~0ul;
    for (s32 code = SI_USER; code >= SI_TKILL; code += SI_TKILL - SI_USER) {
        i = info(SIGSEGV, 0);
        i.code = code;
        mask_hold(s, &i);
        i.code = SI_USER;
        i.signo = SIGFPE;
        assert_true(mask_give_back(t, &i));
        i.signo = SIGTRAP;
        assert_true(mask_give_back(t, &i));
        for (u32 k = 0; k < 3; k++)
            assert_int_equal(mask_take_held(t, ~0ul, &got),
                             lowest[code == SI_USER ? k : (k + 2) % 3]);
        assert_int_equal(mask_take_held(t, ~0ul, &got), 0);
    }
}

static void test_noted(void **state)
{
    struct k_siginfo i = info(SIGUSR1, 7);

    (void)state;
    assert_false(mask_is_due(t));
    s->last_trapno = 14;
    s->last_err = 6;
    s->last_cr2 = 0x1234;
    s->async.use_temp_mask = true;
    mask_note(s, &s->async, &i);
    assert_true(s->async.full);
    assert_false(s->async.use_temp_mask);
    assert_int_equal(s->async.trapno, 14);
    assert_int_equal(s->async.err, 6);
    assert_int_equal(s->async.cr2, 0x1234);
    assert_int_equal(s->async.info.value, 7);
    assert_true(mask_is_due(t));
    s->async.full = false;
    i = info(SIGSEGV, 1);
    mask_hold(s, &i);
    assert_true(mask_is_due(t));
    s->mask = SEGV;
    assert_false(mask_is_due(t));
    mask_note_held(t, &i);
    assert_true(s->blocked && s->async.full && s->async.use_temp_mask);
    // of another thread of the process
    listed = 3;
    assert_false(mask_any_noted(t));
    assert_true(mask_any_noted(&block[1]));
    own[0].tgid++;
    assert_false(mask_any_noted(&block[1]));
}

// Takes signal `signo` of this thread from the kernel: its code.
static s32 take(int signo, struct k_siginfo *i)
{
    struct k_timespec none = { 0, 0 };
    u64 set = SIGBIT(signo);

    memset(i, 0, sizeof(*i));
    sys_call4(SYS_rt_sigtimedwait, (u64)&set, (u64)i, (u64)&none, 8);
    return i->code;
}

// A signal of kill() goes to another thread that lets it in; here that has this thread's id, so the
// test can read the kernel's queue. Otherwise the signal is stored for the process.
static void test_give_back(void **state)
{
    struct k_siginfo i = info(SIGUSR1, 0), got;
    s32 pid = sys_getpid();

    (void)state;
    mask_close(t);
    listed = 3;
    own[1].tgid++; // another process in shared memory
    block[1].tid = block[2].tid = sys_gettid();
    i.code = SI_USER;
    i.pid = 77;
    s->mask = sig[2].mask = USR;
    assert_int_equal(mask_held(t), 0);
    assert_true(mask_give_back(t, &i)); // no thread lets it in
    assert_int_equal(take(SIGUSR1, &got), 0);
    assert_int_equal(mask_held(t), USR);
    assert_int_equal(common_pending(pid), USR);
    assert_int_equal(common_pending(pid + 1), 0);
    assert_false(mask_is_due(t));
    s->mask = 0;
    assert_true(mask_is_due(t));
    assert_int_equal(mask_take_held(t, USR, &got), SIGUSR1);
    assert_int_equal(got.pid, 77);
    assert_int_equal(mask_held(t), 0);
    sig[2].mask = 0;
    assert_true(mask_give_back(t, &i));
    assert_int_equal(take(SIGUSR1, &got), MASK_GIVEN_AWAY);
    assert_int_equal(got.pid, 77);
    // Also to a thread that waits for it, by a call that lets it in or takes it.
    sig[2].mask = USR;
    s->mask = USR;
    sig[2].awaited = USR;
    assert_true(mask_give_back(t, &i));
    assert_int_equal(take(SIGUSR1, &got), MASK_GIVEN_AWAY);
    sig[2].awaited = TERM;
    sig[2].temp_mask = ~USR;
    sig[2].temp_mask_set = true;
    assert_true(mask_give_back(t, &i));
    assert_int_equal(take(SIGUSR1, &got), MASK_GIVEN_AWAY);
    sig[2].temp_mask = USR;
    assert_true(mask_give_back(t, &i));
    assert_int_equal(take(SIGUSR1, &got), 0);
    assert_int_equal(common_take(pid, USR, &got), SIGUSR1);
    sig[2].temp_mask_set = false;
    sig[2].mask = s->mask = 0;
    own[2].exiting = true;
    // Where the table is full, this thread has to hold it.
    struct k_siginfo other = info(34, 0);
    while (common_put(pid + 1, &other))
        ;
    assert_false(mask_give_back(t, &i));
    assert_int_equal(common_pending(pid), 0);
    while (common_take(pid + 1, ~0ul, &got))
        ;
    assert_true(mask_give_back(t, &i));
    assert_int_equal(take(SIGUSR1, &got), 0);
    assert_int_equal(common_take(pid, USR, &got), SIGUSR1);
    own[2].exiting = false;
    i.code = SI_QUEUE; // sent to this thread only
    assert_false(mask_give_back(t, &i));
    assert_int_equal(take(SIGUSR1, &got), 0);
    assert_int_equal(mask_held(t), 0);
    // At its exit a thread passes on the signals that it holds for the process.
    mask_hold(s, &i);
    i = info(33, 0);
    i.code = SI_USER;
    mask_hold(s, &i);
    mask_pass_on(t);
    assert_int_equal(s->held_count, 0);
    assert_int_equal(take(33, &got), MASK_GIVEN_AWAY);
    assert_int_equal(take(SIGUSR1, &got), 0);
    assert_int_equal(mask_held(t), 0);
    // Also those of SIGNAL_NEVER_BLOCKED that are in the kernel's queue.
    i = info(SIGSEGV, 0);
    i.code = MASK_GIVEN_AWAY;
    sys_call2(SYS_tkill, (u64)sys_gettid(), SIGCONT); // blocked: stays in the queue
    assert_int_equal(sys_sigprocmask(SIG_SETMASK, &(u64){ ~0ul }, NULL), 0);
    assert_int_equal(
        sys_call4(SYS_rt_tgsigqueueinfo, (u64)sys_getpid(), (u64)sys_gettid(), SIGSEGV, (u64)&i),
        0);
    mask_pass_on(t);
    assert_int_equal(s->held_count, 0);
    assert_int_equal(take(SIGSEGV, &got), MASK_GIVEN_AWAY);
    assert_int_equal(take(SIGCONT, &got), SI_TKILL);
}

// Bits of /proc/self/status: signals pending for the process, not for one thread.
static u64 shared_pending(void)
{
    char line[80];
    u64 bits = 0;
    FILE *f = fopen("/proc/self/status", "r");

    assert_non_null(f);
    while (fgets(line, sizeof(line), f))
        if (strncmp(line, "ShdPnd:", 7) == 0)
            bits = strtoul(line + 7, NULL, 16);
    fclose(f);
    return bits;
}

static void test_requeue(void **state)
{
    struct k_siginfo i = info(SIGUSR1, 0x5555), got;

    (void)state;
    mask_close(t);
    mask_requeue(t, &i);
    assert_int_equal(take(SIGUSR1, &got), SI_QUEUE);
    assert_int_equal(got.value, 0x5555);
    // A signal that was sent to the process is pending for the process again: another thread sees
    // it.
    i = info(SIGUSR1, 0);
    i.code = SI_USER;
    i.pid = 1;
    mask_requeue(t, &i);
    i.pid = sys_getpid(); // may be this thread's own SIGPIPE
    i.signo = SIGUSR2;
    mask_requeue(t, &i);
    assert_int_equal(shared_pending() & (USR | SIGBIT(SIGUSR2)), USR);
    assert_int_equal(take(SIGUSR1, &got), MASK_GIVEN_AWAY);
    assert_int_equal(take(SIGUSR2, &got), SI_USER);
    i.signo = SIGSEGV; // the kernel would not queue it
    i.value = 0x5555;
    mask_requeue(t, &i);
    assert_int_equal(s->held_count, 1);
    assert_int_equal(s->held[0].value, 0x5555);
}

static void test_exec(void **state)
{
    struct k_siginfo i = info(SIGUSR1, 0);
    u64 mask = 0;

    (void)state;
    s->mask = USR | SIGBIT(33);
    mask_note(s, &s->async, &i);
    assert_false(mask_restore_for_exec(t)); // the noted signal has to be delivered first
    assert_true(s->blocked);
    s->async.full = false;
    assert_true(mask_restore_for_exec(t));
    assert_int_equal(kernel_mask(), USR | SIGBIT(33)); // all of the client's
    assert_int_equal(ignoring, true);
    assert_int_equal(t->stop, 0);
    assert_int_equal(t->state, TS_ENGINE);
    mask_exec_failed(t);
    assert_int_equal(ignoring, false);
    assert_int_equal(t->stop, STOP_SIGNAL); // the mask has to become the engine's again
    profiled = false;
    assert_true(mask_close_for_exec(t, &mask));
    assert_int_equal(mask, USR | SIGBIT(33));
    assert_int_equal(t->state, TS_IN_SYSCALL); // counts as parked
    assert_int_equal(t->stop, 0);
    mask_exec_failed(t);
    assert_int_equal(t->state, TS_ENGINE);
    own[0].borrowed = true; // a vfork child borrows its parent's block
    assert_true(mask_restore_for_exec(t));
    assert_int_equal(t->state, TS_ENGINE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_open_and_closed, setup, end),
        cmocka_unit_test_setup_teardown(test_set, setup, end),
        cmocka_unit_test_setup_teardown(test_held, setup, end),
        cmocka_unit_test_setup_teardown(test_held_in_two_places, setup, end),
        cmocka_unit_test_setup_teardown(test_noted, setup, end),
        cmocka_unit_test_setup_teardown(test_give_back, setup, end),
        cmocka_unit_test_setup_teardown(test_requeue, setup, end),
        cmocka_unit_test_setup_teardown(test_exec, setup, end),
    };

    return cmocka_run_group_tests(tests, begin, NULL);
}
