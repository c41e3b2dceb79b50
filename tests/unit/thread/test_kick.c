// SPDX-License-Identifier: MIT
// engine/thread/kick.c: real timers of the kernel.
//
// Expected numbers: timer_gettime(2) returns what a timer was armed with; 3,600,002,500,000 us are
// 3,600,002 s and 500,000,000 ns. The fields of the signal are in sigaction(2).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/base/sys.h"
#include "engine/thread/kick.h"
#include "engine/thread/stop.h"

#define RLIMIT_SIGPENDING 11

static struct thread t;
static const u64 kick_mask = (u64)1 << (STOP_KICK_SIGNAL - 1);

struct times {
    struct k_timespec interval, value;
};

// The next kick within 20 s, or 0.
static long next_kick(struct k_siginfo *info)
{
    struct k_timespec limit = { 20, 0 };
    long got = sys_call4(SYS_rt_sigtimedwait, (u64)&kick_mask, (u64)info, (u64)&limit, 8);

    return got < 0 ? 0 : got;
}

static bool pending(void)
{
    u64 set = 0;

    assert_int_equal(sys_call2(SYS_rt_sigpending, (u64)&set, 8), 0);
    return set & kick_mask;
}

static struct times times_of(s32 timer)
{
    struct times left;

    assert_int_equal(sys_call2(SYS_timer_gettime, (u64)timer, (u64)&left), 0);
    return left;
}

static void delete (s32 timer)
{
    assert_int_equal(sys_call1(SYS_timer_delete, (u64)timer), 0);
}

static int setup(void **state)
{
    (void)state;
    t.tid = (s32)sys_call0(SYS_gettid);
    return (int)sys_call4(SYS_rt_sigprocmask, SIG_BLOCK, (u64)&kick_mask, 0, 8);
}

static void test_once(void **state)
{
    struct k_siginfo info;
    s32 timer = -1;

    (void)state;
    assert_int_equal(kick_create(&t, CLOCK_MONOTONIC, 0x1234567890, &timer), 0);
    kick_arm(timer, 1000, false);
    assert_int_equal(next_kick(&info), STOP_KICK_SIGNAL);
    assert_int_equal(info.code, SI_TIMER);
    assert_int_equal(info.timer_value, 0x1234567890);
    // it is over
    struct times left = times_of(timer);
    assert_int_equal(left.value.sec | left.value.nsec, 0);
    assert_int_equal(left.interval.sec | left.interval.nsec, 0);
    assert_false(pending());
    delete (timer);
}

static void test_again(void **state)
{
    struct k_siginfo info;
    s32 timer = -1;

    (void)state;
    assert_int_equal(kick_create(&t, CLOCK_MONOTONIC, 7, &timer), 0);
    kick_arm(timer, 2000, true);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(next_kick(&info), STOP_KICK_SIGNAL);
        assert_int_equal(info.timer_value, 7);
    }
    struct times left = times_of(timer);
    assert_int_equal(left.interval.sec, 0);
    assert_int_equal(left.interval.nsec, 2000000);
    delete (timer);
    while (pending())
        next_kick(&info);
}

static void test_seconds_and_never(void **state)
{
    s32 timer = -1;

    (void)state;
    assert_int_equal(kick_create(&t, CLOCK_MONOTONIC, 1, &timer), 0);
    kick_arm(timer, 3600002500000, true);
    struct times left = times_of(timer);
    assert_int_equal(left.interval.sec, 3600002);
    assert_int_equal(left.interval.nsec, 500000000);
    assert_in_range(left.value.sec, 3600002 - 60, 3600002);
    kick_arm(timer, 0, true);
    left = times_of(timer);
    assert_int_equal(left.value.sec | left.value.nsec, 0);
    assert_false(pending());
    delete (timer);
}

// Every timer reserves an entry of the user's signal queue (RLIMIT_SIGPENDING).
static void test_refused(void **state)
{
    struct k_rlimit old, none;
    s32 timer = -1;

    (void)state;
    assert_int_equal(sys_prlimit(RLIMIT_SIGPENDING, NULL, &old), 0);
    none = (struct k_rlimit){ 0, old.max };
    assert_int_equal(sys_prlimit(RLIMIT_SIGPENDING, &none, NULL), 0);
    assert_int_equal(kick_create(&t, CLOCK_MONOTONIC, 1, &timer), -EAGAIN);
    assert_int_equal(sys_prlimit(RLIMIT_SIGPENDING, &old, NULL), 0);
    assert_int_equal(kick_create(&t, 99, 1, &timer), -EINVAL); // no such clock
    assert_int_equal(timer, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_once),
        cmocka_unit_test(test_again),
        cmocka_unit_test(test_seconds_and_never),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
