// SPDX-License-Identifier: MIT
//
// Text for people: which characters are escaped, in which form, and that no others are. They are
// listed here again, by number: C0, DEL and C1 are those of ISO/IEC 6429, the others Bidi_Control,
// Line_Separator and Paragraph_Separator of Unicode.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/text.h"
#include "cli/base/util.h"

static void cleans(const char *text, const char *expected)
{
    char *clean = text_clean(text), *put = NULL;
    size_t size;
    FILE *f = open_memstream(&put, &size);

    assert_string_equal(clean, expected);
    free(clean);
    text_put(f, text);
    text_print(f, "|%s|", text);
    fclose(f);
    assert_int_equal(size, 2 * strlen(expected) + 2);
    assert_memory_equal(put, expected, strlen(expected));
    assert_memory_equal(put + strlen(expected) + 1, expected, strlen(expected));
    free(put);
}

static void test_forms(void **state)
{
    (void)state;
    cleans("", "");
    cleans("plain, and \\ and \\033 stay", "plain, and \\ and \\033 stay");
    cleans("\033[31mred\033[0m", "\\033[31mred\\033[0m");
    cleans("\a\b\t\n\v\f\r", "\\a\\b\\t\\n\\v\\f\\r");
    cleans("\001\006\016\037 \177", "\\001\\006\\016\\037 \\177");
    cleans("\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x98\x80", "\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x98\x80");
    cleans("\xc2\x9b", "\\302\\233"); // CSI as a character
    cleans("\x9b"
           "31m",
           "\\23331m");                        // and as a byte
    cleans("\xc2\xa0", "\xc2\xa0");            // U+00A0 is the first one behind them
    cleans("\xe2\x80\xae", "\\342\\200\\256"); // U+202E
    cleans("\xd8\x9c", "\\330\\234");          // U+061C
    cleans("\xe2\x80\xa8\xe2\x80\xa9", "\\342\\200\\250\\342\\200\\251");
    // Bytes that are not UTF-8, one by one: cut off, overlong, a surrogate, above U+10FFFF.
    cleans("a\xe6\xbc", "a\\346\\274");
    cleans("\xe6\xbcz", "\\346\\274z");
    cleans("\xc0\xaf", "\\300\\257");
    cleans("\xe0\x9f\xbf", "\\340\\237\\277");
    cleans("\xed\xa0\x80", "\\355\\240\\200");
    cleans("\xf4\x90\x80\x80", "\\364\\220\\200\\200");
    cleans("\xff\xfe", "\\377\\376");
}

static void test_lines(void **state)
{
    static const char line[] = "\tint a;\f\tb\033\r\r\n";
    static const char expected[] = "\tint a;\\f\tb\\033\\r";
    char *put = NULL;
    size_t size;
    FILE *f = open_memstream(&put, &size);

    (void)state;
    text_put_line(f, line, sizeof(line) - 1);
    text_put_line(f, "", 0);
    text_put_line(f, "\r\n", 2);
    text_put_line(f, "a\0b", 3);
    fclose(f);
    assert_int_equal(size, sizeof(expected) - 1 + 6);
    assert_memory_equal(put, expected, sizeof(expected) - 1);
    assert_memory_equal(put + sizeof(expected) - 1, "a\\000b", 6);
    free(put);
}

// ---- Every character, and any bytes ----

// As the standards list them.
static bool is_bad(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x061c || c == 0x200e || c == 0x200f ||
           c == 0x2028 || c == 0x2029 || (c >= 0x202a && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069);
}

static size_t encode(char *out, uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

// At each offset within eight bytes.
static void test_every_character(void **state)
{
    char text[32], expected[64];

    (void)state;
    for (uint32_t c = 1; c <= 0x10ffff; c++) {
        size_t at = c % 9, n, m = at;
        char *clean;

        if (c >= 0xd800 && c < 0xe000)
            continue;
        memset(text, 'x', sizeof(text));
        memset(expected, 'x', sizeof(expected));
        n = at + encode(text + at, c);
        strcpy(text + n, "yyyyyyyyy");
        for (size_t i = at; i < n; i++) {
            if (is_bad(c) && c >= 7 && c <= 13)
                m += (size_t)sprintf(expected + m, "\\%c", "abtnvfr"[c - 7]);
            else if (is_bad(c))
                m += (size_t)sprintf(expected + m, "\\%03o", (unsigned char)text[i]);
            else
                expected[m++] = text[i];
        }
        strcpy(expected + m, "yyyyyyyyy");
        clean = text_clean(text);
        if (strcmp(clean, expected) != 0)
            fail_msg("U+%04X: %s and not %s", (unsigned)c, clean, expected);
        free(clean);
    }
}

static uint32_t next_random(uint32_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 17;
    *x ^= *x << 5;
    return *x;
}

// Random bytes in which sequences often begin and end.
static void random_text(char *out, size_t n, uint32_t *x)
{
    static const uint8_t some[] = { 0x1b, 0x7f, 0x80, 0x9b, 0xc2, 0xe2,
                                    0x80, 0xaa, 0xf0, 0xed, 0xa0, ' ' };

    for (size_t i = 0; i < n; i++) {
        uint32_t r = next_random(x);
        uint8_t b = r & 0x100 ? (uint8_t)r : r & 0x200 ? 'a' : some[r % sizeof(some)];
        out[i] = (char)(b ? b : 1);
    }
    out[n] = '\0';
}

// Checks that text is UTF-8 without the characters above.
static void check_clean(const char *s)
{
    size_t n = strlen(s), length;

    for (size_t i = 0; i < n; i += length) {
        int32_t c = text_decode(s + i, n - i, &length);
        char again[4];

        if (c < 0 || is_bad((uint32_t)c))
            fail_msg("%d is left at %zu", c, i);
        assert_int_equal(encode(again, (uint32_t)c), length);
        assert_memory_equal(again, s + i, length);
    }
}

static void test_random_bytes(void **state)
{
    uint32_t x = 2463534242;
    char text[80];

    (void)state;
    for (int i = 0; i < 300000; i++) {
        random_text(text, next_random(&x) % (sizeof(text) - 1), &x);
        char *once = text_clean(text), *twice = text_clean(once);

        check_clean(once);
        assert_string_equal(once, twice);
        free(once);
        free(twice);
    }
}

// ---- Formats ----

// The result is that of snprintf(), where nothing is escaped.
#define SAME(...)                                        \
    do {                                                 \
        char wanted_[1200];                              \
        snprintf(wanted_, sizeof(wanted_), __VA_ARGS__); \
        char *got_ = printed(__VA_ARGS__);               \
        assert_string_equal(got_, wanted_);              \
        free(got_);                                      \
    } while (0)

static char *printed(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static char *printed(const char *fmt, ...)
{
    char *out = NULL;
    size_t size;
    FILE *f = open_memstream(&out, &size);
    va_list ap;

    va_start(ap, fmt);
    text_vprint(f, fmt, ap);
    va_end(ap);
    fclose(f);
    assert_int_equal(strlen(out), size);
    return out;
}

static void test_formats(void **state)
{
    (void)state;
    SAME("nothing%%, %s and %-9s|%9s|%.2s|%.*s|%*s|%-*s|\n", "a", "left", "right", "cut", 1, "cut",
         5, "w", -5, "w");
    SAME("%d %5d %-5d| %05d %+d %i %u %x %#x %X %o", -1, 2, 3, 4, 5, 6, 7u, 255u, 255u, 255u, 8u);
    SAME("%hhd %hd %ld %lld %jd %zd %td", 300, 70000, -5L, -6LL, (intmax_t)-7, (ssize_t)-8,
         (ptrdiff_t)-9);
    SAME("%hhu %hu %lu %llu %ju %zu %016llx", 300, 70000, 5UL, ~0ULL, (uintmax_t)7, (size_t)8,
         0xabcULL);
    SAME("%g %.2f %6.1f %+.3e %a %.2Lf %*.*f", 0.1, 2.345, 9.99, 12345.678, 1.0, 1e30L, 9, 3, 1.0);
    SAME("%p %c%c", (void *)state, 'x', 'y');
    SAME("%1000d|%s", 1, "more than the room that there is at first");
    char *out = printed("%s: %6s|%-6s|%c|%.1s\n", "a\nb", "\033", "\033", '\r', "\xc3\xa9");
    assert_string_equal(out, "a\\nb:   \\033|\\033  |\\r|\\303\n");
    free(out);
}

static void test_long(void **state)
{
    char *name = malloc(20001), *out;

    (void)state;
    memset(name, 'n', 20000);
    name[20000] = '\0';
    out = printed("<%s>", name);
    assert_int_equal(strlen(out), 20002);
    free(out);
    memset(name, 1, 20000);
    out = printed("<%s>", name);
    assert_int_equal(strlen(out), 80002);
    free(out);
    free(name);
}

// A message is one line, whatever it contains.
static void test_message(void **state)
{
    static const char expected[] = "quern: a\\nquern: b\\033[2J: no such file\n";
    char text[64] = "";
    int ends[2], old = dup(STDERR_FILENO);

    (void)state;
    assert_int_equal(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    warn("%s: %s", "a\nquern: b\033[2J", "no such file");
    dup2(old, STDERR_FILENO);
    assert_int_equal(read(ends[0], text, sizeof(text) - 1), sizeof(expected) - 1);
    assert_string_equal(text, expected);
    close(ends[0]);
    close(ends[1]);
    close(old);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),           cmocka_unit_test(test_lines),
        cmocka_unit_test(test_every_character), cmocka_unit_test(test_random_bytes),
        cmocka_unit_test(test_formats),         cmocka_unit_test(test_long),
        cmocka_unit_test(test_message),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
