// SPDX-License-Identifier: MIT
//
// s/pattern/replacement/flags as Perl has it, for --mod-filename and --mod-funcname. The pattern is
// PCRE2's; the replacement knows $1 ${1} $& \1 \& \n \t and \L \U \E \l \u through PCRE2's own
// extended substitution, after \1 was turned into $1.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/text.h"

struct quern_rewrite {
    pcre2_code *code;
    char *replacement;
    uint32_t options;
};

static char closing(char open)
{
    switch (open) {
    case '(': return ')';
    case '[': return ']';
    case '{': return '}';
    case '<': return '>';
    default: return open;
    }
}

// The text up to the delimiter, in a new string; \DELIM becomes DELIM. *s ends behind the
// delimiter.
static char *piece(const char **s, char open)
{
    char close = closing(open), *out = malloc(strlen(*s) + 1), *o = out;
    const char *p = *s;
    int depth = 1;

    if (!out)
        return NULL;
    for (; *p; p++) {
        if (*p == '\\' && p[1]) {
            if (p[1] == open || p[1] == close) {
                // an escaped delimiter that means something in a pattern stays escaped
                if (strchr("()[]{}|.*+?^$", p[1]) && open != close)
                    *o++ = '\\';
                *o++ = *++p;
            } else {
                *o++ = *p;
                *o++ = *++p;
            }
            continue;
        }
        if (open != close && *p == open)
            depth++;
        else if (*p == close && --depth == 0)
            break;
        *o++ = *p;
    }
    *o = 0;
    if (*p != close) {
        free(out);
        errno = EINVAL;
        return NULL;
    }
    *s = p + 1;
    return out;
}

// PCRE2 wants $1 or ${1}, $0 for the whole match, and a backslash before what is not special.
static char *convert(const char *r)
{
    char *out = malloc(strlen(r) * 5 + 1), *o = out;

    if (!out)
        return NULL;
    for (; *r; r++) {
        if (*r == '\\' && r[1] >= '1' && r[1] <= '9') {
            o += sprintf(o, "${%c}", *++r);
        } else if ((*r == '\\' || *r == '$') && r[1] == '&') {
            o = stpcpy(o, *r == '$' ? "${0}" : "&");
            r++;
        } else if (*r == '\\' && r[1]) {
            *o++ = *r++;
            *o++ = *r;
        } else if (*r == '$' && !(r[1] == '{' || r[1] == '_' || (r[1] >= '0' && r[1] <= '9') ||
                                  ((r[1] | 0x20) >= 'a' && (r[1] | 0x20) <= 'z'))) {
            o = stpcpy(o, "$$");
        } else {
            *o++ = *r;
        }
    }
    *o = 0;
    return out;
}

struct quern_rewrite *quern_rewrite_new(const char *expr, struct quern_error *err)
{
    struct quern_rewrite *r = calloc(1, sizeof(*r));
    const char *s = expr;
    char *pattern = NULL, *replacement = NULL;
    uint32_t options = 0;
    int code = 0;
    PCRE2_SIZE at = 0;

    if (!r)
        return NULL;
    r->options = PCRE2_SUBSTITUTE_EXTENDED | PCRE2_SUBSTITUTE_UNSET_EMPTY |
                 PCRE2_SUBSTITUTE_UNKNOWN_UNSET | PCRE2_SUBSTITUTE_OVERFLOW_LENGTH;
    if (s[0] != 's' || !s[1] || s[1] == ' ' || s[1] == '\\' || s[1] == '_' ||
        (s[1] >= '0' && s[1] <= '9') || ((s[1] | 0x20) >= 'a' && (s[1] | 0x20) <= 'z')) {
        text_error(err, EINVAL, NULL, "'%.100s' is not of the form s/old/new/flags", expr);
        goto bad;
    }
    char open = s[1];
    s += 2;
    pattern = piece(&s, open);
    if (pattern && closing(open) != open) {
        while (*s == ' ')
            s++;
        open = *s ? *s++ : '/';
    }
    replacement = pattern ? piece(&s, open) : NULL;
    if (!replacement) {
        if (errno != ENOMEM)
            text_error(err, EINVAL, NULL,
                       "'%.100s' is not of the form s/old/new/flags: a delimiter is missing", expr);
        goto bad;
    }
    for (; *s; s++) {
        switch (*s) {
        case 'g': r->options |= PCRE2_SUBSTITUTE_GLOBAL; break;
        case 'i': options |= PCRE2_CASELESS; break;
        case 'm': options |= PCRE2_MULTILINE; break;
        case 's': options |= PCRE2_DOTALL; break;
        case 'x': options |= PCRE2_EXTENDED; break;
        default:
            text_error(err, EINVAL, NULL, "'%.100s': unknown flag '%c'; known are g, i, m, s and x",
                       expr, *s);
            goto bad;
        }
    }
    r->code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, options, &code, &at, NULL);
    if (!r->code) {
        char text[120];
        pcre2_get_error_message(code, (PCRE2_UCHAR *)text, sizeof(text));
        text_error(err, EINVAL, NULL, "'%.80s': %s at character %zu of the pattern", expr, text,
                   (size_t)at + 1);
        goto bad;
    }
    if (!(r->replacement = convert(replacement))) {
        errno = ENOMEM;
        goto bad_keep;
    }
    free(pattern);
    free(replacement);
    // A replacement that PCRE2 cannot use is told now, not at the first name.
    char *test = quern_rewrite_apply(r, "");
    if (!test && errno == EINVAL) {
        text_error(err, EINVAL, NULL, "'%.100s': the replacement is not understood", expr);
        quern_rewrite_free(r);
        errno = EINVAL;
        return NULL;
    }
    free(test);
    return r;
bad:
    errno = EINVAL;
bad_keep:
    free(pattern);
    free(replacement);
    quern_rewrite_free(r);
    return NULL;
}

void quern_rewrite_free(struct quern_rewrite *r)
{
    if (!r)
        return;
    pcre2_code_free(r->code);
    free(r->replacement);
    free(r);
}

char *quern_rewrite_apply(const struct quern_rewrite *r, const char *text)
{
    size_t len = strlen(text);
    PCRE2_SIZE size = len * 2 + 128;
    pcre2_match_context *mc = pcre2_match_context_create(NULL);
    char *out = NULL;
    int rc = PCRE2_ERROR_NOMEMORY;

    if (!mc)
        return NULL;
    // A pattern that explodes is an error of the pattern, not an endless run.
    pcre2_set_match_limit(mc, 10000000);
    for (int round = 0; round < 2 && rc == PCRE2_ERROR_NOMEMORY; round++) {
        PCRE2_SIZE n = size;
        char *bigger = realloc(out, size);
        if (!bigger)
            break;
        out = bigger;
        rc = pcre2_substitute(r->code, (PCRE2_SPTR)text, len, 0, r->options, NULL, mc,
                              (PCRE2_SPTR)r->replacement, PCRE2_ZERO_TERMINATED, (PCRE2_UCHAR *)out,
                              &n);
        size = n + 1;
    }
    pcre2_match_context_free(mc);
    if (rc < 0) {
        free(out);
        errno = rc == PCRE2_ERROR_NOMEMORY ? ENOMEM : EINVAL;
        return NULL;
    }
    return out;
}
