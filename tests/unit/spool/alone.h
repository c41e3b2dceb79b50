// SPDX-License-Identifier: MIT
//
// For tests of engine/spool that move descriptors, lower limits or map a spool: each runs in its
// own process, which prints the line that fails.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SKIPPED 77

static void check(bool is, int line)
{
    if (is)
        return;
    dprintf(STDOUT_FILENO, "# line %d\n", line);
    _exit(1);
}
#define CHECK(what) check(what, __LINE__)

static int status_of(void (*body)(void))
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        body();
        _exit(0);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void in_child(void (*body)(void))
{
    int status = status_of(body);

    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED) {
        print_message("# SKIP this user may not do it\n");
        skip();
    }
    assert_int_equal(status, 0);
}

#define ALONE(name)                       \
    static void test_##name(void **state) \
    {                                     \
        (void)state;                      \
        in_child(name);                   \
    }

// From now on hard limits cannot be exceeded.
static inline void be_nobody(void)
{
    if (geteuid() == 0)
        CHECK(syscall(SYS_setresuid, 65534, 65534, 65534) == 0);
}
