// SPDX-License-Identifier: MIT
// engine/signal/die.c: children die of signals, natively and as the client; the kernel tells their
// parent the signal. signal(7) says which signals leave a core.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/layout.h"
#include "engine/base/sys.h"
#include "engine/codecache/region.h"
#include "engine/signal/die.h"
#include "engine/signal/frame.h"
#include "engine/signal/state.h"
#include "engine/spool/fds.h"
#include "engine/thread/threads.h"

const char frame_restorer[1];

u64 region_start(void)
{
    return 0;
}

u64 region_end(void)
{
    return 0;
}

u64 threads_area_end(void)
{
    return ENGINE_HEAP_BASE;
}

static char pattern = '|'; // the first byte of core_pattern
static int asked;

int fds_open(const char *path, int flags, u32 mode)
{
    (void)flags, (void)mode;
    assert_string_equal(path, "/proc/sys/kernel/core_pattern");
    asked++;
    if (!pattern)
        return -EACCES;
    long fd = sys_call2(SYS_memfd_create, (u64) "pattern", 0);
    sys_call3(SYS_write, (u64)fd, (u64)&pattern, 1);
    sys_call3(SYS_lseek, (u64)fd, 0, 0);
    return (int)fd;
}

// The registers would be the client's from here on; unblocks the pending signal.
_Noreturn void frame_become_client(struct thread *t, u64 mask)
{
    (void)t;
    sys_sigprocmask(SIG_SETMASK, &mask, NULL);
    sys_exit_group(98);
}

static struct thread t;
static struct signal_state sig;

static int wait_for(long pid)
{
    int status = 0;

    assert_true(pid > 0);
    assert_int_equal(sys_call4(SYS_wait4, (u64)pid, (u64)&status, 0, 0), pid);
    return status & ~0x80; // with a core or without
}

static void no_core(void)
{
    struct k_rlimit none = { 0, 0 };

    sys_prlimit(RLIMIT_CORE, &none, NULL);
}

// Also if it was ignored or blocked before.
static void test_natively(void **state)
{
    static const int signals[] = { SIGTERM, SIGKILL, SIGSEGV, 40 };

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        long pid = sys_call0(SYS_fork);
        if (pid == 0) {
            struct k_sigaction ignore = { .handler = 1 };
            u64 all = ~0ul;
            no_core();
            sys_sigaction(signals[i], &ignore, NULL);
            sys_sigprocmask(SIG_SETMASK, &all, NULL);
            die_natively(signals[i]);
        }
        assert_int_equal(wait_for(pid), signals[i]);
    }
}

static void test_as_client(void **state)
{
    (void)state;
    t.sig = &sig;
    // With the client's own siginfo, with that of another signal, and with one that the kernel
    // refuses (a positive code).
    for (int i = 0; i < 3; i++) {
        long pid = sys_call0(SYS_fork);
        if (pid == 0) {
            no_core();
            sig.fatal.signo = i == 1 ? SIGUSR1 : SIGTERM;
            sig.fatal.code = i == 2 ? 0x80 : -1;
            die_as_client(&t, SIGTERM);
        }
        assert_int_equal(wait_for(pid), SIGTERM);
    }
}

static bool leaves(int number, u64 limit)
{
    struct k_rlimit old, now;

    assert_int_equal(sys_prlimit(RLIMIT_CORE, NULL, &old), 0);
    now = old;
    now.cur = limit;
    assert_int_equal(sys_prlimit(RLIMIT_CORE, &now, NULL), 0);
    bool is = die_leaves_core(number);
    sys_prlimit(RLIMIT_CORE, &old, NULL);
    return is;
}

static void test_core(void **state)
{
    static const int with[] = { 3, 4, 5, 6, 7, 8, 11, 24, 25, 31 };
    struct k_rlimit limit;
    u64 mask = 0;

    (void)state;
    if (sys_prlimit(RLIMIT_CORE, NULL, &limit) || limit.max < 8192)
        limit.max = 0; // then only a pipe gets one
    for (size_t i = 0; i < sizeof(with) / sizeof(*with); i++)
        mask |= SIGBIT(with[i]);
    pattern = '|';
    for (int s = 1; s < SIGNAL_COUNT; s++)
        assert_int_equal(leaves(s, 0), (mask & SIGBIT(s)) != 0);
    if (limit.max) {
        assert_false(leaves(11, 1)); // 1: a pipe gets none either: it stops a crashing dumper
        asked = 0;
        assert_true(leaves(11, 4096));
        assert_int_equal(asked, 0);
        assert_true(leaves(11, 4095)); // to the pipe
        assert_int_equal(asked, 1);
    }
    pattern = 'c';
    assert_false(leaves(11, 0));
    pattern = 0; // it cannot be read
    assert_false(leaves(11, 0));
    pattern = '|';
    // A program that is not dumpable leaves none.
    assert_int_equal(sys_call5(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0), 0);
    bool is = leaves(11, 0);
    sys_call5(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0);
    assert_false(is);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_natively),
        cmocka_unit_test(test_as_client),
        cmocka_unit_test(test_core),
    };

    return cmocka_run_group_tests_name("signal/die", tests, NULL, NULL);
}
