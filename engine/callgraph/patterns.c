// SPDX-License-Identifier: MIT
// Options that select functions by patterns (patterns.h).
#include "engine/callgraph/patterns.h"

#include "engine/base/nolibc.h"
#include "engine/spool/spooler.h"

static struct {
    char kind;
    u32 number;
    const char *pattern; // "": every function
} rule[PATTERNS_MAX];

static u32 rules;

void patterns_init(void)
{
    const char *s = spooler_string(spool->s_patterns), *end = s + spool->patterns_bytes;

    for (; s < end && rules < PATTERNS_MAX; s += strlen(s) + 1, rules++) {
        rule[rules].kind = *s++;
        for (; *s >= '0' && *s <= '9'; s++)
            rule[rules].number = rule[rules].number * 10 + (u32)(*s - '0');
        if (*s == ' ')
            s++;
        rule[rules].pattern = s;
    }
}

bool patterns_any(void)
{
    for (u32 i = 0; i < rules; i++)
        if (rule[i].pattern[0])
            return true;
    return false;
}

bool patterns_has(const char *kinds)
{
    for (u32 i = 0; i < rules; i++)
        if (strchr(kinds, rule[i].kind))
            return true;
    return false;
}

// Matches * and ?. At a mismatch the last * takes one more character.
static bool matches(const char *pattern, const char *name)
{
    const char *star = NULL, *from = NULL;

    while (*name) {
        if (*pattern == '*') {
            star = pattern++;
            from = name;
        } else if (*pattern == '?' || *pattern == *name) {
            pattern++;
            name++;
        } else if (star) {
            pattern = star + 1;
            name = ++from;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

u64 patterns_match(const char *name)
{
    u64 mask = 0;

    for (u32 i = 0; i < rules; i++)
        if (rule[i].pattern[0] && matches(rule[i].pattern, name))
            mask |= 1ul << i;
    return mask;
}

// The last matching option wins; one with a pattern precedes all without.
struct patterns patterns_of(u64 mask)
{
    struct patterns r = { .recs = 1 };

    for (u32 with = 0; with < 2; with++) {
        for (u32 i = 0; i < rules; i++) {
            if ((rule[i].pattern[0] != '\0') != with || (with && !(mask >> i & 1)))
                continue;
            switch (rule[i].kind) {
            case SPOOL_PATTERN_CALLERS: r.callers = rule[i].number; break;
            case SPOOL_PATTERN_RECS: r.recs = rule[i].number; break;
            case SPOOL_PATTERN_GROUP: r.group = rule[i].number; break;
            case SPOOL_PATTERN_SKIP: r.skip = true; break;
            case SPOOL_PATTERN_TOGGLE: r.toggle = true; break;
            case SPOOL_PATTERN_BEFORE: r.before = true; break;
            case SPOOL_PATTERN_AFTER: r.after = true; break;
            case SPOOL_PATTERN_ZERO: r.zero = true; break;
            default: break;
            }
        }
    }
    return r;
}
