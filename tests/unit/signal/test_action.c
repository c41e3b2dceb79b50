// SPDX-License-Identifier: MIT
// engine/signal/action.c: the kernel's dispositions for the client's actions, read back from the
// kernel. No signal is sent: the entry address is not mapped.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/sys.h"
#include "engine/signal/action.h"
#include "tests/unit/thread/waiter.h"

#define ENTRY    0x111000ul
#define RESTORER 0x222000ul
#define HANDLER  0x333000ul
#define USER1    10 // SIGUSR1
#define USER2    12 // SIGUSR2

// The engine's own entry, whatever the client's flags.
#define OURS (SA_RESTORER | SA_SIGINFO | SA_ONSTACK)

static struct signal_table table;
static struct signal_state signals = { .table = &table };

static int setup(void **state)
{
    (void)state;
    memset(&table, 0, sizeof(table));
    action_init(ENTRY, RESTORER);
    return 0;
}

static int teardown(void **state)
{
    struct k_sigaction dfl = { SIG_DFL, 0, 0, 0 };

    (void)state;
    for (int sig = 1; sig < SIGNAL_COUNT; sig++)
        sys_sigaction(sig, &dfl, NULL);
    return 0;
}

static struct k_sigaction told(int sig)
{
    struct k_sigaction k;

    assert_int_equal(sys_sigaction(sig, NULL, &k), 0);
    return k;
}

static struct k_sigaction change(int sig, u64 handler, u64 flags)
{
    struct k_sigaction act = { .handler = handler, .flags = flags }, before;

    action_change(&table, sig, &act, &before);
    return before;
}

static void test_handler(void **state)
{
    struct k_sigaction k, before;

    (void)state;
    assert_true(change(USER1, HANDLER, SA_NODEFER).handler == SIG_DFL);
    k = told(USER1);
    assert_true(k.handler == ENTRY && k.flags == OURS && k.restorer == RESTORER);
    // All but the synchronous signals; the kernel takes out the two that cannot be blocked.
    assert_true(k.mask == (SIGNAL_ALL_BUT_SYNC & ~(SIGBIT(SIGKILL) | SIGBIT(SIGSTOP))));
    before = change(USER1, HANDLER + 1, SA_RESTART | SA_NOCLDSTOP);
    assert_true(before.handler == HANDLER && before.flags == SA_NODEFER);
    assert_true(told(USER1).flags == (OURS | SA_RESTART | SA_NOCLDSTOP));
    action_change(&table, USER1, NULL, &before);
    assert_true(before.handler == HANDLER + 1 && told(USER1).handler == ENTRY);
}

static void test_without_a_handler(void **state)
{
    (void)state;
    // Signals that end the process or are synchronous go to the engine and restart system calls.
    change(USER1, SIG_DFL, 0);
    assert_true(told(USER1).handler == ENTRY && told(USER1).flags == (OURS | SA_RESTART));
    change(SIGSEGV, SIG_IGN, 0);
    assert_true(told(SIGSEGV).handler == ENTRY);
    assert_true(told(SIGSEGV).flags == (OURS | SA_RESTART | SA_NODEFER)); // a handler may fault
    // The others keep the client's disposition.
    change(USER1, SIG_IGN, SA_RESTART);
    assert_true(told(USER1).handler == SIG_IGN && told(USER1).flags == SA_RESTORER);
    change(SIGCHLD, SIG_DFL, SA_NOCLDWAIT | SA_NODEFER);
    assert_true(told(SIGCHLD).handler == SIG_DFL);
    assert_true(told(SIGCHLD).flags == (SA_RESTORER | SA_NOCLDWAIT));
    change(SIGTSTP, SIG_DFL, 0);
    assert_true(told(SIGTSTP).handler == SIG_DFL);
    change(SIGTSTP, HANDLER, 0);
    assert_true(told(SIGTSTP).handler == ENTRY);
}

static void test_defaults(void **state)
{
    static const int ignored[] = { SIGCHLD, SIGCONT, SIGURG, SIGWINCH };
    static const int stops[] = { SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU };
    u64 special = 0;

    (void)state;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(action_default(ignored[i]), SIGNAL_DEFAULT_IGNORE);
        assert_int_equal(action_default(stops[i]), SIGNAL_DEFAULT_STOP);
        special |= SIGBIT(ignored[i]) | SIGBIT(stops[i]);
    }
    for (int sig = 1; sig < SIGNAL_COUNT; sig++)
        if (!(SIGBIT(sig) & special))
            assert_int_equal(action_default(sig), SIGNAL_DEFAULT_END);
}

// SA_RESETHAND is for one delivery; without it, or without a handler, nothing changes.
static void test_delivered(void **state)
{
    struct k_sigaction act;

    (void)state;
    change(USER1, HANDLER, SA_RESTART);
    act = action_table_get(&signals, USER1);
    assert_true(act.handler == HANDLER && act.flags == SA_RESTART);
    assert_true(table.act[USER1].handler == HANDLER);
    change(USER1, HANDLER, SA_RESETHAND);
    act = action_table_get(&signals, USER1);
    assert_true(act.handler == HANDLER && act.flags == SA_RESETHAND);
    assert_true(table.act[USER1].handler == SIG_DFL);
    assert_true(told(USER1).flags == (OURS | SA_RESTART)); // as without a handler
    change(USER2, SIG_IGN, SA_RESETHAND);
    act = action_table_get(&signals, USER2);
    assert_true(act.handler == SIG_IGN && table.act[USER2].handler == SIG_IGN);
    assert_true(told(USER2).handler == SIG_IGN);
}

// For an exec the kernel ignores what the client ignores, also the engine's signals; and back.
static void test_for_an_exec(void **state)
{
    (void)state;
    change(SIGSEGV, SIG_IGN, 0);
    change(SIGBUS, HANDLER, 0);
    action_table_ignore(&table, true);
    assert_true(told(SIGSEGV).handler == SIG_IGN && told(SIGBUS).handler == ENTRY);
    action_table_ignore(&table, false);
    assert_true(told(SIGSEGV).handler == ENTRY && told(SIGBUS).handler == ENTRY);
    assert_true(table.act[SIGSEGV].handler == SIG_IGN);
}

static void test_reset(void **state)
{
    (void)state;
    change(USER1, HANDLER, SA_NODEFER);
    change(USER2, SIG_IGN, 0);
    action_table_reset(&table);
    assert_true(table.act[USER1].handler == SIG_DFL && table.act[USER1].flags == 0);
    assert_true(table.act[USER2].handler == SIG_IGN);
    assert_true(told(USER1).handler == ENTRY && told(USER2).handler == SIG_IGN);
    assert_true(told(SIGSEGV).handler == ENTRY && told(SIGCHLD).handler == SIG_DFL);
}

// After an exec ignored signals stay ignored, all others are default. A copy is independent.
static void test_inherited(void **state)
{
    struct k_sigaction ign = { SIG_IGN, 0, 0, 0 };

    (void)state;
    assert_int_equal(sys_sigaction(USER2, &ign, NULL), 0);
    struct signal_table *t = action_table_inherited();
    assert_int_equal(t->refs, 1);
    assert_true(t->act[USER2].handler == SIG_IGN && t->act[USER1].handler == SIG_DFL);
    assert_true(told(USER2).handler == SIG_IGN && told(USER1).handler == ENTRY);
    t->act[USER1].handler = HANDLER;
    struct signal_table *copy = action_table_copy(t);
    assert_true(copy != t && copy->refs == 1 && copy->act[USER1].handler == HANDLER);
    copy->act[USER1].handler = SIG_DFL;
    assert_true(t->act[USER1].handler == HANDLER);
    t->refs = 2;
    action_table_drop(t);
    assert_int_equal(t->refs, 1);
    action_table_drop(t);
    action_table_drop(copy);
}

static void get(void)
{
    action_table_get(&signals, USER1);
}

static void set(void)
{
    change(USER1, HANDLER, 0);
}

// Threads that share a table read and change an action one at a time.
static void test_locked(void **state)
{
    void (*const what[])(void) = { get, set };

    (void)state;
    for (u32 i = 0; i < 2; i++) {
        lock_take(&table.lock);
        assert_true(waiter_waits(what[i]));
        lock_drop(&table.lock);
        waiter_end();
        assert_true(lock_try(&table.lock)); // and it is dropped
        lock_drop(&table.lock);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_handler, setup, teardown),
        cmocka_unit_test_setup_teardown(test_without_a_handler, setup, teardown),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test_setup_teardown(test_delivered, setup, teardown),
        cmocka_unit_test_setup_teardown(test_for_an_exec, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reset, setup, teardown),
        cmocka_unit_test_setup_teardown(test_locked, setup, teardown),
        cmocka_unit_test_setup_teardown(test_inherited, setup, teardown),
    };

    return cmocka_run_group_tests_name("engine/signal/action.c", tests, NULL, NULL);
}
