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

// Largest magnitude kept, 10^20: above 2^64, and 10^9 records of it in units of 10^-9 still sum to
// less than 2^127.
#define WIDE_MAX ((quern_count)1000000000000000000 * 100 * NANO)

const char *number_any(struct reader *r, const char *s, const char *end, quern_count *nano)
{
    const char *start = s;
    quern_count v = 0;
    bool neg = false, over = false, lost = false;
    int digits = 0, exponent = 0;
    int point = -1; // digits after the point so far, -1 before it

    if (s < end && (*s == '-' || *s == '+'))
        neg = *s++ == '-';
    if (end - s > 2 && s[0] == '0' && (s[1] | 0x20) == 'x' && hex_digit(s[2]) >= 0) {
        for (s += 2; s < end && hex_digit(*s) >= 0; s++) {
            if (v > WIDE_MAX / NANO / 16 - 1)
                over = true;
            else
                v = v * 16 + hex_digit(*s);
        }
        v *= NANO;
        remark(r, DIAG_HEX_COUNT, start, "hexadecimal count");
    } else {
        // v collects the digits; only 9 of those behind the point are kept
        for (; s < end; s++) {
            if (*s == '.' && point < 0) {
                point = 0;
                continue;
            }
            if (!is_digit(*s))
                break;
            digits++;
            if (point >= 9 || over) {
                lost |= *s != '0';
                continue;
            }
            if (v > WIDE_MAX / 10 - 1)
                over = true;
            else
                v = v * 10 + (*s - '0');
            if (point >= 0)
                point++;
        }
        if (!digits)
            return NULL;
        if (s < end && (*s | 0x20) == 'e' && end - s > 1 &&
            (is_digit(s[1]) || (end - s > 2 && (s[1] == '-' || s[1] == '+') && is_digit(s[2])))) {
            bool eneg = false;
            s++;
            if (*s == '-' || *s == '+')
                eneg = *s++ == '-';
            for (; s < end && is_digit(*s); s++)
                if (exponent < 10000)
                    exponent = exponent * 10 + (*s - '0');
            if (eneg)
                exponent = -exponent;
        }
        // v * 10^(9 - point + exponent)
        int scale = 9 - (point > 0 ? point : 0) + exponent;
        for (; scale > 0 && v && !over; scale--) {
            if (v > WIDE_MAX / 10)
                over = true;
            else
                v *= 10;
        }
        for (; scale < 0 && v; scale++) {
            lost |= v % 10 != 0;
            v /= 10;
        }
    }
    if (over) {
        remark(r, DIAG_TOO_LARGE, start, "number too large: taken as 10^20");
        v = WIDE_MAX;
    } else if (lost) {
        remark(r, DIAG_ROUNDED, start, "fraction cut to nine digits");
    }
    *nano = neg ? -v : v;
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
