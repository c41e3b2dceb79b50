// SPDX-License-Identifier: MIT
// engine/base/nolibc.c, the object that the engine is linked from: memory functions against byte
// loops at every small length and alignment, the formatter against texts made by hand, patterns,
// numbers.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/nolibc.h"

#define GUARD 0xa5

static void fill(u8 *p, u32 n, u32 seed)
{
    for (u32 i = 0; i < n; i++)
        p[i] = (u8)((seed = seed * 1103515245 + 12345) >> 16);
}

// Lengths around every change of the method: bytes, words, string instructions from 512 on.
static const u32 lengths[] = { 0,  1,  2,   3,   7,   8,   9,   15,  16,  17,  31,   32,
                               63, 64, 100, 255, 511, 512, 513, 519, 520, 521, 1000, 4097 };

static void copies(void **state)
{
    static u8 src[5000], dst[5000];

    (void)state;
    for (u32 l = 0; l < ARRAY_SIZE(lengths); l++)
        for (u32 a = 0; a < 9; a++)
            for (u32 b = 0; b < 9; b++) {
                u32 n = lengths[l];
                fill(src, sizeof(src), n + a);
                for (u32 i = 0; i < sizeof(dst); i++)
                    dst[i] = GUARD;
                assert_ptr_equal(memcpy(dst + 16 + a, src + b, n), dst + 16 + a);
                for (u32 i = 0; i < n; i++)
                    assert_int_equal(dst[16 + a + i], src[b + i]);
                assert_int_equal(dst[15 + a], GUARD);
                assert_int_equal(dst[16 + a + n], GUARD);

                assert_ptr_equal(memset(dst + 16 + a, (int)n, n), dst + 16 + a);
                for (u32 i = 0; i < n; i++)
                    assert_int_equal(dst[16 + a + i], (u8)n);
                assert_int_equal(dst[15 + a], GUARD);
                assert_int_equal(dst[16 + a + n], GUARD);
            }
}

static void moves(void **state)
{
    static u8 buf[6000], want[6000];

    (void)state;
    for (u32 l = 0; l < ARRAY_SIZE(lengths); l++)
        for (int shift = -40; shift <= 40; shift++) {
            u32 n = lengths[l];
            fill(buf, sizeof(buf), n);
            for (u32 i = 0; i < sizeof(buf); i++)
                want[i] = buf[i];
            for (u32 i = 0; i < n; i++)
                want[(u32)(100 + shift) + i] = buf[100 + i];
            assert_ptr_equal(memmove(buf + 100 + shift, buf + 100, n), buf + 100 + shift);
            for (u32 i = 0; i < sizeof(buf); i++)
                assert_int_equal(buf[i], want[i]);
        }
}

static void comparisons(void **state)
{
    (void)state;
    assert_int_equal(memcmp("abc", "abd", 2), 0);
    assert_true(memcmp("abc", "abd", 3) < 0);
    assert_true(memcmp("\xff", "a", 1) > 0);
    assert_int_equal(strcmp("", ""), 0);
    assert_true(strcmp("a", "") > 0);
    assert_true(strcmp("a", "b") < 0);
    assert_true(strcmp("\xff", "a") > 0);
    assert_int_equal(strncmp("abcd", "abce", 3), 0);
    assert_true(strncmp("abcd", "abce", 4) < 0);
    assert_int_equal(strncmp("ab", "ab", 100), 0);
    assert_int_equal(strnlen("abc", 2), 2);
    assert_int_equal(strnlen("abc", 9), 3);
    assert_string_equal(strchr("a/b/c", '/'), "/b/c");
    assert_string_equal(strrchr("a/b/c", '/'), "/c");
    assert_string_equal(strchr("abc", 0), "");
    assert_null(strchr("abc", 'd'));
    assert_null(strrchr("abc", 'd'));
    assert_string_equal(nolibc_basename("/usr/bin/env"), "env");
    assert_string_equal(nolibc_basename("env"), "env");
    assert_string_equal(nolibc_basename("/"), "");
}

static void numbers(void **state)
{
    (void)state;
    assert_int_equal(nolibc_number("0"), 0);
    assert_int_equal(nolibc_number("2147483647"), 2147483647);
    assert_true(nolibc_number("2147483648") < 0);
    assert_true(nolibc_number("99999999999999999999999") < 0);
    assert_true(nolibc_number("") < 0);
    assert_true(nolibc_number("1x") < 0);
    assert_true(nolibc_number("-1") < 0);
}

static void patterns(void **state)
{
    (void)state;
    assert_true(nolibc_glob("*", ""));
    assert_true(nolibc_glob("*/gcc", "/usr/bin/gcc"));
    assert_false(nolibc_glob("*/gcc", "/usr/bin/gcc-12"));
    assert_true(nolibc_glob("*/gcc*", "/usr/bin/gcc-12"));
    assert_true(nolibc_glob("/bin/?h", "/bin/sh"));
    assert_false(nolibc_glob("/bin/?h", "/bin/h"));
    assert_true(nolibc_glob("a*b*c", "aXbYbZc"));
    assert_false(nolibc_glob("a*b*c", "aXbYbZ"));
    assert_true(nolibc_glob("**a", "bba"));
    assert_false(nolibc_glob("", "a"));
    assert_true(nolibc_glob("", ""));
    // At most quadratic: 2^40 steps would take forever.
    assert_false(nolibc_glob("*a*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
}

static void formats(void **state)
{
    // volatile: the compiler must not know the values
    static const char *volatile none, *volatile ends = "a%\0bcd";
    char buf[64];

    (void)state;
    assert_int_equal(
        nolibc_format(buf, sizeof(buf), "%s|%c|%d|%u|%x|%%", "abc", 'x', -5, 7u, 0xbeefu), 17);
    assert_string_equal(buf, "abc|x|-5|7|beef|%");
    nolibc_format(buf, sizeof(buf), "%ld %lu %lx", -9223372036854775807l - 1, ~0ul, ~0ul);
    assert_string_equal(buf, "-9223372036854775808 18446744073709551615 ffffffffffffffff");
    nolibc_format(buf, sizeof(buf), "[%5d][%-5d][%05d][%08lx]", 42, 42, 42, 0xabcul);
    assert_string_equal(buf, "[   42][42   ][00042][00000abc]");
    nolibc_format(buf, sizeof(buf), "[%6s][%-6s][%2s]", "abc", "abc", "abc");
    assert_string_equal(buf, "[   abc][abc   ][abc]");
    nolibc_format(buf, sizeof(buf), "[%s][%7s]", none, none);
    assert_string_equal(buf, "[(null)][ (null)]");
    // A % at the end ends the text: what is after the NUL is not read.
    assert_int_equal(nolibc_format(buf, sizeof(buf), ends, 0), 2);
    assert_string_equal(buf, "a");
    // Cut, terminated, and the full length returned, as snprintf.
    assert_int_equal(nolibc_format(buf, 4, "%s", "abcdef"), 6);
    assert_string_equal(buf, "abc");
    buf[0] = 'k';
    assert_int_equal(nolibc_format(buf, 0, "%d", 12), 2);
    assert_int_equal(buf[0], 'k');
}

// Reads at most `max` bytes, and nothing after the end; volatile: unknown to the compiler.
static void lengths_at_most(void **state)
{
    char text[8] = "abcdef";
    const char *volatile s = text;

    (void)state;
    assert_int_equal(strnlen(s, 0), 0);
    assert_int_equal(strnlen(s, 3), 3);
    assert_int_equal(strnlen(s, 6), 6);
    assert_int_equal(strnlen(s, 100), 6);
}

// ---- Messages ----

static int checks;

static void check_log(void)
{
    checks++;
}

// Into a pipe that is full at first: a child reads it a moment later, and all of the message fits.
static void messages(void **state)
{
    static char drained[1 << 20];
    char end[64], expected[64];
    int log[2], back[2];

    (void)state;
    assert_int_equal(pipe2(log, O_NONBLOCK), 0);
    assert_int_equal(pipe(back), 0);
    size_t filled = 0;
    for (ssize_t n; (n = write(log[1], drained, 4096)) > 0;)
        filled += (size_t)n;
    size_t len = (size_t)snprintf(expected, sizeof(expected), "==%d== all 17 of it\n", getpid());
    pid_t child = fork();
    if (child == 0) {
        size_t got = 0;

        usleep(20000);
        fcntl(log[0], F_SETFL, 0);
        while (got < filled + len) {
            ssize_t n = read(log[0], drained + got, filled + len - got);
            if (n <= 0)
                _exit(1);
            got += (size_t)n;
        }
        _exit(write(back[1], drained + filled, len) == (ssize_t)len ? 0 : 1);
    }
    engine_log_fd = log[1];
    engine_check_log = check_log;
    engine_msg("all %d of it", 17);
    engine_check_log = NULL;
    assert_int_equal(checks, 1);
    close(log[1]); // if a message was lost, the child's read ends
    close(back[1]);
    assert_int_equal(read(back[0], end, sizeof(end)), (ssize_t)len);
    assert_memory_equal(end, expected, len);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(log[0]);
    close(back[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_at_most), cmocka_unit_test(messages),    cmocka_unit_test(copies),
        cmocka_unit_test(moves),           cmocka_unit_test(comparisons), cmocka_unit_test(numbers),
        cmocka_unit_test(patterns),        cmocka_unit_test(formats),
    };

    return cmocka_run_group_tests_name("engine/base/nolibc.c", tests, NULL, NULL);
}
