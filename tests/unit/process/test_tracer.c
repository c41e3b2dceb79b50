// SPDX-License-Identifier: MIT
// engine/process/tracer.c: whether this process traces a child, as the kernel reports it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/process/tracer.h"
#include "engine/spool/spooler.h"

static struct spool_header header;
struct spool_header *spool = &header;

enum { THERE = 1, DEBUGGER = 2 };

// The child's results before it is traced, while it is traced, and if it was traced from the start
// (with the flag, or without), in pairs of bits.
static int answers(void)
{
    return (tracer_is_there() ? THERE : 0) | (tracer_is_debugger() ? DEBUGGER : 0);
}

static void test_child(void **state)
{
    int go[2], said[2], got[4];
    char c = 0;

    (void)state;
    assert_int_equal(pipe(go), 0);
    assert_int_equal(pipe(said), 0);
    pid_t child = fork();
    if (child == 0) {
        int own[4];

        header.flags = SPOOL_F_TRACE_CHILDREN;
        tracer_init();
        own[0] = answers();
        if (write(said[1], &c, 1) != 1 || read(go[0], &c, 1) != 1)
            _exit(1);
        own[1] = answers(); // it has come since
        header.flags = 0;
        tracer_init(); // does not read the tracer
        own[2] = answers();
        header.flags = SPOOL_F_TRACE_CHILDREN;
        tracer_init(); // it was there from here on
        own[3] = answers();
        _exit(write(said[1], own, sizeof(own)) == sizeof(own) ? 0 : 1);
    }
    assert_int_equal(read(said[0], &c, 1), 1);
    assert_int_equal(ptrace(PTRACE_SEIZE, child, NULL, NULL), 0);
    assert_int_equal(write(go[1], &c, 1), 1);
    assert_int_equal(read(said[0], got, sizeof(got)), sizeof(got));
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    assert_int_equal(got[0], 0);
    assert_int_equal(got[1], THERE | DEBUGGER);
    assert_int_equal(got[2], THERE | DEBUGGER);
    assert_int_equal(got[3], THERE);
}

// A grandchild, traced by the child: finds the tracer's pid, with several digits.
static void test_number(void **state)
{
    (void)state;
    assert_false(tracer_is_there());
    assert_false(tracer_is_debugger());
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_child),
                                        cmocka_unit_test(test_number) };

    return cmocka_run_group_tests_name("engine/process/tracer.c", tests, NULL, NULL);
}
