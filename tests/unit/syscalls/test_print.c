// SPDX-License-Identifier: MIT
// engine/syscalls/print.c: VALGRIND_PRINTF's texts with a va_list of this compiler. The expected
// text is stated where the engine differs, and otherwise is that of the C library's printf.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/nolibc.h"
#include "engine/codecache/tcache.h"
#include "engine/codecache/vmmap.h"
#include "engine/spool/spooler.h"
#include "engine/syscalls/print.h"

static int locked;

void tcache_lock(void)
{
    locked++;
}

void tcache_unlock(void)
{
    locked--;
}

static struct spool_map *map;

u32 vmmap_spool_map(u64 addr)
{
    assert_int_equal(locked, 1);
    return addr < 0x2000 ? 1 : 2;
}

const char *spooler_string(u32 offset)
{
    return offset == 7 ? "/bin/x" : "";
}

static int out;
static char text[8192], begin[32];

static int setup(void **state)
{
    (void)state;
    out = memfd_create("out", 0);
    engine_log_fd = out;
    snprintf(begin, sizeof(begin), "**%d** ", getpid());
    return out >= 0 ? 0 : -1;
}

static const char *printed(void)
{
    ssize_t n = pread(out, text, sizeof(text) - 1, 0);

    assert_true(n >= 0);
    text[n] = '\0';
    assert_int_equal(ftruncate(out, 0), 0);
    lseek(out, 0, SEEK_SET);
    return text;
}

static u64 print(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    u64 n = print_client((u64)(uintptr_t)format, (u64)(uintptr_t)&ap[0]);
    va_end(ap);
    return n;
}

// Prints one line, the second argument; its length without the prefix.
#define IS(expected, ...)                                       \
    do {                                                        \
        assert_int_equal(print(__VA_ARGS__), strlen(expected)); \
        const char *got = printed();                            \
        assert_memory_equal(got, begin, strlen(begin));         \
        assert_string_equal(got + strlen(begin), expected);     \
    } while (0)
#define AS_PRINTF(...)                             \
    do {                                           \
        char like[256];                            \
        snprintf(like, sizeof(like), __VA_ARGS__); \
        IS(like, __VA_ARGS__);                     \
    } while (0)

static void test_lines(void **state)
{
    char expected[128];

    (void)state;
    // A text without a newline is continued by the next text.
    assert_int_equal(print("one\ntwo "), 8);
    snprintf(expected, sizeof(expected), "%sone\n%stwo ", begin, begin);
    assert_string_equal(printed(), expected);
    assert_int_equal(print("more\n"), 5);
    assert_string_equal(printed(), "more\n");
    IS("three\n", "three\n");
    assert_int_equal(print(""), 0);
    assert_string_equal(printed(), "");
}

static void test_integers(void **state)
{
    (void)state;
    AS_PRINTF("%d %i %u\n", -5, 2147483647, 4294967295u);
    AS_PRINTF("%ld %li %lu\n", -5l, INT64_MIN, UINT64_MAX);
    AS_PRINTF("%lld %zu %jd %td\n", -1ll, (size_t)7, (intmax_t)-8, (ptrdiff_t)9);
    AS_PRINTF("%hd %hu\n", (short)3, (unsigned short)4);
    AS_PRINTF("%x %X %#x\n", 0xbeefu, 0xcafeu, 0xdeadu);
    IS("0xABC 0x0\n", "%#X %#X\n", 0xabcu, 0u); // as Valgrind has it, not the C library
    AS_PRINTF("[%5d][%-5d][%05d][%+d][%+5d][%+d]\n", 42, 42, 42, 42, 42, -42);
    AS_PRINTF("[%8x][%-8x][%08x][%#10x][%#010x]\n", 0xabu, 0xabu, 0xabu, 0xabu, 0xabu);
    AS_PRINTF("[%*d][%-*d]\n", 6, 1, 6, 2);
    AS_PRINTF("%p\n", (void *)(uintptr_t)0x7fff12345678);
}

static void test_texts(void **state)
{
    (void)state;
    AS_PRINTF("[%s][%6s][%-6s][%2s]\n", "abc", "abc", "abc", "abc");
    AS_PRINTF("[%.2s][%5.1s][%-5.1s][%.0s][%.9s]\n", "abc", "abc", "abc", "abc", "abc");
    AS_PRINTF("[%c%c][%3c][%-3c]\n", 'x', 'y', 'z', 'w');
    IS("(null)\n", "%s\n", (char *)NULL);
    IS("[  (null)]\n", "[%8s]\n", (char *)NULL);
    AS_PRINTF("100 %%\n");
    // An unknown conversion is copied, without its flags.
    IS("%q %k\n", "%q %5k\n");
    IS("%", "%");
}

static void test_ends_of_the_last(void **state)
{
    (void)state;
    assert_int_equal(print("\n"), 1); // ends what the test before has left open
    printed();
    // A text longer than the buffer of 1024 bytes.
    static char many[3001];
    memset(many, 'm', 3000);
    assert_int_equal(print("%s\n", many), 3001);
    const char *got = printed();
    assert_int_equal(strlen(got), strlen(begin) + 3001);
    assert_memory_equal(got + strlen(begin), many, 3000);
    assert_string_equal(got + strlen(begin) + 3000, "\n");
}

// Six words and eight doubles are in registers, further ones on the stack, in one order.
static void test_arguments(void **state)
{
    (void)state;
    AS_PRINTF("%d %d %d %d %d %d %d %d %d\n", 1, 2, 3, 4, 5, 6, 7, 8, 9);
    AS_PRINTF("%.1f %.1f %.1f %.1f %.1f %.1f %.1f %.1f %.1f %.1f\n", 1.5, 2.5, 3.5, 4.5, 5.5, 6.5,
              7.5, 8.5, 9.5, 10.5);
    AS_PRINTF("%.1f %d %.1f %d %.1f %d %d %d %d %d %.1f %.1f %.1f %.1f %.1f %d %.1f\n", 1.5, 1, 2.5,
              2, 3.5, 3, 4, 5, 6, 7, 4.5, 5.5, 6.5, 7.5, 8.5, 8, 9.5);
}

static void test_doubles(void **state)
{
    static const double values[] = { 0,
                                     1,
                                     1.5,
                                     0.1,
                                     0.3333333333333333,
                                     99.996,
                                     1234567.8901,
                                     1e-7,
                                     123e15,
                                     4503599627370497.5,
                                     1e18,
                                     18446744073709549568.0 };

    (void)state;
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
        AS_PRINTF("%f\n", values[i]);
        AS_PRINTF("%f\n", -values[i]);
        AS_PRINTF("%.2f\n", values[i]);
        AS_PRINTF("%.0f\n", values[i] + 0.25);
        AS_PRINTF("[%+.3f][%30.1f][%-30.1f][%030.1f]\n", values[i], values[i], values[i],
                  values[i]);
    }
    AS_PRINTF("%.18f\n", 0.1);
    AS_PRINTF("%.2f %.1f\n", 0.999, 0.96);                 // carried into the whole
    AS_PRINTF("%f %f\n", 5e-324, 2.2250738585072009e-308); // the smallest, and one without the 1
    AS_PRINTF("[%6f][%06f][%-6f]\n", (double)INFINITY, -(double)INFINITY, (double)INFINITY);
    IS("nan\n", "%f\n", (double)NAN);
    // 2^64 is not shown in full: the mantissa and the power of two.
    IS("0x10000000000000p+12\n", "%f\n", 18446744073709551616.0);
    IS("0x10000000000001p+13\n", "%f\n", 36893488147419111424.0);
}

static void test_place(void **state)
{
    char expected[128];

    (void)state;
    map = mmap((void *)(uintptr_t)(SPOOLER_BASE + SPOOL_MAPS_OFF), 4096, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    assert_ptr_equal(map, (void *)(uintptr_t)(SPOOLER_BASE + SPOOL_MAPS_OFF));
    map[1] = (struct spool_map){ .start = 0x1000, .end = 0x2000, .offset = 0x300, .path = 7 };
    map[2] = (struct spool_map){ .start = 0x8000, .end = 0x9000 };
    print_place(0x1234);
    snprintf(expected, sizeof(expected), "==%d==    at 0x1234: /bin/x + 0x534\n", getpid());
    assert_string_equal(printed(), expected);
    print_place(0x8010);
    snprintf(expected, sizeof(expected), "==%d==    at 0x8010: generated code + 0x10\n", getpid());
    assert_string_equal(printed(), expected);
    assert_int_equal(locked, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),     cmocka_unit_test(test_integers),
        cmocka_unit_test(test_texts),     cmocka_unit_test(test_ends_of_the_last),
        cmocka_unit_test(test_arguments), cmocka_unit_test(test_doubles),
        cmocka_unit_test(test_place),
    };

    return cmocka_run_group_tests_name("engine/syscalls/print.c", tests, setup, NULL);
}
