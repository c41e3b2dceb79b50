// SPDX-License-Identifier: MIT
//
// Names and sources are untrusted: only characters that occupy columns reach the terminal. What a
// terminal would obey is escaped as everywhere (cli/base/text.h).
#include "cli/top/top_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "cli/base/text.h"
#include "cli/base/util.h"
#include "cli/profiles/event.h"
#include "report/core/values.h"

enum { TAB = 8 };

// ---- Characters ----

// The columns of a character, the n bytes at s. 0 for a character that is not written: a control
// character or the like, whose visible form goes to `out`, or one that occupies no column or is not
// in the terminal's character set, for which `out` is "".
static int width_of(int32_t c, const char *s, size_t n, bool unicode, char out[TEXT_ESCAPED])
{
    *out = '\0';
    if (!text_is_shown(c)) {
        text_escape(out, s, n);
        return 0;
    }
    if (c < 0x7f)
        return 1;
    int columns = unicode ? wcwidth((wchar_t)c) : 0;
    return columns > 0 ? columns : 0;
}

struct writer {
    char *at;
    int width, columns;
    bool unicode;
};

static void put(struct writer *w, const char *bytes, size_t n, int width)
{
    memcpy(w->at, bytes, n);
    w->at += n;
    w->width += width;
}

static void put_tab(struct writer *w)
{
    do
        put(w, " ", 1, 1);
    while (w->width % TAB && w->width < w->columns);
}

// Does the whole text fit?
static bool fits(const char *text, size_t size, int columns, bool unicode)
{
    char escaped[TEXT_ESCAPED];
    int width = 0;
    size_t n;

    for (size_t i = 0; i < size && width <= columns; i += n) {
        int32_t c = text_decode(text + i, size - i, &n);
        int one = width_of(c, text + i, n, unicode, escaped);
        width += c == '\t' ? TAB - width % TAB : one ? one : *escaped ? (int)strlen(escaped) : 1;
    }
    return width <= columns;
}

int top_text_clean(char *out, const char *text, size_t size, int columns, bool unicode)
{
    const char *more = unicode ? "\xe2\x80\xa6" : "~", *bad = unicode ? "\xef\xbf\xbd" : "?";
    struct writer w = { out, 0, columns, unicode };
    bool whole = fits(text, size, columns, unicode);
    char escaped[TEXT_ESCAPED];
    size_t n;

    if (!whole)
        w.columns--; // for the ellipsis
    for (size_t i = 0; i < size && w.width < w.columns; i += n) {
        int32_t c = text_decode(text + i, size - i, &n);
        int one = width_of(c, text + i, n, unicode, escaped), form = (int)strlen(escaped);
        if (c == '\t')
            put_tab(&w);
        else if (w.width + (one ? one : form) > w.columns)
            break;
        else if (one)
            put(&w, text + i, n, one);
        else if (*escaped)
            put(&w, escaped, (size_t)form, form);
        else
            put(&w, bad, strlen(bad), 1);
    }
    if (!whole && columns > 0)
        put(&w, more, strlen(more), 1);
    *w.at = 0;
    return w.width;
}

// ---- Names ----

// Does the name of an operator end here? Its < and > are not brackets.
static bool is_operator(const char *name, size_t end)
{
    static const char word[] = "operator";
    size_t n = sizeof(word) - 1;

    while (end && strchr("<>=- ", name[end - 1]))
        end--;
    return end >= n && memcmp(name + end - n, word, n) == 0;
}

char *top_text_short(const uint8_t *name, size_t size, bool unicode)
{
    const char *more = unicode ? "<\xe2\x80\xa6>" : "<~>", *s = (const char *)name;
    char *out = xmalloc(size * 3 + 8), *o = out;
    size_t depth = 0;

    for (size_t i = 0; i < size; i++) {
        if (s[i] == '<' && !is_operator(s, i)) {
            if (depth++ == 0)
                o = stpcpy(o, more);
        } else if (s[i] == '>' && depth && !is_operator(s, i)) {
            depth--;
        } else if (!depth) {
            *o++ = s[i] ? s[i] : '?';
        }
    }
    *o = 0;
    if (depth) { // unbalanced brackets: the whole name
        memcpy(out, s, size);
        out[size] = 0;
    }
    return out;
}

// ---- Numbers ----

static void factor(char *out, struct value v, struct value new_, struct value old)
{
    if (old.approx == 0 || new_.approx == 0)
        strcpy(out, old.approx == new_.approx ? "-" : old.approx == 0 ? "new" : "gone");
    else if (isnan(v.approx))
        strcpy(out, "-");
    else
        snprintf(out, TOP_TEXT_NUMBER, "x%#.3g", v.approx);
}

void top_text_value(char out[TOP_TEXT_NUMBER], struct value v, int64_t scale, unsigned side,
                    struct value new_, struct value old)
{
    bool plus = side == VALUES_DIFFERENCE && (v.is_exact ? v.exact > 0 : v.approx > 0);

    if (side == VALUES_FACTOR) {
        factor(out, v, new_, old);
    } else if (v.is_exact) {
        *out = '+';
        event_commas(out + plus, v.exact, scale);
    } else if (isnan(v.approx)) {
        strcpy(out, "-");
    } else {
        snprintf(out, TOP_TEXT_NUMBER, "~%s%.6g", plus ? "+" : "", v.approx);
    }
}

void top_text_share(char out[TOP_TEXT_NUMBER], struct value part, struct value whole)
{
    double p = whole.approx != 0 ? part.approx / whole.approx * 100 : NAN;

    if (!isfinite(p))
        *out = 0;
    else
        snprintf(out, TOP_TEXT_NUMBER, "%.*f%%", fabs(p) >= 10 ? 1 : 2, p);
}
