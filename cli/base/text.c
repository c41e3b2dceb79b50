// SPDX-License-Identifier: MIT
//
// Nearly all text is clean. It is scanned 16 bytes at a time and written unchanged: sources and
// tables of hundreds of megabytes come through here.
#include "cli/base/text.h"

#include <emmintrin.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

// ---- Characters ----

int32_t text_decode(const char *s, size_t size, size_t *length)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const uint8_t *u = (const uint8_t *)s;
    uint8_t first = u[0];
    size_t n = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    uint32_t c = n == 1 ? first : n ? first & (0x7fu >> n) : 0;

    *length = 1;
    if (!n || n > size || first > 0xf4)
        return -1;
    for (size_t i = 1; i < n; i++) {
        if ((u[i] & 0xc0) != 0x80)
            return -1;
        c = c << 6 | (u[i] & 0x3f);
    }
    if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return -1;
    *length = n;
    return (int32_t)c;
}

bool text_is_shown(int32_t c)
{
    if (c < 0x7f)
        return c >= 0x20;
    if (c < 0x2000)
        return c >= 0xa0 && c != 0x61c;
    return !(c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
             (c >= 0x2066 && c <= 0x2069));
}

size_t text_cut(const char *s, size_t n)
{
    size_t size = strnlen(s, n + 1), length, cut = n;

    if (size <= n)
        return size;
    while (cut && n - cut < 3 && ((uint8_t)s[cut] & 0xc0) == 0x80)
        cut--;
    // Bytes that are not UTF-8 may be cut anywhere.
    size = strnlen(s + cut, 4);
    return text_decode(s + cut, size, &length) >= 0 && cut + length > n ? cut : n;
}

size_t text_escape(char out[TEXT_ESCAPED], const char *s, size_t n)
{
    static const char named[] = "abtnvfr"; // bytes 7 to 13
    char *o = out;

    for (size_t i = 0; i < n; i++) {
        uint8_t b = (uint8_t)s[i];

        *o++ = '\\';
        if (b >= 7 && b <= 13) {
            *o++ = named[b - 7];
            continue;
        }
        *o++ = (char)('0' + (b >> 6));
        *o++ = (char)('0' + (b >> 3 & 7));
        *o++ = (char)('0' + (b & 7));
    }
    *o = '\0';
    return (size_t)(o - out);
}

// A bit for each of the 16 bytes at s that is neither from ' ' to '~' nor `keep`. Bytes from 0x80
// on are negative.
static inline unsigned not_plain(const char *s, char keep)
{
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)s);
    __m128i low = _mm_cmplt_epi8(v, _mm_set1_epi8(' '));

    low = _mm_andnot_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8(keep)), low);
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(low, _mm_cmpeq_epi8(v, _mm_set1_epi8(0x7f))));
}

// The first byte from i on that is not plain, or n.
static inline size_t skip_plain(const char *s, size_t i, size_t n, char keep)
{
    unsigned bits;

    for (; n - i >= 16; i += 16)
        if ((bits = not_plain(s + i, keep)))
            return i + (unsigned)__builtin_ctz(bits);
    if (n >= 16) { // the last 16 bytes, some of them for the second time
        bits = not_plain(s + n - 16, keep) >> (16 - (n - i));
        return bits ? i + (unsigned)__builtin_ctz(bits) : n;
    }
    while (i < n && ((s[i] >= ' ' && s[i] < 0x7f) || s[i] == keep))
        i++;
    return i;
}

// How many of the bytes, from the first on, are shown unchanged. `keep` is a control character that
// is, too, or ' ' for none.
static inline size_t clean_bytes(const char *s, size_t n, char keep)
{
    size_t i = 0, length;

    while ((i = skip_plain(s, i, n, keep)) < n) {
        if (!text_is_shown(text_decode(s + i, n - i, &length)))
            break;
        i += length;
    }
    return i;
}

// The visible form of the character at *s, which is then advanced past it.
static size_t escape_next(char out[TEXT_ESCAPED], const char **s, const char *end)
{
    const char *at = *s;
    size_t length;

    text_decode(at, (size_t)(end - at), &length);
    *s = at + length;
    return text_escape(out, at, length);
}

// ---- Strings ----

static void put(FILE *f, const char *s, size_t n, char keep)
{
    const char *end = s + n;
    char escaped[TEXT_ESCAPED];

    for (;;) {
        size_t clean = clean_bytes(s, (size_t)(end - s), keep);

        if (clean)
            fwrite_unlocked(s, 1, clean, f);
        s += clean;
        if (s == end)
            return;
        fwrite_unlocked(escaped, 1, escape_next(escaped, &s, end), f);
    }
}

size_t text_clean_bytes(const char *s, size_t n)
{
    return clean_bytes(s, n, ' ');
}

void text_put(FILE *f, const char *s)
{
    put(f, s, strlen(s), ' ');
}

void text_put_line(FILE *f, const char *s, size_t n)
{
    n -= n && s[n - 1] == '\n';
    n -= n && s[n - 1] == '\r';
    put(f, s, n, '\t');
}

// ---- Formats ----

static void begin(struct text_line *k)
{
    k->at = k->first;
    k->used = 0;
    k->capacity = sizeof(k->first);
}

static void end(struct text_line *k)
{
    if (k->at != k->first)
        free(k->at);
}

// Not xrealloc() of util.c: its message is formatted here. This message is written as it is.
static void *memory(void *old, size_t size)
{
    void *p = realloc(old, size);
    char out[64];

    if (!p) {
        int n = snprintf(out, sizeof(out), "quern: out of memory (%zu bytes wanted)\n", size);
        (void)!write(STDERR_FILENO, out, (size_t)n);
        exit(TEXT_NO_MEMORY);
    }
    return p;
}

// Makes space for n more bytes and a NUL.
static char *space_for(struct text_line *k, size_t n)
{
    if (n >= k->capacity - k->used) {
        char *old = k->at == k->first ? NULL : k->at;

        k->capacity = (k->used + n + 1) * 2;
        k->at = memory(old, k->capacity);
        if (!old)
            memcpy(k->at, k->first, k->used);
    }
    return k->at + k->used;
}

static void add(struct text_line *k, const char *s, size_t n)
{
    memcpy(space_for(k, n), s, n);
    k->used += n;
}

static void add_clean(struct text_line *k, const char *s, size_t n)
{
    const char *end = s + n;
    char escaped[TEXT_ESCAPED];

    for (;;) {
        size_t clean = clean_bytes(s, (size_t)(end - s), ' ');

        add(k, s, clean);
        s += clean;
        if (s == end)
            return;
        add(k, escaped, escape_next(escaped, &s, end));
    }
}

static void pad(struct text_line *k, int n)
{
    if (n > 0) {
        memset(space_for(k, (size_t)n), ' ', (size_t)n);
        k->used += (size_t)n;
    }
}

// A conversion: its flags, its numbers (-1: not given), and the letters at its end.
struct conversion {
    char flags[8], length[3], letter;
    int width, precision;
};

static void add_text(struct text_line *k, const struct conversion *c, const char *s, size_t n)
{
    bool left = strchr(c->flags, '-') != NULL;
    struct text_line one;

    if (c->width < 0) {
        add_clean(k, s, n);
        return;
    }
    begin(&one);
    add_clean(&one, s, n);
    int rest = one.used < (size_t)c->width ? c->width - (int)one.used : 0;
    pad(k, left ? 0 : rest);
    add(k, one.at, one.used);
    pad(k, left ? rest : 0);
    end(&one);
}

// The conversion as a format of its own, with numbers in place of each *. `length`: the modifier
// for the type of the value.
static void number_format(char out[48], const struct conversion *c, const char *length)
{
    int n = snprintf(out, 48, "%%%s", c->flags);

    if (c->width >= 0)
        n += snprintf(out + n, 48 - (size_t)n, "%d", c->width);
    if (c->precision >= 0)
        n += snprintf(out + n, 48 - (size_t)n, ".%d", c->precision);
    snprintf(out + n, 48 - (size_t)n, "%s%c", length, c->letter);
}

// `value` has the type that `length` and the letter say.
#define ADD_NUMBER(k, c, length, value)                     \
    do {                                                    \
        char format_[48];                                   \
        __auto_type v_ = value;                             \
        number_format(format_, c, length);                  \
        size_t n_ = (size_t)snprintf(NULL, 0, format_, v_); \
        snprintf(space_for(k, n_), n_ + 1, format_, v_);    \
        (k)->used += n_;                                    \
    } while (0)

static intmax_t signed_of(const struct conversion *c, va_list *ap)
{
    switch (*c->length) {
    case 'l': return c->length[1] ? va_arg(*ap, long long) : va_arg(*ap, long);
    case 'j': return va_arg(*ap, intmax_t);
    case 'z': return va_arg(*ap, ssize_t);
    case 't': return va_arg(*ap, ptrdiff_t);
    case 'h': {
        int v = va_arg(*ap, int);
        return c->length[1] ? (signed char)v : (short)v;
    }
    default: return va_arg(*ap, int);
    }
}

static uintmax_t unsigned_of(const struct conversion *c, va_list *ap)
{
    switch (*c->length) {
    case 'l': return c->length[1] ? va_arg(*ap, unsigned long long) : va_arg(*ap, unsigned long);
    case 'j': return va_arg(*ap, uintmax_t);
    case 'z': return va_arg(*ap, size_t);
    case 't': return (uintmax_t)va_arg(*ap, ptrdiff_t);
    case 'h': {
        unsigned v = va_arg(*ap, unsigned);
        return c->length[1] ? (unsigned char)v : (unsigned short)v;
    }
    default: return va_arg(*ap, unsigned);
    }
}

static void convert(struct text_line *k, const struct conversion *c, va_list *ap)
{
    switch (c->letter) {
    case '%': add(k, "%", 1); break;
    case 's': {
        const char *s = va_arg(*ap, const char *);
        s = s ? s : "(null)";
        add_text(k, c, s, c->precision < 0 ? strlen(s) : strnlen(s, (size_t)c->precision));
        break;
    }
    case 'c': {
        char one = (char)va_arg(*ap, int);
        add_text(k, c, &one, 1);
        break;
    }
    case 'd':
    case 'i': ADD_NUMBER(k, c, "j", signed_of(c, ap)); break;
    case 'p': ADD_NUMBER(k, c, "", va_arg(*ap, void *)); break;
    case 'a':
    case 'e':
    case 'f':
    case 'g':
    case 'A':
    case 'E':
    case 'F':
    case 'G':
        if (*c->length == 'L')
            ADD_NUMBER(k, c, "L", va_arg(*ap, long double));
        else
            ADD_NUMBER(k, c, "", va_arg(*ap, double));
        break;
    default: ADD_NUMBER(k, c, "j", unsigned_of(c, ap));
    }
}

static int number_of(const char **fmt, va_list *ap)
{
    int n = 0;

    if (**fmt == '*') {
        ++*fmt;
        return va_arg(*ap, int);
    }
    for (; **fmt >= '0' && **fmt <= '9'; ++*fmt)
        n = n * 10 + (**fmt - '0');
    return n;
}

// What follows a %, up to its letter.
static struct conversion conversion_of(const char **fmt, va_list *ap)
{
    struct conversion c = { .width = -1, .precision = -1 };
    size_t n;

    n = strspn(*fmt, "-+ #0'");
    memcpy(c.flags, *fmt, n < sizeof(c.flags) - 2 ? n : sizeof(c.flags) - 2);
    *fmt += n;
    if (**fmt == '*' || (**fmt >= '1' && **fmt <= '9'))
        c.width = number_of(fmt, ap);
    if (c.width < -1) {
        strcat(c.flags, "-");
        c.width = -c.width;
    }
    if (**fmt == '.') {
        ++*fmt;
        c.precision = number_of(fmt, ap);
    }
    n = strspn(*fmt, "hlLjzt");
    memcpy(c.length, *fmt, n < sizeof(c.length) - 1 ? n : sizeof(c.length) - 1);
    *fmt += n;
    c.letter = **fmt;
    *fmt += c.letter != '\0';
    return c;
}

static void format(struct text_line *k, const char *fmt, va_list ap)
{
    va_list args; // a copy whose address can be taken: as a parameter it may be a pointer

    va_copy(args, ap);
    for (;;) {
        const char *next = strchrnul(fmt, '%');

        add(k, fmt, (size_t)(next - fmt));
        if (!*next)
            break;
        fmt = next + 1;
        struct conversion c = conversion_of(&fmt, &args);
        convert(k, &c, &args);
    }
    va_end(args);
}

void text_vprint(FILE *f, const char *fmt, va_list ap)
{
    struct text_line k;

    begin(&k);
    format(&k, fmt, ap);
    fwrite_unlocked(k.at, 1, k.used, f);
    end(&k);
}

void text_print(FILE *f, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    text_vprint(f, fmt, ap);
    va_end(ap);
}

void text_format(char *out, size_t size, const char *fmt, va_list ap)
{
    struct text_line k;

    begin(&k);
    format(&k, fmt, ap);
    *space_for(&k, 0) = '\0';
    size = text_cut(k.at, size - 1);
    memcpy(out, k.at, size);
    out[size] = '\0';
    end(&k);
}

void text_line_make(struct text_line *k, const char *before, const char *fmt, va_list ap,
                    const char *behind)
{
    begin(k);
    add(k, before, strlen(before));
    format(k, fmt, ap);
    add(k, behind, strlen(behind));
}

void text_line_free(struct text_line *k)
{
    end(k);
}

char *text_clean(const char *s)
{
    struct text_line k;
    char *out;

    begin(&k);
    add_clean(&k, s, strlen(s));
    out = memcpy(memory(NULL, k.used + 1), k.at, k.used);
    out[k.used] = '\0';
    end(&k);
    return out;
}
