// SPDX-License-Identifier: MIT
// engine/signal/action.c and deliver.c: the kernel's dispositions, read back from it; in which
// order, and with which mask, noted signals reach the client. Frames are only noted. No handler is
// ever entered: all signals are blocked, or are not sent.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/heap.h"
#include "engine/callgraph/calls.h"
#include "engine/codecache/gate.h"
#include "engine/signal/action.h"
#include "engine/signal/deliver.h"
#include "engine/signal/frame.h"
#include "engine/signal/mask.h"
#include "engine/spool/spooler.h"
#include "engine/thread/stopworld.h"
#include "engine/thread/stress.h"

static struct spool_header header;
struct spool_header *spool = &header;

// -- fakes of other files --

static struct {
    int signo, code;
    u64 mask, handler;
} framed[8];
static u32 built, parks, restores;
static int frame_error;

int frame_push(struct thread *t, const struct k_sigaction *act, const struct signal_pending *p,
               u64 mask)
{
    (void)t;
    if (frame_error)
        return frame_error;
    framed[built].signo = p->info.signo;
    framed[built].code = p->info.code;
    framed[built].mask = mask;
    framed[built++].handler = act->handler;
    return 0;
}

void *heap_alloc(u64 bytes)
{
    return calloc(1, bytes);
}

void heap_free(void *p, u64 bytes)
{
    (void)bytes;
    free(p);
}

void gate_args_restore(struct thread *t)
{
    t->sc_args[6] = 0;
    restores++;
}

void stopworld_park(struct thread *t)
{
    t->stop &= ~(STOP_PARK | STOP_YIELD);
    parks++;
}

void stopworld_turn_take(struct thread *t)
{
    (void)t;
}

void stress_resume(struct thread *t)
{
    (void)t;
}

bool threads_is_profiled(const struct thread *t)
{
    (void)t;
    return true;
}

void threads_lock(void) {}

void threads_unlock(void) {}

void calls_signal(struct thread *thread)
{
    (void)thread;
}

struct thread *threads_first(void)
{
    return NULL;
}

struct thread *threads_next_live(u32 *slot)
{
    (void)slot;
    return NULL;
}

// -- the test's side --

#define ENTRY    0x7e9000001000ul
#define RESTORER 0x7e9000002000ul
#define HANDLER  0x401000ul

static struct thread block, *const t = &block;
static struct thread_own own;
static struct signal_state sig, *const s = &sig;

// Dispositions and mask as at the start of a program.
static int fresh(void **state)
{
    struct k_sigaction dfl = { SIG_DFL, 0, 0, 0 };
    u64 none = 0;

    (void)state;
    for (int n = 1; n < SIGNAL_COUNT; n++)
        if (n != SIGKILL && n != SIGSTOP)
            sys_sigaction(n, &dfl, NULL);
    return (int)sys_sigprocmask(SIG_SETMASK, &none, NULL);
}

static int setup(void **state)
{
    (void)state;
    memset(&block, 0, sizeof(block));
    memset(&sig, 0, sizeof(sig));
    memset(&header, 0, sizeof(header));
    memset(framed, 0, sizeof(framed));
    built = parks = restores = 0;
    frame_error = 0;
    t->sig = s;
    t->own = &own;
    action_init(ENTRY, RESTORER);
    s->table = action_table_inherited();
    return 0;
}

static int end(void **state)
{
    action_table_drop(s->table);
    return fresh(state);
}

static struct k_sigaction kernels(int signo)
{
    struct k_sigaction act;

    assert_int_equal(sys_sigaction(signo, NULL, &act), 0);
    return act;
}

static void change(int signo, u64 handler, u64 flags, u64 mask)
{
    struct k_sigaction act = { handler, flags, 0x402000, mask }, before;

    action_change(s->table, signo, &act, &before);
}

static void test_defaults(void **state)
{
    static const struct {
        int signo;
        enum action_default what;
    } cases[] = { { SIGTERM, SIGNAL_DEFAULT_END },     { SIGCHLD, SIGNAL_DEFAULT_IGNORE },
                  { SIGCONT, SIGNAL_DEFAULT_IGNORE },  { SIGURG, SIGNAL_DEFAULT_IGNORE },
                  { SIGWINCH, SIGNAL_DEFAULT_IGNORE }, { SIGTSTP, SIGNAL_DEFAULT_STOP },
                  { SIGTTIN, SIGNAL_DEFAULT_STOP },    { SIGTTOU, SIGNAL_DEFAULT_STOP },
                  { 64, SIGNAL_DEFAULT_END },          { SIGQUIT, SIGNAL_DEFAULT_END } };

    (void)state;
    for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
        struct k_sigaction act = kernels(cases[i].signo);

        assert_int_equal(action_default(cases[i].signo), cases[i].what);
        // Where the default would end the process, the engine has a handler: it writes a profile.
        assert_int_equal(act.handler, cases[i].what == SIGNAL_DEFAULT_END ? ENTRY : SIG_DFL);
    }
}

static void test_kernel_follows(void **state)
{
    struct k_sigaction act, before;

    (void)state;
    change(SIGUSR1, HANDLER, SA_RESTART | SA_NODEFER | SA_RESETHAND, 1);
    act = kernels(SIGUSR1);
    assert_int_equal(act.handler, ENTRY);
    assert_int_equal(act.restorer, RESTORER);
    assert_int_equal(act.flags, SA_RESTORER | SA_SIGINFO | SA_ONSTACK | SA_RESTART);
    assert_int_equal(act.mask, SIGNAL_ALL_BUT_SYNC & ~(1ul << 8 | 1ul << 18));
    change(SIGUSR1, HANDLER, 0, 0); // calls have to fail with EINTR
    assert_int_equal(kernels(SIGUSR1).flags, SA_RESTORER | SA_SIGINFO | SA_ONSTACK);
    change(SIGUSR1, SIG_IGN, 0, 0);
    assert_int_equal(kernels(SIGUSR1).handler, SIG_IGN);
    change(SIGUSR1, SIG_DFL, 0, 0); // the engine's handler must not end a call of the client
    assert_int_equal(kernels(SIGUSR1).handler, ENTRY);
    assert_true(kernels(SIGUSR1).flags & SA_RESTART);
    change(SIGCHLD, HANDLER, SA_NOCLDSTOP | SA_NOCLDWAIT, 0);
    assert_int_equal(kernels(SIGCHLD).flags,
                     SA_RESTORER | SA_SIGINFO | SA_ONSTACK | SA_NOCLDSTOP | SA_NOCLDWAIT);
    change(SIGSEGV, SIG_IGN, 0, 0); // the engine needs it for its own faults
    assert_int_equal(kernels(SIGSEGV).handler, ENTRY);
    action_table_ignore(s->table, true); // before an exec
    assert_int_equal(kernels(SIGSEGV).handler, SIG_IGN);
    action_table_ignore(s->table, false);
    assert_int_equal(kernels(SIGSEGV).handler, ENTRY);
    action_change(s->table, SIGCHLD, NULL, &before);
    assert_int_equal(before.handler, HANDLER);
    assert_int_equal(kernels(SIGCHLD).handler, ENTRY);
}

static void test_tables(void **state)
{
    struct signal_table *copy;

    (void)state;
    change(SIGUSR1, HANDLER, SA_RESETHAND, 0);
    change(SIGUSR2, SIG_IGN, 0, 0);
    copy = action_table_copy(s->table);
    assert_false(kernels(SIGUSR1).flags & SA_RESTART);
    assert_int_equal(action_table_get(s, SIGUSR1).handler, HANDLER);
    assert_true(kernels(SIGUSR1).flags & SA_RESTART);                // as without a handler
    assert_int_equal(action_table_get(s, SIGUSR1).handler, SIG_DFL); // it was for one delivery
    assert_int_equal(copy->act[SIGUSR1].handler, HANDLER);
    action_table_reset(copy); // CLONE_CLEAR_SIGHAND
    assert_int_equal(copy->act[SIGUSR1].handler, SIG_DFL);
    assert_int_equal(copy->act[SIGUSR2].handler, SIG_IGN);
    action_table_drop(copy);
    action_table_drop(s->table);
    s->table = action_table_inherited(); // over an exec "ignore" survives
    assert_int_equal(s->table->act[SIGUSR2].handler, SIG_IGN);
    assert_int_equal(s->table->act[SIGUSR1].handler, SIG_DFL);
}

static void note(struct signal_pending *p, int signo)
{
    struct k_siginfo info;

    memset(&info, 0, sizeof(info));
    info.signo = signo;
    info.code = SI_QUEUE;
    mask_note(s, p, &info);
    stop_set(t, STOP_SIGNAL);
}

// The synchronous signal first, then the other; held ones last. The first handler's mask contains
// what the client blocked; the second's also what the first added.
static void test_order(void **state)
{
    struct k_siginfo held = { .signo = 33, .code = SI_QUEUE };

    (void)state;
    s->mask = SIGBIT(SIGHUP);
    change(SIGSEGV, HANDLER, 0, SIGBIT(SIGINT) | SIGBIT(SIGKILL));
    change(SIGUSR1, HANDLER + 1, SA_NODEFER, 0);
    change(33, HANDLER + 2, 0, 0);
    note(&s->sync, SIGSEGV);
    note(&s->async, SIGUSR1);
    mask_hold(s, &held);
    t->stop |= STOP_PARK;
    t->sc_args[6] = 1;
    s->temp_mask_set = true;
    assert_int_equal(deliver_pending(t), 0);
    assert_int_equal(built, 3);
    assert_int_equal(framed[0].signo, SIGSEGV);
    assert_int_equal(framed[0].mask, SIGBIT(SIGHUP));
    assert_int_equal(framed[1].handler, HANDLER + 1);
    assert_int_equal(framed[1].mask, SIGBIT(SIGHUP) | SIGBIT(SIGINT) | SIGBIT(SIGSEGV));
    assert_int_equal(framed[2].signo, 33);
    assert_int_equal(s->mask, SIGBIT(SIGHUP) | SIGBIT(SIGINT) | SIGBIT(SIGSEGV) | SIGBIT(33));
    assert_int_equal(header.n_signals, 3);
    assert_int_equal(parks, 1);
    assert_int_equal(restores, 1);
    assert_false(s->temp_mask_set);
    assert_int_equal(t->stop, 0);
    assert_false(s->blocked);
}

static void hold(int signo)
{
    struct k_siginfo held = { .signo = signo, .code = SI_USER };

    mask_hold(s, &held);
}

static void assert_framed(u32 count, const int *signos)
{
    assert_int_equal(built, count);
    for (u32 i = 0; i < count; i++)
        assert_int_equal(framed[i].signo, signos[i]);
    built = 0;
}

// Of several that are pending at once the kernel delivers SIGNAL_SYNC first, the lowest number
// first (kernel/signal.c, next_signal()).
static void test_order_of_kernel(void **state)
{
    static const int all[] = { SIGTRAP, SIGFPE, SIGSEGV, SIGSYS, SIGALRM };

    (void)state;
    for (u32 i = 0; i < ARRAY_SIZE(all); i++)
        change(all[i], HANDLER, SA_NODEFER, 0);
    note(&s->async, SIGALRM);
    hold(SIGSYS);
    hold(SIGTRAP);
    assert_int_equal(deliver_pending(t), 0);
    assert_framed(3, (int[]){ SIGTRAP, SIGSYS, SIGALRM });
    note(&s->async, SIGSEGV);
    hold(SIGSYS);
    hold(SIGFPE);
    assert_int_equal(deliver_pending(t), 0);
    assert_framed(3, (int[]){ SIGFPE, SIGSEGV, SIGSYS });
    // a signal that ended a call with a mask of its own comes first
    note(&s->async, SIGSYS);
    s->async.use_temp_mask = true;
    hold(SIGTRAP);
    assert_int_equal(deliver_pending(t), 0);
    assert_framed(2, (int[]){ SIGSYS, SIGTRAP });
    // A process that dies of the first does not see the others.
    change(SIGTRAP, SIG_DFL, 0, 0);
    note(&s->async, SIGALRM);
    hold(SIGTRAP);
    assert_int_equal(deliver_pending(t), SIGTRAP);
    assert_framed(0, NULL);
}

// sigsuspend: the handler starts with the call's mask, and returns to the client's.
static void test_suspend(void **state)
{
    (void)state;
    s->mask = SIGBIT(SIGUSR1);
    s->temp_mask = SIGBIT(SIGHUP);
    change(SIGUSR1, HANDLER, 0, 0);
    note(&s->async, SIGUSR1);
    s->async.use_temp_mask = true;
    assert_int_equal(deliver_pending(t), 0);
    assert_int_equal(framed[0].mask, SIGBIT(SIGUSR1));
    assert_int_equal(s->mask, SIGBIT(SIGHUP) | SIGBIT(SIGUSR1));
}

// Blocked after it was noted: it is returned to the kernel.
static void test_blocked_since(void **state)
{
    u64 pending;

    (void)state;
    change(SIGUSR1, HANDLER, 0, 0);
    note(&s->async, SIGUSR1);
    s->mask = SIGBIT(SIGUSR1);
    assert_int_equal(deliver_pending(t), 0);
    assert_int_equal(built, 0);
    assert_int_equal(sys_call2(SYS_rt_sigpending, (u64)&pending, 8), 0);
    assert_int_equal(pending, SIGBIT(SIGUSR1));
    change(SIGUSR1, SIG_IGN, 0, 0); // and drops it
}

// What the process dies of.
static void test_fatal(void **state)
{
    (void)state;
    note(&s->async, SIGTERM);
    assert_int_equal(deliver_pending(t), SIGTERM);
    assert_int_equal(s->fatal.code, SI_QUEUE);
    change(SIGSEGV, HANDLER, 0, 0);
    s->mask = SIGBIT(SIGSEGV); // a fault while SIGSEGV is blocked
    note(&s->sync, SIGSEGV);
    assert_int_equal(deliver_pending(t), SIGSEGV);
    s->mask = 0;
    change(SIGBUS, SIG_IGN, 0, 0); // or ignored
    note(&s->sync, SIGBUS);
    assert_int_equal(deliver_pending(t), SIGBUS);
    assert_int_equal(built, 0);
    note(&s->async, SIGBUS); // if it was sent it may be ignored
    assert_int_equal(deliver_pending(t), 0);
    change(SIGUSR1, HANDLER, 0, 0);
    frame_error = -EFAULT; // no space for the frame, nor for SIGSEGV's
    note(&s->async, SIGUSR1);
    assert_int_equal(deliver_pending(t), SIGSEGV);
    assert_int_equal(s->fatal.code, SI_KERNEL);
}

static void test_nothing(void **state)
{
    (void)state;
    note(&s->async, SIGUSR1);
    t->stop = 0; // STOP_SIGNAL is not set
    assert_int_equal(deliver_pending(t), 0);
    assert_true(s->async.full);
    s->async.full = false;
    deliver_fault(t, SIGSEGV, SEGV_MAPERR, 0x1234, 14, 6);
    assert_int_equal(t->stop, STOP_SIGNAL);
    assert_int_equal(s->sync.info.addr, 0x1234);
    assert_int_equal(s->sync.cr2, 0x1234);
    assert_int_equal(s->sync.err, 6);
    deliver_fault(t, SIGSEGV, SI_KERNEL, 0, 13, 0); // not a page fault
    assert_int_equal(s->sync.cr2, 0x1234);
    assert_int_equal(s->sync.trapno, 13);
    deliver_fault(t, SIGSEGV, SI_KERNEL, 0, 14, 0x15);
    assert_int_equal(s->sync.cr2, 0x1234);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_defaults, setup, end),
        cmocka_unit_test_setup_teardown(test_kernel_follows, setup, end),
        cmocka_unit_test_setup_teardown(test_tables, setup, end),
        cmocka_unit_test_setup_teardown(test_order, setup, end),
        cmocka_unit_test_setup_teardown(test_order_of_kernel, setup, end),
        cmocka_unit_test_setup_teardown(test_suspend, setup, end),
        cmocka_unit_test_setup_teardown(test_blocked_since, setup, end),
        cmocka_unit_test_setup_teardown(test_fatal, setup, end),
        cmocka_unit_test_setup_teardown(test_nothing, setup, end),
    };

    // The caller of this program may ignore signals: a shell does so for background jobs.
    return cmocka_run_group_tests(tests, fresh, NULL);
}
