// SPDX-License-Identifier: MIT
//
// Numbers, with and without commas, paths, and allocations that fail.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/util.h"

// An allocation that fails returns NULL, as without the sanitizer.
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1:detect_leaks=0";
}

static void test_commas(void **state)
{
    char buf[32];

    (void)state;
    assert_string_equal(util_commas(buf, 0), "0");
    assert_string_equal(util_commas(buf, 999), "999");
    assert_string_equal(util_commas(buf, 1000), "1,000");
    assert_string_equal(util_commas(buf, 1234567), "1,234,567");
    assert_string_equal(util_commas(buf, UINT64_MAX), "18,446,744,073,709,551,615");
}

static void test_numbers(void **state)
{
    uint64_t n = 7;

    (void)state;
    assert_true(util_number("0", 10, &n));
    assert_int_equal(n, 0);
    assert_true(util_number("18446744073709551615", UINT64_MAX, &n));
    assert_true(n == UINT64_MAX);
    assert_false(util_number("18446744073709551616", UINT64_MAX, &n));
    assert_false(util_number("11", 10, &n));
    assert_false(util_number("", 10, &n));
    assert_false(util_number("+1", 10, &n));
    assert_false(util_number(" 1", 10, &n));
    assert_false(util_number("1 ", 10, &n));
}

static void test_paths(void **state)
{
    static const struct {
        const char *cwd, *path, *absolute, *dirname, *basename;
    } cases[] = {
        { "/a/b", "c", "/a/b/c", ".", "c" },
        { "/a/b", "./c", "/a/b/c", ".", "c" },
        { "/a/b", ".//./c/d", "/a/b/c/d", ".//./c", "d" },
        { "/a/b", "../c", "/a/b/../c", "..", "c" },
        { "/a/b", "/c", "/c", "/", "c" },
        { "/", "c", "/c", ".", "c" },
        { "/a", ".", "/a", ".", "." },
        { "/a", "./", "/a", ".", "" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char *s = util_absolute(cases[i].cwd, cases[i].path);

        assert_string_equal(s, cases[i].absolute);
        free(s);
        s = util_dirname(cases[i].path);
        assert_string_equal(s, cases[i].dirname);
        free(s);
        assert_string_equal(util_basename(cases[i].path), cases[i].basename);
    }
}

enum { MALLOC, CALLOC, REALLOC };

// The message of a child that allocates so much; it ends with status 2.
static void refused(int how, size_t size, char *said, size_t max)
{
    int end[2], status;
    size_t used = 0;
    ssize_t n;

    assert_int_equal(pipe(end), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(end[1], STDERR_FILENO);
        void *p = how == MALLOC   ? xmalloc(size)
                  : how == CALLOC ? xcalloc(size / 2, 2)
                                  : xrealloc(NULL, size);
        _exit(p ? 3 : 4);
    }
    close(end[1]);
    while ((n = read(end[0], said + used, max - 1 - used)) > 0)
        used += (size_t)n;
    said[used] = '\0';
    close(end[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 2);
}

static void test_shell_word(void **state)
{
    static const char *const words[][2] = {
        { "prog-1.2_x/y", "prog-1.2_x/y" },       { "", "''" },           { "a b", "a\\ b" },
        { "$(id);`x`", "\\$\\(id\\)\\;\\`x\\`" }, { "a\nb\rc", "a_b_c" },
    };
    char typed[UTIL_SHELL_SPACE(32)];

    (void)state;
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        char *end = util_shell_word(typed, words[i][0]);

        assert_string_equal(typed, words[i][1]);
        assert_ptr_equal(end, typed + strlen(words[i][1]));
    }
}

// No processor has so many addresses.
static void test_no_memory(void **state)
{
    static const char *const words[] = {
        [MALLOC] = "quern: out of memory (9223372036854775806 bytes wanted)\n",
        [CALLOC] = "quern: out of memory (4611686018427387903 times 2 bytes wanted)\n",
        [REALLOC] = "quern: out of memory (9223372036854775806 bytes wanted)\n",
    };
    char said[4096];

    (void)state;
    for (int how = MALLOC; how <= REALLOC; how++) {
        refused(how, SIZE_MAX / 2 - 1, said, sizeof(said));
        assert_non_null(strstr(said, words[how]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commas),    cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_paths),     cmocka_unit_test(test_shell_word),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests_name("util", tests, NULL, NULL);
}
