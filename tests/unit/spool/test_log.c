// SPDX-License-Identifier: MIT
// engine/spool/log.c: the name of a process's own log, and that it is a new file.
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/nolibc.h"
#include "engine/spool/environ.h"
#include "engine/spool/fds.h"
#include "engine/spool/log.h"
#include "engine/spool/spooler.h"

static struct spool_header header = { .s_log = 9 };
struct spool_header *spool = &header;
static const char *name;
static int replaced;

const char *spooler_string(u32 offset)
{
    assert_int_equal(offset, 9);
    return name;
}

static char own[] = "AB=no", first[] = "A=first", none[] = "LONG=", second[] = "A=second";
static char *variables[] = { own, first, none, second, NULL };

char *const *environ_start(void)
{
    return variables;
}

void fds_replace_log(int fd)
{
    replaced = fd;
}

static char folder[] = "/tmp/quern-log.XXXXXX";

static int setup(void **state)
{
    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    return rmdir(folder);
}

// The log of this name is the file `expected`, empty, opened for appending; NULL: the old log
// stays.
static void log_is(const char *pattern, const char *expected)
{
    struct stat st, opened;

    name = pattern;
    replaced = -1;
    if (expected) {
        int old = open(expected, O_WRONLY | O_CREAT, 0600);
        assert_int_equal(write(old, "old", 3), 3);
        close(old);
    }
    log_own();
    if (!expected) {
        assert_int_equal(replaced, -1);
        return;
    }
    assert_true(replaced >= 0);
    assert_int_equal(fstat(replaced, &opened), 0);
    assert_int_equal(stat(expected, &st), 0);
    assert_true(st.st_ino == opened.st_ino && st.st_size == 0);
    assert_int_equal(fcntl(replaced, F_GETFL) & (O_ACCMODE | O_APPEND), O_WRONLY | O_APPEND);
    assert_int_equal(fcntl(replaced, F_GETFD), FD_CLOEXEC);
    close(replaced);
    assert_int_equal(unlink(expected), 0);
}

static void test_names(void **state)
{
    char expected[200];

    (void)state;
    snprintf(expected, sizeof(expected), "log.%d", getpid());
    log_is("log.%p", expected);
    snprintf(expected, sizeof(expected), "%d.first.%d..%%p", getpid(), getpid());
    log_is("%p.%q{A}.%p.%q{LONG}.%%p", expected);
    snprintf(expected, sizeof(expected), "no%dfirst%%%%", getpid());
    log_is("%q{AB}%p%q{A}%%%%", expected);
    snprintf(expected, sizeof(expected), "%%q%dp", getpid());
    log_is("%q%pp", expected); // no name in braces: copied unchanged
    // Without the pid in its name it is the log of all processes.
    log_is("log", NULL);
    log_is("log%%p", NULL);
    log_is("log%q{A}", NULL);
    log_is("", NULL);
}

static void test_too_long(void **state)
{
    static char pattern[5000], text[5000];

    (void)state;
    memset(text, 'x', 4096);
    text[0] = 'L', text[1] = '=';
    variables[0] = text;
    log_is("%p%q{L}", NULL);
    variables[0] = own;
    log_is("%p%q{A", NULL); // without its end
    memset(pattern, 'x', 4200);
    memcpy(pattern, "%p", 2);
    log_is(pattern, NULL);
}

// It cannot be opened: a message in the old log, which stays.
static void test_no_file(void **state)
{
    char said[256] = "", expected[256];
    int log[2];

    (void)state;
    assert_int_equal(pipe(log), 0);
    engine_log_fd = log[1];
    log_is("none/%p", NULL);
    assert_true(read(log[0], said, sizeof(said) - 1) > 0);
    snprintf(expected, sizeof(expected),
             "==%d== none/%d: cannot be opened for the messages of this process: error 2\n",
             getpid(), getpid());
    assert_string_equal(said, expected);
    close(log[0]);
    close(log[1]);
}

// At most 32 bytes are appended at once: exactly that many must be left.
static void test_room(void **state)
{
    char to[65], pattern[80], expected[80];

    (void)state;
    memset(pattern, 'x', sizeof(pattern));
    pattern[33] = '\0';
    to[64] = '#';
    assert_true(log_path(to, 64, pattern));
    assert_string_equal(to, pattern);
    pattern[33] = 'x', pattern[34] = '\0';
    assert_false(log_path(to, 64, pattern));
    strcpy(pattern + 32, "%p"); // the same of a number
    assert_true(log_path(to, 64, pattern));
    snprintf(expected, sizeof(expected), "%.32s%d", pattern, getpid());
    assert_string_equal(to, expected);
    pattern[32] = 'x';
    strcpy(pattern + 33, "%p");
    assert_false(log_path(to, 64, pattern));
    assert_int_equal(to[64], '#');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_too_long),
        cmocka_unit_test(test_no_file),
        cmocka_unit_test(test_room),
    };

    return cmocka_run_group_tests_name("engine/spool/log.c", tests, setup, teardown);
}
