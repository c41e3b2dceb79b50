// SPDX-License-Identifier: MIT
// engine/thread/sampler.c: a timer for each thread, with fakes of kick.c.
//
// Expected numbers: the first sample after 10 ms, then intervals that grow by a half: 15, 22.5,
// 33.75 ms and so on, rounded down, until one is 4 s or more.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/base/sys.h"
#include "engine/spool/config.h"
#include "engine/thread/kick.h"
#include "engine/thread/sampler.h"
#include "engine/thread/stop.h"
#include "engine/thread/threads.h"

struct tb_config tb_config;
static struct thread_own own;
static struct thread t = { .own = &own };
static long refused;
static u32 created, armed;
static u64 after;

long kick_create(const struct thread *of, u64 clock, u64 value, s32 *timer)
{
    assert_ptr_equal(of, &t);
    assert_int_equal(clock, CLOCK_THREAD_CPUTIME_ID);
    assert_int_equal(value, STOP_SAMPLE_MAGIC);
    created++;
    *timer = 17;
    return refused;
}

void kick_arm(s32 timer, u64 us, bool again)
{
    assert_int_equal(timer, 17);
    assert_false(again);
    armed++;
    after = us;
}

static int setup(void **state)
{
    (void)state;
    own = (struct thread_own){ 0 };
    tb_config = (struct tb_config){ .watch = true };
    refused = 0;
    created = armed = 0;
    after = 0;
    return 0;
}

static void test_times(void **state)
{
    static const u32 us[] = { 10000, 15000, 22500, 33750, 50625, 75937, 113905 };
    u32 last = 0;

    (void)state;
    sampler_start(&t);
    assert_int_equal(created, 1);
    for (u32 i = 0; i < sizeof(us) / sizeof(us[0]); i++) {
        assert_int_equal(after, us[i]);
        assert_int_equal(armed, i + 1);
        sampler_next(&t);
    }
    for (u32 i = 0; i < 30; i++) {
        last = (u32)after;
        sampler_next(&t);
    }
    assert_int_equal(after, last);
    // 10000, 15000, 22500, ..., 2919240, 4378860: the first that is no less than 4,000,000
    assert_int_equal(after, 4378860);
    assert_int_equal(created, 1);
}

static void test_none(void **state)
{
    (void)state;
    tb_config.watch = false;
    sampler_start(&t);
    sampler_next(&t);
    assert_int_equal(created + armed, 0);
    tb_config.watch = true;
    refused = -EAGAIN;
    sampler_start(&t);
    sampler_next(&t);
    sampler_end(&t);
    assert_int_equal(created, 1);
    assert_int_equal(armed, 0);
}

static void test_end(void **state)
{
    (void)state;
    sampler_start(&t);
    sampler_end(&t);
    assert_int_equal(own.sample_us, 0);
    sampler_next(&t);
    assert_int_equal(armed, 1);
    sampler_start(&t);
    assert_int_equal(after, 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_times, setup),
        cmocka_unit_test_setup(test_none, setup),
        cmocka_unit_test_setup(test_end, setup),
    };

    return cmocka_run_group_tests_name("thread/sampler", tests, NULL, NULL);
}
