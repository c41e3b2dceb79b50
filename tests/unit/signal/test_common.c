// SPDX-License-Identifier: MIT
// engine/signal/common.c: signals that are stored for a process, by one thread and by several at
// once.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/signal/common.h"

// After sys.h: its CSIGNAL is that of sched.h.
#include <pthread.h>

#define BIT(sig) SIGBIT(sig)

static struct k_siginfo info(int signo, u64 value)
{
    struct k_siginfo i;

    memset(&i, 0, sizeof(i));
    i.signo = signo;
    i.value = value;
    return i;
}

static int setup(void **state)
{
    (void)state;
    common_forget(0);
    return 0;
}

static bool put(s32 tgid, int signo, u64 value)
{
    struct k_siginfo i = info(signo, value);

    return common_put(tgid, &i);
}

static void test_pcache(void **state)
{
    struct k_siginfo i;

    (void)state;
    assert_int_equal(common_take(5, ~0ul, &i), 0);
    assert_true(put(5, SIGSEGV, 1));
    assert_true(put(5, SIGSEGV, 2)); // an ordinary signal is stored once
    assert_true(put(6, SIGSEGV, 3));
    assert_true(put(5, 33, 4));
    assert_true(put(5, 33, 5));
    assert_int_equal(common_pending(5), BIT(SIGSEGV) | BIT(33));
    assert_int_equal(common_pending(6), BIT(SIGSEGV));
    assert_int_equal(common_pending(7), 0);
    assert_int_equal(common_take(5, BIT(SIGBUS), &i), 0);
    assert_int_equal(common_take(7, ~0ul, &i), 0);
    assert_int_equal(common_take(5, BIT(33), &i), 33);
    assert_int_equal(i.value, 4);
    assert_int_equal(common_take(5, ~0ul, &i), SIGSEGV);
    assert_int_equal(i.value, 1);
    assert_int_equal(common_take(5, ~0ul, &i), 33);
    assert_int_equal(i.value, 5);
    assert_int_equal(common_take(5, ~0ul, &i), 0);
    assert_int_equal(common_take(6, ~0ul, &i), SIGSEGV);
    assert_int_equal(i.value, 3);
    assert_int_equal(common_pending(6), 0);
    assert_true(put(5, SIGSEGV, 6)); // the lowest number first
    assert_true(put(5, SIGTRAP, 7));
    assert_int_equal(common_take(5, ~0ul, &i), SIGTRAP);
    assert_int_equal(i.value, 7);
    assert_int_equal(common_take(5, ~0ul, &i), SIGSEGV);
    assert_int_equal(i.value, 6);
}

// There are 64 entries; a process that is gone frees its own.
static void test_room(void **state)
{
    struct k_siginfo i;

    (void)state;
    for (u64 k = 0; k < 64; k++)
        assert_true(put(5 + (s32)(k & 1), 33, k));
    assert_false(put(7, 33, 0));
    assert_true(put(5, 33, 0) == false);
    common_forget(5);
    assert_int_equal(common_pending(5), 0);
    for (u64 k = 1; k < 64; k += 2) {
        assert_int_equal(common_take(6, ~0ul, &i), 33);
        assert_int_equal(i.value, k);
    }
    for (u64 k = 0; k < 64; k++)
        assert_true(put(7, 33, k));
    common_forget(0);
    assert_int_equal(common_pending(7), 0);
    assert_int_equal(common_take(7, ~0ul, &i), 0);
}

#define EACH 100000

static u64 sums[2]; // of what each taker got
static u64 given, got;

static void *gives(void *arg)
{
    for (u64 k = 1; k <= EACH; k++) {
        while (!put(*(s32 *)arg, 33, k))
            ;
        __atomic_fetch_add(&given, k, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void *takes(void *arg)
{
    struct k_siginfo i;

    while (__atomic_load_n(&got, __ATOMIC_RELAXED) < 2 * EACH)
        for (s32 tgid = 5; tgid < 7; tgid++)
            if (common_take(tgid, BIT(33), &i)) {
                *(u64 *)arg += i.value;
                __atomic_fetch_add(&got, 1, __ATOMIC_RELAXED);
            }
    return NULL;
}

// Two threads give, two take: each signal is taken once.
static void test_at_once(void **state)
{
    static s32 tgid[2] = { 5, 6 };
    pthread_t t[4];

    (void)state;
    for (int i = 0; i < 2; i++) {
        pthread_create(&t[i], NULL, gives, &tgid[i]);
        pthread_create(&t[2 + i], NULL, takes, &sums[i]);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    assert_int_equal(given, (u64)EACH * (EACH + 1));
    assert_int_equal(sums[0] + sums[1], given);
    assert_int_equal(common_pending(5) | common_pending(6), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_pcache, setup),
        cmocka_unit_test_setup(test_room, setup),
        cmocka_unit_test_setup(test_at_once, setup),
    };

    return cmocka_run_group_tests_name("signal/common", tests, NULL, NULL);
}
