// SPDX-License-Identifier: MIT
//
// Queries while memory is short: each allocation of our own objects fails in turn, alone and (some)
// with all that follow (tests/faults/inject.c). The answer is the one with enough memory, or
// symbols_is_short() says that it may be wrong; and a wrong one is never stored in the cache. The
// queries are for places in this program, in children: a failure lasts for the whole process.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "symbols/strings.h"
#include "symbols/symbols.h"
#include "tests/faults/inject.h"

enum { SAME, SHORT, WRONG, NOT_HIT };

struct answer {
    char function[128], file[512];
    unsigned line;
};

static struct answer expected[3];
static char cache[4096];

static void ask(struct symbols *s, struct answer out[3])
{
    static char self[] = "/proc/self/exe";
    uint64_t base = getauxval(AT_PHDR) - 64; // the ELF header is before it
    const uint64_t at[3] = { (uintptr_t)symbols_new - base, (uintptr_t)symbols_find - base,
                             (uintptr_t)ask - base };
    struct symbols_module *m = symbols_file(s, &(struct symbols_file){ .path = self });

    for (int i = 0; i < 3; i++) {
        struct symbols_place p;

        symbols_find(m, at[i], &p);
        snprintf(out[i].function, sizeof(out[i].function), "%s", symbols_string(s, p.function));
        snprintf(out[i].file, sizeof(out[i].file), "%s", symbols_string(s, p.file));
        out[i].line = p.line;
    }
}

// With the n-th allocation failing, 0: none. Its answers are in the cache afterwards, if there is
// one.
static int attempt(long n, bool on, const char *folder)
{
    struct answer got[3] = { 0 };
    int status;

    pid_t child = fork();
    if (child == 0) {
        inject_begin(INJECT_MEMORY, n, ENOMEM, on);
        struct symbols *s = symbols_new(&(struct symbols_options){ .cache = folder });
        if (!s)
            _exit(SHORT);
        ask(s, got);
        bool is_short = symbols_is_short();
        symbols_save(s);
        bool hit = inject.hit;
        inject_end();
        symbols_free(s);
        _exit(is_short                             ? SHORT
              : memcmp(got, expected, sizeof(got)) ? WRONG
              : hit || !n                          ? SAME
                                                   : NOT_HIT);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status))
        return -status;
    return WEXITSTATUS(status);
}

// What of a cache changes when a file is written, replaced or removed: of the folder and all files.
// None: 0. With `remove` nothing is left.
static unsigned long look(const char *folder, bool remove)
{
    unsigned long sum = 0;
    DIR *d = opendir(folder);

    for (struct dirent *e; d && (e = readdir(d));) {
        struct stat st;

        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        assert_int_equal(fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW), 0);
        sum += st.st_ino * 31 + (unsigned long)st.st_size * 7 +
               (unsigned long)st.st_ctim.tv_sec * 1000000007 + (unsigned long)st.st_ctim.tv_nsec;
        if (remove)
            assert_int_equal(unlinkat(dirfd(d), e->d_name, 0), 0);
    }
    if (d)
        closedir(d);
    if (d && remove)
        assert_int_equal(rmdir(folder), 0);
    return sum;
}

// The test's own functions must have names and lines, or nothing is tested.
static int learn(void **state)
{
    const char *folder = getenv("TEST_FOLDER");

    (void)state;
    snprintf(cache, sizeof(cache), "%s/symbols-faults.%ld", folder ? folder : "/tmp",
             (long)getpid());
    struct symbols *s = symbols_new(&(struct symbols_options){ 0 });
    memset(expected, 0, sizeof(expected));
    ask(s, expected);
    symbols_free(s);
    assert_string_equal(expected[0].function, "symbols_new");
    assert_non_null(strstr(expected[1].file, "symbols/symbols.c"));
    assert_string_equal(expected[2].function, "ask");
    assert_true(expected[2].line > 30);
    return 0;
}

// What is kept is asked only where something is kept that has not been asked before.
static void each(const char *folder, bool keep)
{
    unsigned long known = folder ? look(folder, false) : 0;

    for (int on = 0; on < 2; on++)
        for (long n = 1;; n += on ? 7 : 1) {
            int how = attempt(n, on, folder);

            if (how == NOT_HIT)
                break;
            if (how != SAME && how != SHORT)
                fail_msg("allocation %ld%s: %d", n, on ? " and all that follow" : "", how);
            if (folder && look(folder, false) != known) {
                how = attempt(0, false, folder);
                if (how != SAME)
                    fail_msg("allocation %ld%s: what was kept is wrong: %d", n,
                             on ? " and all that follow" : "", how);
                known = keep ? look(folder, false) : 0;
            }
            if (folder && !keep)
                look(folder, true);
        }
}

// Without memory for a text its number is 0, "???", which every table has.
static void test_strings(void **state)
{
    struct strings s;

    (void)state;
    assert_true(strings_init(&s));
    inject_begin(INJECT_MEMORY, 1, ENOMEM, false);
    uint32_t lacking = strings_add(&s, "main", 4);
    bool hit = inject.hit;
    inject_end();
    assert_true(hit);
    assert_int_equal(lacking, 0);
    assert_int_equal(strings_add(&s, "main", 4), 1);
    strings_fini(&s);
}

static void test_plain(void **state)
{
    (void)state;
    each(NULL, false);
}

static void test_cache_made(void **state)
{
    (void)state;
    each(cache, false);
}

static void test_cache_read(void **state)
{
    (void)state;
    assert_int_equal(attempt(0, false, cache), SAME);
    each(cache, true);
    look(cache, true);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain), cmocka_unit_test(test_cache_made),
        cmocka_unit_test(test_cache_read),
        cmocka_unit_test(test_strings), // in this process, where memory is short from then on
    };

    return cmocka_run_group_tests_name("symbols/faults", tests, learn, NULL);
}
