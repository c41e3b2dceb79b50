// SPDX-License-Identifier: MIT
//
// Numbers: fast paths for the usual ones, and any form that a writer may use.

#ifndef QUERN_PROFILE_NUMBER_H
#define QUERN_PROFILE_NUMBER_H

#include "profile/read/reader.h"

// Any number: decimal, hexadecimal, sign, fraction, exponent. *nano is in units of 10^-9. Returns
// its end, or NULL if it is not a number.
const char *number_any(struct reader *r, const char *s, const char *end, quern_count *nano);
// The same for a count in the body, including '.' for zero, with the remarks; marks events with
// fractions.
const char *number_count(struct reader *r, const char *s, const char *end, quern_count *nano,
                         uint32_t event);
// A whole number after "calls=" and the like; zero, with a remark, if there is none. Returns the
// end of the word.
const char *number_whole(struct reader *r, const char *s, const char *end, uint64_t *v);

// Decimal number of at most 19 digits; clears *ok if there is none or it has more. @hot
static inline const char *number_fast(const char *s, uint64_t *v, bool *ok)
{
    uint64_t x = (unsigned char)(*s - '0');
    const char *start = s;

    if (x > 9) {
        *ok = false;
        return s;
    }
    uint64_t d;
    for (s++; (d = (unsigned char)(*s - '0')) < 10; s++)
        x = x * 10 + d;
    if (s - start > 19)
        *ok = false;
    *v = x;
    return s;
}

// At most 16 hexadecimal digits, as number_fast(). @hot
static inline const char *number_fast_hex(const char *s, uint64_t *v, bool *ok)
{
    uint64_t x = 0;
    const char *start = s;

    for (;; s++) {
        unsigned char d = (unsigned char)(*s - '0'), a = (unsigned char)((*s | 0x20) - 'a');
        if (d < 10)
            x = x << 4 | d;
        else if (a < 6)
            x = x << 4 | (uint64_t)(a + 10);
        else
            break;
    }
    if (s == start || s - start > 16)
        *ok = false;
    *v = x;
    return s;
}

#endif
