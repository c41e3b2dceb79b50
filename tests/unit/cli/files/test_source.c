// SPDX-License-Identifier: MIT
//
// Which line of an old source is which of the new one, and a lack of memory for that. The table of
// lines is libquern's, quern_profile_string(): replaced here by one that fails on demand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/files/source.h"
#include "cli/files/trust.h"
#include "quern/profile.h"

// Memory of a child that ends early is not a leak.
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

// ---- The table ----

enum { MOST = 16, NO_TABLE = -1 };

struct quern_profile {
    char line[MOST][32];
    uint32_t lines;
};

static struct quern_profile known;
static int strings_left; // strings until memory is exhausted

struct quern_profile *quern_profile_new(void)
{
    known.lines = 0;
    return strings_left == NO_TABLE ? NULL : &known;
}

uint32_t quern_profile_string(struct quern_profile *p, const char *s, ptrdiff_t len)
{
    if (strings_left-- == 0)
        return QUERN_NONE;
    for (uint32_t i = 0; i < p->lines; i++)
        if (strlen(p->line[i]) == (size_t)len && memcmp(p->line[i], s, (size_t)len) == 0)
            return i;
    memcpy(p->line[p->lines], s, (size_t)len);
    p->line[p->lines][len] = '\0';
    return p->lines++;
}

size_t quern_profile_str_count(const struct quern_profile *p)
{
    return p->lines;
}

void quern_profile_free(struct quern_profile *p)
{
    assert_ptr_equal(p, &known);
}

// source.c opens nothing here.
int trust_open(const char *path, struct stat *st)
{
    (void)path;
    (void)st;
    return -1;
}

int trust_open_given(const char *path, struct stat *st)
{
    return trust_open(path, st);
}

// ---- Tests ----

static char old_text[] = "one\ntwo\nthree\n", new_text[] = "zero\none\nthree\nfour";
static size_t old_start[] = { 0, 4, 8, 14 }, new_start[] = { 0, 5, 9, 15, 19 };
static const struct source old = { .text = old_text, .size = 14, .start = old_start, .lines = 3 };
static const struct source now = { .text = new_text, .size = 19, .start = new_start, .lines = 4 };

static void test_lines(void **state)
{
    // "one" is the second line of the new version, "two" is removed, "three" is the third.
    static const size_t expected[] = { 2, 0, 3 };
    size_t *map;

    (void)state;
    strings_left = MOST;
    map = source_align(&old, &now);
    assert_memory_equal(map, expected, sizeof(expected));
    free(map);
}

// In a child, since it ends the command: status 2 and a message.
static void ends_without_memory(int strings)
{
    int ends[2], status;
    char said[64];
    pid_t pid;

    assert_int_equal(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        strings_left = strings;
        source_align(&old, &now);
        _exit(0);
    }
    close(ends[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    ssize_t n = read(ends[0], said, sizeof(said) - 1);

    close(ends[0]);
    said[n > 0 ? n : 0] = '\0';
    assert_string_equal(said, "quern: out of memory\n");
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 2);
}

// For the table, and for each of the three and four lines.
static void test_no_memory(void **state)
{
    (void)state;
    for (int strings = NO_TABLE; strings < 3 + 4; strings++)
        ends_without_memory(strings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests_name("source", tests, NULL, NULL);
}
