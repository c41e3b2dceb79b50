// SPDX-License-Identifier: MIT
//
// Subpositions in all their forms, and the targets of calls and jumps.
#include "profile/read/position.h"

#include <string.h>

const char *position_any(struct reader *r, const char *s, const char *end, uint64_t *pos)
{
    // '*' alone, as most jumps begin
    if (*s == '*' && (s + 1 == end || s[1] == ' '))
        return s + 1;
    const char *start = s;
    uint64_t v = 0;
    int sign = 0, digits = 0;

    if (*s == '*') {
        s++;
        digits = 1;
        v = *pos;
    } else {
        if (*s == '+' || *s == '-')
            sign = *s++ == '+' ? 1 : -1;
        if (end - s > 2 && s[0] == '0' && (s[1] | 0x20) == 'x') {
            for (s += 2; s < end; s++, digits++) {
                char c = *s | 0x20;
                uint64_t d;
                if (is_digit(*s))
                    d = (uint64_t)(*s - '0');
                else if (c >= 'a' && c <= 'f')
                    d = (uint64_t)(c - 'a' + 10);
                else
                    break;
                if (v >> 60)
                    remark(r, DIAG_TOO_LARGE, start, "position does not fit 64 bits");
                v = v << 4 | d;
            }
        } else {
            for (; s < end && is_digit(*s); s++, digits++)
                if (__builtin_mul_overflow(v, 10, &v) ||
                    __builtin_add_overflow(v, (uint64_t)(*s - '0'), &v))
                    remark(r, DIAG_TOO_LARGE, start, "position does not fit 64 bits");
        }
        if (!digits)
            return NULL;
        if (sign > 0) {
            v = *pos + v;
        } else if (sign < 0) {
            if (v > *pos)
                remark(r, DIAG_POSITION_WRAP, start, "relative position ends below zero");
            v = v > *pos ? 0 : *pos - v;
        }
    }
    if (s < end && (*s == ':' || (*s == '+' && s + 1 < end && is_digit(s[1])))) {
        remark(r, DIAG_RANGE, start, "a range of positions: only its start is used");
        s++;
        while (s < end && !is_blank(*s))
            s++;
    }
    if (s < end && !is_blank(*s))
        return NULL;
    *pos = v;
    return s;
}

const char *position_target(struct reader *r, const char *s, const char *end, struct quern_site *to,
                            unsigned *found)
{
    uint64_t pos[COLUMNS_MAX];

    memcpy(pos, r->pos, sizeof(pos));
    *found = 0;
    for (unsigned i = 0; i < r->col_count && s < end; i++) {
        uint64_t fast = pos[r->col[i]];
        bool ok = r->fast;
        const char *q = position_fast(s, &fast, &ok);
        if (ok && (*q == ' ' || q == end)) {
            pos[r->col[i]] = fast;
        } else {
            q = position_any(r, s, end, &pos[r->col[i]]);
            if (!q) {
                remark(r, DIAG_BAD_NUMBER, s, "a target position was expected here");
                return end;
            }
        }
        (*found)++;
        if (r->col[i] == COL_LINE)
            to->line = pos[COL_LINE];
        else if (r->col[i] == COL_ADDR)
            to->addr = pos[COL_ADDR];
        s = position_blanks(r, q, end);
    }
    return s;
}
