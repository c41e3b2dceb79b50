// SPDX-License-Identifier: MIT
// engine/thread/threads.c, threads_is_gone(): one thread lends its block to children that exit
// before the parent has it back, as a vfork does, while others ask whether it is gone. The answer
// must never be yes. Before there was a count of loans it was, hundreds of times.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#undef CSIGNAL // the C library has it, too
#include "engine/base/sys.h"
#include "engine/spool/spooler.h"
#include "engine/thread/threads.h"

#define LOANS 3000000

static struct spool_header header;
struct spool_header *spool = &header;

int spooler_thread_slot(u32 slot)
{
    (void)slot;
    return 0;
}

static struct thread_own own;
static struct thread block = { .own = &own };
static volatile bool lending;
static pthread_barrier_t asked;
static s32 real_tid;

// No process has this number: the kernel's limit is 2^22.
#define NOBODY (1 << 22)

// The steps of fork.c, in its order.
static void lend(void)
{
    struct thread_own saved = own;

    own.borrowed = true;
    __atomic_add_fetch(&own.loans, 1, __ATOMIC_SEQ_CST);
    block.tid = NOBODY;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    own.tgid = NOBODY;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    block.tid = real_tid;
    own.tgid = saved.tgid;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    saved.loans = own.loans;
    own = saved;
    __atomic_add_fetch(&own.loans, 1, __ATOMIC_SEQ_CST);
}

static void *lender(void *arg)
{
    real_tid = sys_gettid();
    own.tgid = sys_getpid();
    block.tid = real_tid;
    for (int i = 0; i < LOANS; i++)
        lend();
    lending = false;
    pthread_barrier_wait(&asked); // until then the kernel knows this thread
    return arg;
}

static void test_lent(void **state)
{
    pthread_t t;
    u64 gone = 0;

    (void)state;
    pthread_barrier_init(&asked, NULL, 2);
    lending = true;
    assert_int_equal(pthread_create(&t, NULL, lender, NULL), 0);
    while (lending)
        gone += threads_is_gone(&block);
    pthread_barrier_wait(&asked);
    assert_int_equal(gone, 0);
    assert_int_equal(pthread_join(t, NULL), 0);
    assert_int_equal(own.loans, 2 * LOANS);
    assert_false(own.borrowed);
}

static void test_gone(void **state)
{
    (void)state;
    own.tgid = sys_getpid();
    block.tid = sys_gettid();
    own.borrowed = false;
    assert_false(threads_is_gone(&block));
    block.tid = NOBODY;
    assert_true(threads_is_gone(&block));
    own.borrowed = true;
    assert_false(threads_is_gone(&block));
    own.borrowed = false;
    block.tid = 0; // it has not started
    assert_false(threads_is_gone(&block));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_lent), cmocka_unit_test(test_gone) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
