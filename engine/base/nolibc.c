// SPDX-License-Identifier: MIT
// What the engine has instead of a libc (nolibc.h). The compilers call memcpy, memmove, memset and
// memcmp by themselves, so those four must exist under these names. Cold, except memcpy and memset,
// which move whole records in the translator.
//
// Only general registers, like all of the engine. Long copies use string instructions, which need
// the direction flag clear: the entries from client code clear it (stubs.S; the kernel for
// handlers).
#include "engine/base/nolibc.h"

#include "engine/base/sys.h"

#undef memcpy
#undef memset

// gcc would turn the loops below into calls of the very functions that contain them.
#if defined(__GNUC__) && !defined(__clang__)
#    pragma GCC optimize("no-tree-loop-distribute-patterns")
#endif

#define LONG_COPY 512 // from here on a string instruction is faster despite its start-up time

int engine_log_fd = 2;
void (*engine_check_log)(void);
void (*engine_at_die)(void);

// ---- Memory ----

void *memcpy(void *restrict dst, const void *restrict src, size_t n)
{
    u8 *d = dst;
    const u8 *s = src;

    if (n >= LONG_COPY) {
        __asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
        return dst;
    }
    for (; n >= 8; n -= 8, d += 8, s += 8) {
        u64 word;
        __builtin_memcpy(&word, s, 8);
        __builtin_memcpy(d, &word, 8);
    }
    while (n--)
        *d++ = *s++;
    return dst;
}

void *memmove(void *dst, const void *src, size_t n)
{
    u8 *d = dst;
    const u8 *s = src;

    // Upwards, unless dst is inside the source.
    if ((u64)d - (u64)s >= n) {
        if ((u64)s - (u64)d >= 8)
            return memcpy(dst, src, n);
        while (n--)
            *d++ = *s++;
        return dst;
    }
    while (n--)
        d[n] = s[n];
    return dst;
}

void *memset(void *dst, int c, size_t n)
{
    u8 *d = dst;
    u64 word = (u8)c * 0x0101010101010101ul;

    if (n >= LONG_COPY) {
        __asm__ volatile("rep stosb" : "+D"(d), "+c"(n) : "a"(c) : "memory");
        return dst;
    }
    for (; n >= 8; n -= 8, d += 8)
        __builtin_memcpy(d, &word, 8);
    while (n--)
        *d++ = (u8)c;
    return dst;
}

int memcmp(const void *a, const void *b, size_t n)
{
    const u8 *x = a, *y = b;

    for (; n; n--, x++, y++)
        if (*x != *y)
            return *x < *y ? -1 : 1;
    return 0;
}

// ---- Strings ----

size_t strlen(const char *s)
{
    size_t n = 0;

    while (s[n])
        n++;
    return n;
}

size_t strnlen(const char *s, size_t max)
{
    size_t n = 0;

    while (n < max && s[n])
        n++;
    return n;
}

int strcmp(const char *a, const char *b)
{
    for (; *a && *a == *b; a++, b++)
        ;
    return (u8)*a - (u8)*b;
}

int strncmp(const char *a, const char *b, size_t n)
{
    for (; n && *a && *a == *b; n--, a++, b++)
        ;
    return n ? (u8)*a - (u8)*b : 0;
}

char *strchr(const char *s, int c)
{
    for (;; s++) {
        if (*s == (char)c)
            return (char *)(u64)s;
        if (!*s)
            return NULL;
    }
}

char *strrchr(const char *s, int c)
{
    const char *last = NULL;

    for (;; s++) {
        if (*s == (char)c)
            last = s;
        if (!*s)
            return (char *)(u64)last;
    }
}

const char *nolibc_basename(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

long nolibc_number(const char *s)
{
    long n = 0;

    if (!*s)
        return -EINVAL;
    for (; *s; s++) {
        if (*s < '0' || *s > '9')
            return -EINVAL;
        n = n * 10 + (*s - '0');
        if (n > 0x7fffffff)
            return -EINVAL;
    }
    return n;
}

// Backtracks to the last * only: when the text after it does not match, it takes one character
// more.
bool nolibc_glob(const char *pattern, const char *s)
{
    const char *star = NULL, *retry = NULL;

    while (*s) {
        if (*pattern == '*') {
            star = pattern++;
            retry = s;
        } else if (*pattern == '?' || *pattern == *s) {
            pattern++;
            s++;
        } else if (star) {
            pattern = star + 1;
            s = ++retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

// ---- Formatting ----

struct out {
    char *buf;
    u64 size, len;
};

static void put(struct out *o, char c)
{
    if (o->len + 1 < o->size)
        o->buf[o->len] = c;
    o->len++;
}

static void put_field(struct out *o, const char *s, u64 len, u64 width, bool left, char fill)
{
    if (!left)
        for (u64 i = len; i < width; i++)
            put(o, fill);
    for (u64 i = 0; i < len; i++)
        put(o, s[i]);
    if (left)
        for (u64 i = len; i < width; i++)
            put(o, ' ');
}

static void put_number(struct out *o, u64 value, u32 base, bool negative, u64 width, bool left,
                       char fill)
{
    char digits[24];
    u64 at = sizeof(digits);

    do {
        digits[--at] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value);
    if (negative)
        digits[--at] = '-';
    put_field(o, digits + at, sizeof(digits) - at, width, left, fill);
}

u64 nolibc_vformat(char *buf, u64 size, const char *fmt, va_list ap)
{
    struct out o = { buf, size, 0 };

    for (; *fmt; fmt++) {
        if (*fmt != '%') {
            put(&o, *fmt);
            continue;
        }

        bool left = false, wide = false;
        char fill = ' ';
        u64 width = 0;
        for (fmt++; *fmt == '-' || *fmt == '0'; fmt++) {
            left |= *fmt == '-';
            if (*fmt == '0')
                fill = '0';
        }
        for (; *fmt >= '0' && *fmt <= '9'; fmt++)
            width = width * 10 + (u64)(*fmt - '0');
        for (; *fmt == 'l'; fmt++)
            wide = true;

        switch (*fmt) {
        case 'd': {
            s64 v = wide ? va_arg(ap, s64) : va_arg(ap, s32);
            put_number(&o, v < 0 ? -(u64)v : (u64)v, 10, v < 0, width, left, fill);
            break;
        }
        case 'u':
        case 'x':
            put_number(&o, wide ? va_arg(ap, u64) : va_arg(ap, u32), *fmt == 'u' ? 10 : 16, false,
                       width, left, fill);
            break;
        case 's': {
            const char *s = va_arg(ap, const char *);
            if (!s)
                s = "(null)";
            put_field(&o, s, strlen(s), width, left, ' ');
            break;
        }
        case 'c': {
            char c = (char)va_arg(ap, int);
            put_field(&o, &c, 1, width, left, ' ');
            break;
        }
        default: put(&o, *fmt); break;
        }
        if (!*fmt)
            break;
    }
    if (size)
        buf[o.len < size ? o.len : size - 1] = '\0';
    return o.len;
}

u64 nolibc_format(char *buf, u64 size, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    u64 len = nolibc_vformat(buf, size, fmt, ap);
    va_end(ap);
    return len;
}

// ---- Messages ----

static void message(const char *fmt, va_list ap)
{
    char line[4096];
    u64 len = nolibc_format(line, sizeof(line), "==%d== ", sys_getpid());

    len += nolibc_vformat(line + len, sizeof(line) - len - 1, fmt, ap);
    if (len > sizeof(line) - 2)
        len = sizeof(line) - 2;
    line[len++] = '\n';
    if (engine_check_log)
        engine_check_log();
    for (u64 done = 0; done < len;) {
        long n = sys_write(engine_log_fd, line + done, len - done);
        if (n == -EINTR || n == -EAGAIN)
            continue;
        if (n <= 0)
            return;
        done += (u64)n;
    }
}

void engine_msg(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    message(fmt, ap);
    va_end(ap);
}

void engine_die(const char *fmt, ...)
{
    void (*at_die)(void) = engine_at_die;
    va_list ap;

    va_start(ap, fmt);
    message(fmt, ap);
    va_end(ap);
    engine_at_die = NULL; // it may die itself, if memory was overwritten
    if (at_die)
        at_die();
    sys_exit_group(ENGINE_DIE_STATUS);
}
