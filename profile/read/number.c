// SPDX-License-Identifier: MIT
//
// Numbers that are not plain decimal. Cold.
#include "profile/read/number.h"

static int hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Largest magnitude: 10^20 is above 2^64, and 10^9 records of it in units of 10^-9 still sum to
// less than 2^127.
#define WIDE_MAX ((quern_count)1000000000000000000 * 100 * NANO)

struct number {
    quern_count v; // the digits, then in units of 10^-9
    bool over;     // above WIDE_MAX
    bool lost;     // digits after the ninth of the fraction, other than 0
};

static const char *get_hex(const char *s, const char *end, struct number *x)
{
    for (; s < end && hex_digit(*s) >= 0; s++) {
        if (x->v > WIDE_MAX / NANO / 16 - 1)
            x->over = true;
        else
            x->v = x->v * 16 + hex_digit(*s);
    }
    x->v *= NANO;
    return s;
}

// Collects digits, at most nine of those after the point. *point: how many those are. NULL: no
// digit.
static const char *get_digits(const char *s, const char *end, struct number *x, int *point)
{
    bool any = false, behind = false;

    for (*point = 0; s < end; s++) {
        if (*s == '.' && !behind) {
            behind = true;
            continue;
        }
        if (!is_digit(*s))
            break;
        any = true;
        if (*point >= 9 || x->over) {
            x->lost |= *s != '0';
            continue;
        }
        if (x->v > WIDE_MAX / 10 - 1)
            x->over = true;
        else
            x->v = x->v * 10 + (*s - '0');
        if (behind)
            ++*point;
    }
    return any ? s : NULL;
}

// "e-9" and the like; other text is not consumed.
static const char *get_exponent(const char *s, const char *end, int *exponent)
{
    const char *digits = s + 1;
    bool negative = false;

    *exponent = 0;
    if (end - s < 2 || (*s | 0x20) != 'e')
        return s;
    if (*digits == '-' || *digits == '+')
        negative = *digits++ == '-';
    if (digits == end || !is_digit(*digits))
        return s;
    for (s = digits; s < end && is_digit(*s); s++)
        if (*exponent < 10000)
            *exponent = *exponent * 10 + (*s - '0');
    if (negative)
        *exponent = -*exponent;
    return s;
}

// The number times 10^scale.
static void shift(struct number *x, int scale)
{
    for (; scale > 0 && x->v != 0 && !x->over; scale--) {
        if (x->v > WIDE_MAX / 10)
            x->over = true;
        else
            x->v *= 10;
    }
    for (; scale < 0 && x->v != 0; scale++) {
        x->lost |= x->v % 10 != 0;
        x->v /= 10;
    }
}

const char *number_any(struct reader *r, const char *s, const char *end, quern_count *nano)
{
    const char *start = s;
    struct number x = { 0 };
    bool negative = false;

    if (s < end && (*s == '-' || *s == '+'))
        negative = *s++ == '-';
    if (end - s > 2 && s[0] == '0' && (s[1] | 0x20) == 'x' && hex_digit(s[2]) >= 0) {
        s = get_hex(s + 2, end, &x);
        remark(r, DIAG_HEX_COUNT, start, "hexadecimal count");
    } else {
        int point, exponent;
        if (!(s = get_digits(s, end, &x, &point)))
            return NULL;
        s = get_exponent(s, end, &exponent);
        shift(&x, 9 - point + exponent);
    }
    if (x.over) {
        remark(r, DIAG_TOO_LARGE, start, "number too large: taken as 10^20");
        x.v = WIDE_MAX;
    } else if (x.lost) {
        remark(r, DIAG_ROUNDED, start, "fraction cut to nine digits");
    }
    *nano = negative ? -x.v : x.v;
    return s;
}

const char *number_count(struct reader *r, const char *s, const char *end, quern_count *nano,
                         uint32_t event)
{
    const char *start = s;

    if (*s == '.' && (s + 1 == end || is_blank(s[1]))) {
        *nano = 0;
        remark(r, DIAG_DOT_COUNT, s, "'.' for a zero count");
        return s + 1;
    }
    s = number_any(r, s, end, nano);
    if (!s || (s < end && !is_blank(*s))) {
        remark(r, DIAG_BAD_NUMBER, start, "not a number; the rest of the line is ignored");
        return NULL;
    }
    if (*nano < 0)
        remark(r, DIAG_NEGATIVE, start, "negative count");
    if (*nano % NANO) {
        remark(r, DIAG_FRACTION, start, "count with a fraction");
        if (event < r->p->event_count)
            r->frac[event] = 1;
    }
    return s;
}

const char *number_whole(struct reader *r, const char *s, const char *end, uint64_t *v)
{
    const char *q;
    bool ok = r->fast;

    if (s < end && is_digit(*s)) {
        q = number_fast(s, v, &ok);
        if (ok && (q == end || is_blank(*q) || *q == '/'))
            return q;
    }
    *v = 0;
    quern_count nano;
    q = s < end ? number_any(r, s, end, &nano) : NULL;
    if (!q || nano < 0 || nano / NANO > UINT64_MAX) {
        remark(r, DIAG_BAD_NUMBER, s, "a count was expected here; taken as zero");
        while (s < end && !is_blank(*s))
            s++;
        return s;
    }
    if (nano % NANO)
        remark(r, DIAG_FRACTION, s, "a number of calls with a fraction: cut to a whole one");
    *v = (uint64_t)(nano / NANO);
    return q;
}
