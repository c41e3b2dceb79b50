// SPDX-License-Identifier: MIT
// engine/base/limits.c: the engine gets memory above a limit that the client has set, and restores
// the limit; and the message where it cannot. Each test runs in a child.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/limits.h"
#include "engine/base/nolibc.h"
#include "engine/base/sys.h"

#define SIZE (64ul << 20)
#define FREE (~0ul)

static long map(void)
{
    return limits_mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

// The status of a child that calls what().
static int child(int (*what)(int), int arg)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0)
        _exit(what(arg));
    assert_true(pid > 0);
    assert_int_equal(sys_call4(SYS_wait4, (u64)pid, (u64)&status, 0, 0), pid);
    return status;
}

static int lifted(int which)
{
    struct k_rlimit low = { 1 << 20, FREE }, now;

    if (sys_prlimit(which, &low, NULL))
        return 1;
    if (sys_mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != -ENOMEM)
        return 2;
    long at = map();
    if (at < 0)
        return 3;
    *(char *)at = 1;
    return sys_prlimit(which, NULL, &now) || now.cur != 1 << 20 || now.max != FREE ? 4 : 0;
}

static void test_lifted(void **state)
{
    (void)state;
    assert_int_equal(child(lifted, RLIMIT_AS), 0);
    assert_int_equal(child(lifted, RLIMIT_DATA), 0);
}

// Where all future memory has to be locked. With the privilege to lock there is no limit.
static int locked(int unused)
{
    struct k_rlimit low = { 64 << 10, 0 }, now;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;

    (void)unused;
    if (sys_call3(SYS_setresuid, 65534, 65534, 65534) && !sys_call1(SYS_geteuid, 0))
        return 1;
    if (sys_prlimit(RLIMIT_MEMLOCK, NULL, &now))
        return 2;
    low.max = now.max;
    if (sys_prlimit(RLIMIT_MEMLOCK, &low, NULL) || sys_call1(SYS_mlockall, 2 /* MCL_FUTURE */))
        return 3;
    if (sys_mmap(0, 1 << 20, PROT_READ | PROT_WRITE, flags, -1, 0) != -EAGAIN)
        return 4;
    if (sys_failed(limits_mmap(0, 1 << 20, PROT_READ | PROT_WRITE, flags, -1, 0)))
        return 5;
    return sys_prlimit(RLIMIT_MEMLOCK, NULL, &now) || now.cur != low.cur || now.max != low.max;
}

static void test_locked(void **state)
{
    struct k_rlimit now;

    (void)state;
    assert_int_equal(sys_prlimit(RLIMIT_MEMLOCK, NULL, &now), 0);
    if (now.max < 2 << 20) {
        print_message("the hard limit on locked memory is below 2 MiB\n");
        skip();
    }
    assert_int_equal(child(locked, 0), 0);
}

static const struct {
    u64 data, as;
    long error;
    const char *said;
} dies[] = {
    { 1000 << 10, FREE, -ENOMEM, "the limit on memory (ulimit -d 1000) is too low: raise it" },
    { FREE, 1ul << 40, -ENOMEM,
      "the limit on address space (ulimit -v 1073741824) is too low: raise it" },
    { 5 << 20, 1ul << 40, -ENOMEM,
      "the limit on memory (ulimit -d 5120) or on address space (ulimit -v 1073741824) is too low: "
      "raise it" },
    { FREE, FREE, -ENOMEM, "error 12" },
    { 1000 << 10, FREE, -EEXIST, "error 17" },
};

static int log_to;

static int die(int i)
{
    struct k_rlimit data = { dies[i].data, FREE }, as = { dies[i].as, FREE };

    if (sys_prlimit(RLIMIT_AS, &as, NULL) || sys_prlimit(RLIMIT_DATA, &data, NULL))
        return 1;
    engine_log_fd = log_to;
    limits_die("the tables", 65536, dies[i].error);
}

static void test_die(void **state)
{
    char text[512], expected[512];
    int fd[2];

    (void)state;
    for (u32 i = 0; i < sizeof(dies) / sizeof(dies[0]); i++) {
        assert_int_equal(pipe(fd), 0);
        log_to = fd[1];
        assert_int_equal(child(die, (int)i), ENGINE_DIE_STATUS << 8);
        close(fd[1]);
        ssize_t n = read(fd[0], text, sizeof(text) - 1);
        assert_true(n > 0);
        text[n] = '\0';
        close(fd[0]);
        snprintf(expected, sizeof(expected), "== cannot map 65536 KiB for the tables: %s\n",
                 dies[i].said);
        assert_non_null(strstr(text, "== "));
        assert_string_equal(strstr(text, "== "), expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lifted),
        cmocka_unit_test(test_locked),
        cmocka_unit_test(test_die),
    };

    return cmocka_run_group_tests_name("base/limits", tests, NULL, NULL);
}
