// SPDX-License-Identifier: MIT
//
// Subpositions: line, address, basic block; absolute, or relative to the line before.

#ifndef QUERN_PROFILE_POSITION_H
#define QUERN_PROFILE_POSITION_H

#include "profile/read/number.h"

// One subposition in any form: relative, '*', hexadecimal, perhaps followed by a range. *pos is the
// previous one and becomes the new one. NULL: not a position.
const char *position_any(struct reader *r, const char *s, const char *end, uint64_t *pos);
// Target subpositions of a call or jump, relative to the last cost line, whose position stays.
// Returns their end; *found: how many there were.
const char *position_target(struct reader *r, const char *s, const char *end, struct quern_site *to,
                            unsigned *found);

// Skips the blanks between numbers; a remark on a tab.
static inline const char *position_blanks(struct reader *r, const char *s, const char *end)
{
    for (; s < end && is_blank(*s); s++)
        if (__builtin_expect(*s == '\t', 0))
            remark(r, DIAG_TAB, s, "tab between numbers");
    return s;
}

// One subposition in its usual forms; *pos is the previous one and becomes the new one. @hot
static inline __attribute__((always_inline)) const char *position_fast(const char *s, uint64_t *pos,
                                                                       bool *ok)
{
    uint64_t v = 0;

    if (*s == '+') {
        s = number_fast(s + 1, &v, ok);
        v += *pos;
    } else if (*s == '*') {
        s++;
        v = *pos;
    } else if (*s == '-') {
        s = number_fast(s + 1, &v, ok);
        if (v > *pos)
            *ok = false;
        v = *pos - v;
    } else if (s[0] == '0' && s[1] == 'x') {
        s = number_fast_hex(s + 2, &v, ok);
    } else {
        s = number_fast(s, &v, ok);
    }
    *pos = v;
    return s;
}

#endif
