// SPDX-License-Identifier: MIT
// engine/spool/environ.c: the environment of the start is saved, whatever the program does with its
// own; the finisher's has no variables for the program's loader.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/spool/environ.h"
#include "engine/spool/spooler.h"

static struct spool_header header = { .s_library_path = 9 };
struct spool_header *spool = &header;
static const char *library_path = "";

const char *spooler_string(u32 offset)
{
    assert_int_equal(offset, 9);
    return library_path;
}

static void are(char *const *env, const char *const *expected, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_string_equal(env[i], expected[i]);
    assert_null(env[n]);
}

static void test_pcache(void **state)
{
    static char a[] = "A=1", b[] = "LD_PRELOAD=x.so", c[] = "", d[] = "LD_LIBRARY_PATH=/own",
                e[] = "LDX=2";
    static const char *const all[] = { "A=1", "LD_PRELOAD=x.so", "", "LD_LIBRARY_PATH=/own",
                                       "LDX=2" };
    static const char *const finisher[] = { "A=1", "", "LDX=2", "LD_LIBRARY_PATH=/quern:/lib" };
    char *env[] = { a, b, c, d, e, NULL };

    (void)state;
    environ_save(env);
    are(environ_start(), all, 5);
    are(environ_finisher(), finisher, 3);
    library_path = "/quern:/lib";
    environ_save(env);
    memset(a, 'x', 3), memset(e, 'x', 5); // the program changes its own
    env[0] = NULL;
    are(environ_start(), all, 5);
    are(environ_finisher(), finisher, 4);
}

static void test_empty(void **state)
{
    static const char *const path[] = { "LD_LIBRARY_PATH=/q" };
    char *env[] = { NULL };

    (void)state;
    library_path = "/q";
    environ_save(env);
    are(environ_start(), NULL, 0);
    are(environ_finisher(), path, 1);
}

// So many that with one pointer or byte less the memory after each block would be overwritten.
static void test_sizes(void **state)
{
    static char text[200][40], *env[201];

    (void)state;
    library_path = "";
    for (size_t n = 1; n <= 200; n++) {
        memset(text[n - 1], 'v', n % 39 + 1);
        env[n - 1] = text[n - 1];
        char *const *before = environ_start();
        environ_save(env);
        for (size_t i = 0; i < n; i++) {
            assert_string_equal(environ_start()[i], text[i]);
            assert_ptr_equal(environ_finisher()[i], environ_start()[i]);
        }
        assert_null(environ_start()[n]);
        assert_null(environ_finisher()[n]);
        if (n > 1)
            for (size_t i = 0; i < n - 1; i++)
                assert_string_equal(before[i], text[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pcache),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_sizes),
    };

    return cmocka_run_group_tests_name("engine/spool/environ.c", tests, NULL, NULL);
}
