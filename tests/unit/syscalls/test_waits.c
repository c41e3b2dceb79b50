// SPDX-License-Identifier: MIT
// engine/syscalls/waits.c: for which calls it knows the end of their wait, and the remaining time.
// The clock is the kernel's, so the remaining time is checked to a second.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/clientmem.h"
#include "engine/base/sys.h"
#include "engine/syscalls/waits.h"
#include "engine/thread/threads.h"

#define CLOCK_REALTIME_   0
#define CLOCK_PROCESS_CPU 2

static struct thread_own own;
static struct thread thread = { .own = &own };
static s64 wait_for[2];
static const s64 fixed[2] = { 99, 7 }; // cannot be written

int clientmem_read(void *dst, u64 gaddr, u64 n)
{
    memcpy(dst, (const void *)gaddr, n);
    return 0;
}

int clientmem_write(u64 gaddr, const void *src, u64 n)
{
    if (gaddr == (u64)fixed)
        return -EFAULT;
    memcpy((void *)gaddr, src, n);
    return 0;
}

// Registers of the six arguments.
static const u32 reg[] = { R_RDI, R_RSI, R_RDX, 10, 8, 9 };

static s64 seconds(void)
{
    s64 at[2];

    assert_int_equal(sys_call2(SYS_clock_gettime, CLOCK_MONOTONIC, (u64)at), 0);
    return at[0];
}

static int setup(void **state)
{
    (void)state;
    memset(&own, 0, sizeof(own));
    memset(&thread, 0, sizeof(thread));
    thread.own = &own;
    return 0;
}

// The call nr with its time, 100 s, in argument `arg` (from 0): noted, and made again later.
static void waits(u32 nr, u32 arg)
{
    s64 begin = seconds();

    wait_for[0] = 99;
    wait_for[1] = 999999999;
    thread.regs[reg[arg]] = (u64)wait_for;
    waits_note(&thread, nr);
    assert_in_range(own.wait_until[0], begin + 99, begin + 101);
    assert_in_range(own.wait_until[1], 0, 999999999);
    thread.regs[R_RAX] = nr;
    thread.sc_post = nr + 1;
    waits_shorten(&thread);
    assert_int_equal(thread.regs[reg[arg]], (u64)own.wait_left);
    assert_in_range(own.wait_left[0], 98, 99);
    assert_in_range(own.wait_left[1], 0, 999999999);
    assert_true(own.wait_left[0] < 99 || own.wait_left[1] < 999999999);
    // When its time is over, nothing is left.
    own.wait_until[0] -= 100;
    waits_shorten(&thread);
    assert_true(own.wait_left[0] == 0 && own.wait_left[1] == 0);
}

static void test_seconds(void **state)
{
    (void)state;
    waits(SYS_nanosleep, 0);
    thread.regs[R_RDI] = CLOCK_REALTIME_;
    thread.regs[R_RSI] = 0;
    waits(SYS_clock_nanosleep, 2);
    thread.regs[R_RDI] = CLOCK_MONOTONIC;
    waits(SYS_clock_nanosleep, 2);
    waits(SYS_epoll_pwait2, 3);
    waits(SYS_semtimedop, 3);
    waits(SYS_rt_sigtimedwait, 2);
    waits(SYS_io_getevents, 4);
    waits(SYS_io_pgetevents, 4);
    thread.regs[R_RSI] = FUTEX_WAIT | 128;
    waits(SYS_futex, 3);
}

static void test_milliseconds(void **state)
{
    static const struct {
        u32 nr, reg;
    } calls[] = { { SYS_poll, R_RDX }, { SYS_epoll_wait, 10 }, { SYS_epoll_pwait, 10 } };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
        s64 begin = seconds();

        thread.regs[calls[i].reg] = 61500;
        waits_note(&thread, calls[i].nr);
        assert_in_range(own.wait_until[0], begin + 61, begin + 63);
        thread.regs[R_RAX] = calls[i].nr;
        thread.sc_post = 1;
        waits_shorten(&thread);
        assert_in_range(thread.regs[calls[i].reg], 60000, 61500);
        own.wait_until[0] -= 100;
        waits_shorten(&thread);
        assert_int_equal(thread.regs[calls[i].reg], 0);
        // No wait, or for ever.
        thread.regs[calls[i].reg] = 0;
        waits_note(&thread, calls[i].nr);
        assert_int_equal(own.wait_until[0], 0);
        thread.regs[calls[i].reg] = 0xffffffff;
        waits_note(&thread, calls[i].nr);
        assert_int_equal(own.wait_until[0], 0);
    }
}

// Calls that write the remaining time to the client's timeout: it stays there, unless that cannot
// be written.
static void told(u32 nr, u32 at, s64 unit)
{
    s64 begin = seconds();

    wait_for[0] = 99;
    wait_for[1] = unit - 1;
    thread.regs[at] = (u64)wait_for;
    waits_note(&thread, nr);
    assert_in_range(own.wait_until[0], begin + 99, begin + 101);
    thread.regs[R_RAX] = nr;
    thread.sc_post = 1;
    waits_shorten(&thread);
    assert_int_equal(thread.regs[at], (u64)wait_for);
    assert_in_range(wait_for[0], 98, 99);
    assert_in_range(wait_for[1], 0, unit - 1);
    assert_true(wait_for[0] < 99 || wait_for[1] < unit - 1);
    thread.regs[at] = (u64)fixed;
    waits_note(&thread, nr);
    waits_shorten(&thread);
    assert_int_equal(thread.regs[at], (u64)own.wait_left);
    assert_in_range(own.wait_left[0], 98, 99);
    wait_for[1] = 1l << 62; // no number of nanoseconds
    thread.regs[at] = (u64)wait_for;
    own.wait_until[0] = 5;
    waits_note(&thread, nr);
    assert_int_equal(own.wait_until[0], 0);
}

static void test_told(void **state)
{
    (void)state;
    told(SYS_select, 8, 1000000);
    told(SYS_pselect6, 8, 1000000000);
    told(SYS_ppoll, R_RDX, 1000000000);
}

static bool is_noted(u32 nr)
{
    own.wait_until[0] = 77;
    waits_note(&thread, nr);
    return own.wait_until[0] != 0;
}

// io_uring_enter: a structure points to the time; the kernel gets a copy of the structure.
static void test_uring(void **state)
{
    u64 arg[3] = { 1, 2ul << 32 | 8, (u64)wait_for };
    s64 begin = seconds();

    (void)state;
    wait_for[0] = 99;
    wait_for[1] = 999999999;
    thread.regs[8] = (u64)arg;
    thread.regs[10] = 1 | 1u << 3; // GETEVENTS, EXT_ARG
    waits_note(&thread, SYS_io_uring_enter);
    assert_in_range(own.wait_until[0], begin + 99, begin + 101);
    thread.regs[R_RAX] = SYS_io_uring_enter;
    thread.sc_post = SYS_io_uring_enter + 1;
    for (int i = 0; i < 2; i++) { // also when it was made again before
        waits_shorten(&thread);
        assert_int_equal(thread.regs[8], (u64)own.wait_arg);
        assert_int_equal(own.wait_arg[0], 1);
        assert_int_equal(own.wait_arg[1], 2ul << 32 | 8);
        assert_int_equal(own.wait_arg[2], (u64)own.wait_left);
        assert_in_range(own.wait_left[0], 98, 99);
    }
    assert_int_equal(arg[2], (u64)wait_for);
    assert_int_equal(wait_for[0], 99);
    // No time, an absolute time, registered memory, no structure.
    arg[2] = 0;
    thread.regs[8] = (u64)arg;
    assert_false(is_noted(SYS_io_uring_enter));
    arg[2] = (u64)wait_for;
    assert_true(is_noted(SYS_io_uring_enter));
    thread.regs[10] |= 1u << 5;
    assert_false(is_noted(SYS_io_uring_enter));
    thread.regs[10] = 1 | 1u << 3 | 1u << 6;
    assert_false(is_noted(SYS_io_uring_enter));
    thread.regs[10] = 1;
    assert_false(is_noted(SYS_io_uring_enter));
}

static s64 nanoseconds(void)
{
    s64 at[2];

    assert_int_equal(sys_call2(SYS_clock_gettime, CLOCK_MONOTONIC, (u64)at), 0);
    return at[0] * 1000000000 + at[1];
}

// The fraction of a second is rounded up to a millisecond: the client would notice a wait that
// returns too early. The clock advances between this test's two readings and the one between them;
// a hundred times, as one may fall on a whole millisecond.
static void test_salvage(void **state)
{
    (void)state;
    thread.regs[R_RAX] = SYS_poll;
    thread.sc_post = 1;
    for (int i = 0; i < 100; i++) {
        s64 before = nanoseconds(), until = before + 50000000000 + i * 10007, after;

        own.wait_until[0] = until / 1000000000;
        own.wait_until[1] = until % 1000000000;
        waits_shorten(&thread);
        after = nanoseconds();
        assert_true((s64)thread.regs[R_RDX] * 1000000 >= until - after);
        assert_true((s64)thread.regs[R_RDX] * 1000000 < until - before + 1000000);
    }
}

static void test_not_noted(void **state)
{
    static const s64 bad[][2] = { { -1, 0 }, { 0, -1 }, { 0, 1000000000 }, { (1l << 40) + 1, 0 } };

    (void)state;
    thread.regs[R_RDI] = 0;
    assert_false(is_noted(SYS_nanosleep)); // no time at all
    assert_false(is_noted(SYS_read));
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        thread.regs[R_RDI] = (u64)bad[i];
        assert_false(is_noted(SYS_nanosleep));
    }
    wait_for[0] = 1l << 40;
    wait_for[1] = 0;
    thread.regs[R_RDI] = (u64)wait_for;
    assert_true(is_noted(SYS_nanosleep));
    wait_for[0] = 5;
    thread.regs[R_RDX] = (u64)wait_for;
    thread.regs[R_RDI] = CLOCK_PROCESS_CPU;
    assert_false(is_noted(SYS_clock_nanosleep));
    thread.regs[R_RDI] = CLOCK_MONOTONIC;
    thread.regs[R_RSI] = 1; // until a time, not for one
    assert_false(is_noted(SYS_clock_nanosleep));
    thread.regs[10] = (u64)wait_for;
    thread.regs[R_RSI] = 6; // FUTEX_LOCK_PI: until a time
    assert_false(is_noted(SYS_futex));
    // Only calls that were noted and are repeated are shortened.
    thread.regs[R_RAX] = SYS_nanosleep;
    thread.sc_post = 1;
    own.wait_until[0] = 0;
    thread.regs[R_RDI] = 1234;
    waits_shorten(&thread);
    assert_int_equal(thread.regs[R_RDI], 1234);
    own.wait_until[0] = seconds() + 9;
    thread.sc_post = 0;
    waits_shorten(&thread);
    assert_int_equal(thread.regs[R_RDI], 1234);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_seconds, setup),
        cmocka_unit_test_setup(test_milliseconds, setup),
        cmocka_unit_test_setup(test_told, setup),
        cmocka_unit_test_setup(test_uring, setup),
        cmocka_unit_test_setup(test_salvage, setup),
        cmocka_unit_test_setup(test_not_noted, setup),
    };

    return cmocka_run_group_tests_name("engine/syscalls/waits.c", tests, NULL, NULL);
}
