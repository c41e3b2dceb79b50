// SPDX-License-Identifier: MIT
//
// s/pattern/replacement/flags as in Perl, for --mod-filename and --mod-funcname. The pattern is
// PCRE2's; the replacement supports $1 ${1} $& \1 \& \n \t and \L \U \E \l \u through PCRE2's own
// extended substitution, after \1 was turned into $1.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <errno.h>
#include <stdbool.h>
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

// The text up to the delimiter, in a new string; \DELIM becomes DELIM. Advances *s past the
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

// PCRE2 needs $1 or ${1}, $0 for the whole match, and a backslash before characters without a
// meaning.
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

// ---- An expression and its parts: 0, or -1 with errno and *err set ----

struct parts {
    char *pattern, *replacement;
    uint32_t compile, substitute; // options
};

// No character that begins a file name or a word of a pattern.
static bool delimits(char c)
{
    return c && c != ' ' && c != '\\' && c != '_' && !(c >= '0' && c <= '9') &&
           !((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

static int no_memory(struct quern_error *err)
{
    text_error(err, ENOMEM, NULL, "out of memory");
    errno = ENOMEM;
    return -1;
}

static int fault(void)
{
    errno = EINVAL;
    return -1;
}

static int split_pieces(const char *expr, const char **s, struct parts *p, struct quern_error *err)
{
    char open;

    if ((*s)[0] != 's' || !delimits((*s)[1])) {
        text_error(err, EINVAL, NULL, "'%.100s' is not of the form s/old/new/flags", expr);
        return fault();
    }
    open = (*s)[1];
    *s += 2;
    p->pattern = piece(s, open);
    if (p->pattern && closing(open) != open) {
        while (**s == ' ')
            ++*s;
        open = **s ? *(*s)++ : '/';
    }
    p->replacement = p->pattern ? piece(s, open) : NULL;
    if (p->replacement)
        return 0;
    if (errno == ENOMEM)
        return no_memory(err);
    text_error(err, EINVAL, NULL,
               "'%.100s' is not of the form s/old/new/flags: a delimiter is missing", expr);
    return fault();
}

static int split(const char *expr, struct parts *p, struct quern_error *err)
{
    const char *s = expr;

    p->substitute =
        PCRE2_SUBSTITUTE_EXTENDED | PCRE2_SUBSTITUTE_UNSET_EMPTY | PCRE2_SUBSTITUTE_OVERFLOW_LENGTH;
    if (split_pieces(expr, &s, p, err))
        return -1;
    for (; *s; s++) {
        switch (*s) {
        case 'g': p->substitute |= PCRE2_SUBSTITUTE_GLOBAL; break;
        case 'i': p->compile |= PCRE2_CASELESS; break;
        case 'm': p->compile |= PCRE2_MULTILINE; break;
        case 's': p->compile |= PCRE2_DOTALL; break;
        case 'x': p->compile |= PCRE2_EXTENDED; break;
        default:
            text_error(err, EINVAL, NULL, "'%.100s': unknown flag '%c'; known are g, i, m, s and x",
                       expr, *s);
            return fault();
        }
    }
    return 0;
}

static pcre2_code *compile(const char *expr, const struct parts *p, struct quern_error *err)
{
    int code = 0;
    PCRE2_SIZE at = 0;
    pcre2_code *c =
        pcre2_compile((PCRE2_SPTR)p->pattern, PCRE2_ZERO_TERMINATED, p->compile, &code, &at, NULL);

    if (!c) {
        char text[120];

        pcre2_get_error_message(code, (PCRE2_UCHAR *)text, sizeof(text));
        text_error(err, EINVAL, NULL, "'%.80s': %s at character %zu of the pattern", expr, text,
                   (size_t)at + 1);
        fault();
    }
    return c;
}

// If PCRE2 cannot use a replacement, the error appears now, not at the first name that the pattern
// matches: the same groups, preceded by an empty alternative, match at once. (A pattern that begins
// with (*...) restricts what may precede it; its error appears at that name.)
static int try_replacement(const char *expr, const struct parts *p, const char *replacement,
                           struct quern_error *err)
{
    char *pattern = malloc(strlen(p->pattern) + 2), out[256], text[120];
    PCRE2_SIZE at, n = sizeof(out);
    pcre2_code *c;
    int code, rc;

    if (!pattern)
        return no_memory(err);
    sprintf(pattern, "|%s", p->pattern);
    c = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, p->compile, &code, &at, NULL);
    free(pattern);
    if (!c)
        return 0;
    rc = pcre2_substitute(c, (PCRE2_SPTR) "", 0, 0, p->substitute, NULL, NULL,
                          (PCRE2_SPTR)replacement, PCRE2_ZERO_TERMINATED, (PCRE2_UCHAR *)out, &n);
    pcre2_code_free(c);
    if (rc >= 0 || rc == PCRE2_ERROR_NOMEMORY) // the space in out
        return 0;
    if (rc == PCRE2_ERROR_NOSUBSTRING) {
        text_error(err, EINVAL, NULL,
                   "'%.80s': the replacement names a group that the pattern does not have", expr);
    } else {
        pcre2_get_error_message(rc, (PCRE2_UCHAR *)text, sizeof(text));
        text_error(err, EINVAL, NULL, "'%.80s': the replacement is not understood: %s", expr, text);
    }
    return fault();
}

static int make(struct quern_rewrite *r, const char *expr, struct parts *p, struct quern_error *err)
{
    if (split(expr, p, err) || !(r->code = compile(expr, p, err)))
        return -1;
    r->options = p->substitute;
    r->replacement = convert(p->replacement);
    return r->replacement ? try_replacement(expr, p, r->replacement, err) : no_memory(err);
}

struct quern_rewrite *quern_rewrite_new(const char *expr, struct quern_error *err)
{
    struct quern_rewrite *r = calloc(1, sizeof(*r));
    struct parts p = { NULL, NULL, 0, 0 };
    int saved;

    if ((r ? make(r, expr, &p, err) : no_memory(err)) != 0) {
        saved = errno;
        quern_rewrite_free(r);
        r = NULL;
        errno = saved;
    }
    saved = errno;
    free(p.pattern);
    free(p.replacement);
    errno = saved;
    return r;
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
    // Exponential backtracking is an error of the pattern, not an endless run.
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
