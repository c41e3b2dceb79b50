// SPDX-License-Identifier: MIT
// VALGRIND_PRINTF (print.h). Conversions: d i u x X p s c f and %, with flags, width, precision and
// length; others are copied unchanged. The engine has no floating point: %f is computed from the
// number's bits, in full below 2^64.
#include "engine/syscalls/print.h"

#include "engine/base/clientmem.h"
#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/codecache/tcache.h"
#include "engine/codecache/vmmap.h"
#include "engine/spool/spooler.h"

// System V ABI, AMD64 supplement, 3.5.7.
struct list {
    u32 gp, fp; // offsets in the saved registers
    u64 overflow, saved;
};

struct out {
    char buffer[1024];
    u32 used;
    u64 length; // of all output
};

struct conversion {
    bool left, zero, plus, alternate;
    u32 width, length; // length: number of l
    s32 precision;     // -1: none
};

static bool within_line; // the last text did not end its line

static void flush(struct out *o)
{
    if (o->used && engine_log_fd >= 0)
        sys_write(engine_log_fd, o->buffer, o->used);
    o->used = 0;
}

static void put(struct out *o, char c)
{
    if (o->used + 32 > sizeof(o->buffer))
        flush(o);
    if (!within_line)
        o->used += (u32)nolibc_format(o->buffer + o->used, 32, "**%d** ", sys_getpid());
    within_line = c != '\n';
    o->buffer[o->used++] = c;
    o->length++;
}

static void pad(struct out *o, char c, u64 n)
{
    while (n-- > 0)
        put(o, c);
}

// A number's digits after its sign or prefix.
static void put_field(struct out *o, const struct conversion *c, const char *sign, const char *text,
                      u64 n)
{
    u64 all = strlen(sign) + n, room = c->width > all ? c->width - all : 0;

    if (!c->left && !c->zero)
        pad(o, ' ', room);
    for (; *sign; sign++)
        put(o, *sign);
    if (!c->left && c->zero)
        pad(o, '0', room);
    for (u64 i = 0; i < n; i++)
        put(o, text[i]);
    if (c->left)
        pad(o, ' ', room);
}

// ---- Arguments ----

static u64 next(struct list *l)
{
    u64 at = l->overflow, value = 0;

    if (l->gp < 48) {
        at = l->saved + l->gp;
        l->gp += 8;
    } else {
        l->overflow += 8;
    }
    clientmem_read_u64(at, &value);
    return value;
}

static u64 next_double(struct list *l)
{
    u64 at = l->overflow, value = 0;

    if (l->fp < 176) {
        at = l->saved + l->fp;
        l->fp += 16;
    } else {
        l->overflow += 8;
    }
    clientmem_read_u64(at, &value);
    return value;
}

// ---- Conversions ----

static void put_number(struct out *o, const struct conversion *c, const char *sign, u64 value,
                       char format)
{
    const char *how = format == 'x' ? "%lx" : "%lu";
    char digits[24];
    u64 n = nolibc_format(digits, sizeof(digits), how, value);

    if (format == 'X') {
        n = nolibc_format(digits, sizeof(digits), "%lx", value);
        for (u64 i = 0; i < n; i++)
            digits[i] = (char)(digits[i] >= 'a' ? digits[i] - 'a' + 'A' : digits[i]);
    }
    put_field(o, c, sign, digits, n);
}

static void put_string(struct out *o, const struct conversion *c, u64 at)
{
    u64 most = c->precision >= 0 ? (u64)c->precision : ~0ul >> 1, n;
    s64 len = at ? clientmem_strnlen(at, most) : -EFAULT;
    char one;

    if (len < 0) {
        put_field(o, c, "", at ? "(unreadable)" : "(null)", at ? 12 : 6);
        return;
    }
    n = (u64)len;
    if (!c->left && c->width > n)
        pad(o, ' ', c->width - n);
    for (u64 i = 0; i < n && clientmem_read(&one, at + i, 1) == 0; i++)
        put(o, one);
    if (c->left && c->width > n)
        pad(o, ' ', c->width - n);
}

// value is mantissa / 2^shift.
static void put_fraction(struct out *o, const struct conversion *c, const char *sign, u64 mantissa,
                         u32 shift)
{
    u32 digits = c->precision < 0 ? 6 : c->precision > 18 ? 18 : (u32)c->precision;
    u64 whole = shift < 64 ? mantissa >> shift : 0, power = 1, scaled = 0;
    char text[64];

    for (u32 i = 0; i < digits; i++)
        power *= 10;
    if (shift > 0 && shift < 127) {
        u64 rest = shift < 64 ? mantissa & ((1ul << shift) - 1) : mantissa;
        unsigned __int128 half = (unsigned __int128)1 << (shift - 1);

        scaled = (u64)(((unsigned __int128)rest * power + half) >> shift);
    }
    if (scaled == power) {
        scaled = 0;
        whole++;
    }
    if (digits) {
        char fraction[24];

        // the leading 1 keeps the zeros after it
        nolibc_format(fraction, sizeof(fraction), "%lu", scaled + power);
        nolibc_format(text, sizeof(text), "%lu.%s", whole, fraction + 1);
    } else {
        nolibc_format(text, sizeof(text), "%lu", whole);
    }
    put_field(o, c, sign, text, strlen(text));
}

static void put_double(struct out *o, struct conversion *c, u64 bits)
{
    u32 exponent = bits >> 52 & 0x7ff;
    u64 mantissa = bits & ((1ul << 52) - 1);
    const char *sign = bits >> 63 ? "-" : c->plus ? "+" : "";
    char text[32];

    if (exponent == 0x7ff) {
        c->zero = false;
        put_field(o, c, sign, mantissa ? "nan" : "inf", 3);
        return;
    }
    if (exponent)
        mantissa |= 1ul << 52;
    else
        exponent = 1;
    if (exponent <= 1075) {
        put_fraction(o, c, sign, mantissa, 1075 - exponent);
    } else if (exponent - 1075 < 12) {
        put_fraction(o, c, sign, mantissa << (exponent - 1075), 0);
    } else {
        put_field(o, c, sign, text,
                  nolibc_format(text, sizeof(text), "0x%lxp+%u", mantissa, exponent - 1075));
    }
}

static void put_integer(struct out *o, struct conversion *c, char format, u64 value)
{
    const char *sign = "";

    if (format == 'd' || format == 'i') {
        s64 v = c->length ? (s64)value : (s32)value;

        sign = v < 0 ? "-" : c->plus ? "+" : "";
        value = v < 0 ? -(u64)v : (u64)v;
    } else if (!c->length && format != 'p') {
        value = (u32)value;
    }
    if (format == 'p' || (c->alternate && (format == 'x' || format == 'X')))
        sign = "0x";
    put_number(o, c, sign, value, format == 'p' ? 'x' : format);
}

static void put_conversion(struct out *o, struct conversion *c, char format, struct list *l)
{
    char one;

    switch (format) {
    case 'd':
    case 'i':
    case 'u':
    case 'x':
    case 'X':
    case 'p': put_integer(o, c, format, next(l)); break;
    case 's': put_string(o, c, next(l)); break;
    case 'f': put_double(o, c, next_double(l)); break;
    case 'c':
        one = (char)next(l);
        put_field(o, c, "", &one, 1);
        break;
    case '%': put(o, '%'); break;
    default:
        put(o, '%');
        if (format)
            put(o, format);
    }
}

// ---- The format ----

static char at(u64 text)
{
    char c = '\0';

    clientmem_read(&c, text, 1);
    return c;
}

static u64 read_flags(u64 f, struct conversion *c)
{
    for (;; f++) {
        switch (at(f)) {
        case '-': c->left = true; break;
        case '0': c->zero = true; break;
        case '+': c->plus = true; break;
        case '#': c->alternate = true; break;
        case ' ': break;
        default: return f;
        }
    }
}

static u64 read_count(u64 f, u32 *count, struct list *l)
{
    if (at(f) == '*') {
        *count = (u32)next(l) & 0xffff;
        return f + 1;
    }
    for (*count = 0; at(f) >= '0' && at(f) <= '9'; f++)
        *count = (*count * 10 + (u32)(at(f) - '0')) & 0xffff;
    return f;
}

// Parses what follows a percent sign. Returns the position of its letter.
static u64 read_conversion(u64 f, struct conversion *c, struct list *l)
{
    u32 count;

    *c = (struct conversion){ .precision = -1 };
    f = read_flags(f, c);
    f = read_count(f, &c->width, l);
    if (at(f) == '.') {
        f = read_count(f + 1, &count, l);
        c->precision = (s32)count;
    }
    for (;; f++) {
        char letter = at(f);

        if (letter == 'l' || letter == 'z' || letter == 'j' || letter == 't')
            c->length++;
        else if (letter != 'h')
            return f;
    }
}

u64 print_client(u64 format, u64 list)
{
    struct out o = { .used = 0 };
    struct list l = { 0 };
    char c;

    if (clientmem_read(&l, list, sizeof(l)))
        return 0;
    for (; (c = at(format)); format++) {
        struct conversion how;

        if (c != '%') {
            put(&o, c);
            continue;
        }
        format = read_conversion(format + 1, &how, &l);
        c = at(format);
        put_conversion(&o, &how, c, &l);
        if (!c)
            break;
    }
    flush(&o);
    return o.length;
}

void print_place(u64 pc)
{
    const struct spool_map *m = (const struct spool_map *)(SPOOLER_BASE + SPOOL_MAPS_OFF);
    const char *path;

    tcache_lock();
    m += vmmap_spool_map(pc);
    tcache_unlock();
    path = spooler_string(m->path);
    within_line = false;
    engine_msg("   at 0x%lx: %s + 0x%lx", pc, *path ? path : "generated code",
               pc - m->start + m->offset);
}
