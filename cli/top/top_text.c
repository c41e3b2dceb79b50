// SPDX-License-Identifier: MIT
//
// Names come from object files and sources from anywhere: nothing of them reaches the terminal but
// characters that take room.
#include "cli/top/top_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "cli/shared/event.h"
#include "cli/shared/util.h"
#include "report/core/values.h"

enum { TAB = 8 };

// ---- Characters ----

// The character at s, and its length; -1: it is none.
static int32_t decode(const uint8_t *s, size_t size, size_t *length)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    uint8_t first = s[0];
    size_t n = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    uint32_t c = n == 1 ? first : n ? first & (0x7fu >> n) : 0;

    *length = 1;
    if (!n || n > size || first > 0xf4)
        return -1;
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return -1;
        c = c << 6 | (s[i] & 0x3f);
    }
    if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return -1;
    *length = n;
    return (int32_t)c;
}

// Its width, or 0 for what is not shown as it is: controls, what takes no room, and what turns the
// direction (those take none, either).
static int width_of(int32_t c, bool unicode)
{
    if (c < 0x20 || (c >= 0x7f && (!unicode || c < 0xa0)))
        return 0;
    if (c < 0x7f)
        return 1;
    int n = wcwidth((wchar_t)c);
    return n > 0 ? n : 0;
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

// Does all of it fit?
static bool fits(const char *text, size_t size, int columns, bool unicode)
{
    int width = 0;
    size_t n;

    for (size_t i = 0; i < size && width <= columns; i += n) {
        int32_t c = decode((const uint8_t *)text + i, size - i, &n);
        int one = c == '\t' ? TAB - width % TAB : width_of(c, unicode);
        width += one ? one : 1;
    }
    return width <= columns;
}

int top_text_clean(char *out, const char *text, size_t size, int columns, bool unicode)
{
    const char *more = unicode ? "\xe2\x80\xa6" : "~", *bad = unicode ? "\xef\xbf\xbd" : "?";
    struct writer w = { out, 0, columns, unicode };
    bool whole = fits(text, size, columns, unicode);
    size_t n;

    if (!whole)
        w.columns--; // for the ellipsis
    for (size_t i = 0; i < size && w.width < w.columns; i += n) {
        int32_t c = decode((const uint8_t *)text + i, size - i, &n);
        int one = width_of(c, unicode);
        if (c == '\t')
            put_tab(&w);
        else if (one == 0)
            put(&w, bad, strlen(bad), 1);
        else if (w.width + one > w.columns)
            break;
        else
            put(&w, text + i, n, one);
    }
    if (!whole && columns > 0)
        put(&w, more, strlen(more), 1);
    *w.at = 0;
    return w.width;
}

// ---- Names ----

// Is what ends here the name of an operator, whose < and > are no brackets?
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
    if (depth) { // they do not match: the whole name
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
