// SPDX-License-Identifier: MIT
//
// Which functions are shown. The text of a filter is that of a report's search field: part of a
// name, or /a regular expression/; "file:" or "object:" before it searches there, "!" before all of
// it inverts the match.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <ctype.h>
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"
#include "cli/top/top.h"
#include "report/core/heap.h"
#include "report/core/reach.h"
#include "report/core/rows.h"

struct wanted {
    bool not ;
    unsigned field;
    const char *text;
    size_t size;
    bool regex;
    uint32_t flags; // of PCRE2
};

// "/text/", "/text/i", "/text": as on the page of a report.
static void regex(struct wanted *w)
{
    size_t n = w->size;

    if (n < 2 || w->text[0] != '/')
        return;
    w->regex = true;
    w->flags = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF;
    if (n > 3 && memcmp(w->text + n - 2, "/i", 2) == 0) {
        w->flags |= PCRE2_CASELESS;
        n -= 2;
    } else if (n > 2 && w->text[n - 1] == '/') {
        n--;
    }
    w->text++;
    w->size = n - 1;
}

static struct wanted parse(const char *s)
{
    static const struct {
        const char *word;
        unsigned field;
    } field[] = { { "name:", ROWS_NAME }, { "file:", ROWS_FILE }, { "object:", ROWS_OBJECT } };
    struct wanted w = { .field = ROWS_NAME };

    for (; *s == '!'; s++)
        w.not = !w.not ;
    for (size_t i = 0; i < sizeof(field) / sizeof(*field); i++)
        if (strncmp(s, field[i].word, strlen(field[i].word)) == 0) {
            w.field = field[i].field;
            s += strlen(field[i].word);
            break;
        }
    w.text = s;
    w.size = strlen(s);
    regex(&w);
    return w;
}

static pcre2_code *compile(struct top *t, const struct wanted *w)
{
    char why[128];
    int number;
    size_t at;
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)w->text, w->size, w->flags, &number, &at, NULL);

    if (!code) {
        pcre2_get_error_message(number, (PCRE2_UCHAR *)why, sizeof(why));
        snprintf(t->say, sizeof(t->say), "at character %zu of the regular expression: %.120s",
                 at + 1, why);
    } else {
        pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
    }
    return code;
}

// Each string that a function has is matched once. Too many steps count as no match.
static void match_regex(const struct core *c, pcre2_code *code, unsigned field, uint8_t *mask)
{
    const uint32_t *of = field == ROWS_NAME ? c->name : field == ROWS_FILE ? c->file : c->object;
    pcre2_match_data *found = pcre2_match_data_create_from_pattern(code, NULL);
    int8_t *hit = xcalloc(c->strings + 1u, 1);

    if (!found)
        top_data_check(CORE_MEMORY);
    for (uint32_t f = 0; f < c->funcs; f++) {
        uint32_t s = of[f];
        if (s == CORE_NONE)
            continue;
        if (!hit[s]) {
            struct text text = core_string(c, s);
            const uint8_t *at = text.at ? text.at : (const uint8_t *)"";
            hit[s] = pcre2_match(code, at, text.size, 0, 0, found, NULL) >= 0 ? 1 : -1;
        }
        mask[f] = hit[s] == 1;
    }
    pcre2_match_data_free(found);
    free(hit);
}

static bool has_upper(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (isupper((unsigned char)s[i]))
            return true;
    return false;
}

static bool match_text(struct top *t, const char *text, uint8_t *mask)
{
    struct wanted w = parse(text);

    if (w.regex) {
        pcre2_code *code = compile(t, &w);
        if (!code)
            return false;
        match_regex(t->core, code, w.field, mask);
        pcre2_code_free(code);
    } else {
        // An upper-case letter in the text makes the search case-sensitive.
        unsigned fields = w.field | (has_upper(w.text, w.size) ? ROWS_CASE : 0u);
        top_data_check(rows_match(t->core, (const uint8_t *)w.text, w.size, fields, mask));
    }
    for (uint32_t f = 0; w.not &&w.size && f < t->core->funcs; f++)
        mask[f] = !mask[f];
    return true;
}

static void match_focus(struct top *t, uint8_t *mask)
{
    uint32_t n = t->core->funcs;
    uint8_t *near = xcalloc(n + 1u, 1);
    uint32_t *func = xcalloc(n + 1u, sizeof(*func)), *distance = xcalloc(n + 1u, sizeof(*func));

    for (int way = REACH_CALLEES; way <= REACH_CALLERS; way++) {
        int64_t count = reach_all(t->core, t->focus, way, VALUES_DIFFERENCE, func, distance);
        top_data_check((int)(count < 0 ? count : 0));
        for (int64_t i = 0; i < count; i++)
            near[func[i]] = 1;
    }
    for (uint32_t f = 0; f < n; f++)
        mask[f] &= near[f];
    free(near);
    free(func);
    free(distance);
}

uint8_t *top_filter_mask(struct top *t)
{
    if (!*t->filter && t->focus == CORE_NONE && !t->hides)
        return NULL;
    uint8_t *mask = heap_get(t->core->funcs + 1u);
    if (!mask)
        top_data_check(CORE_MEMORY);
    memset(mask, 1, t->core->funcs);
    if (*t->filter)
        match_text(t, t->filter, mask);
    if (t->focus != CORE_NONE)
        match_focus(t, mask);
    for (size_t i = 0; i < t->hides; i++)
        mask[t->hide[i]] = 0;
    return mask;
}

// ---- Changing filters ----

static void push(struct top *t, enum top_undo what)
{
    // Text and focus replace the one before.
    size_t n = 0;

    for (size_t i = 0; i < t->undos; i++)
        if (what == UNDO_HIDE || t->undo[i] != what)
            t->undo[n++] = t->undo[i];
    t->undo = xrealloc(t->undo, n + 1);
    t->undo[n] = (uint8_t)what;
    t->undos = n + 1;
    t->func_fresh = false;
}

bool top_filter_set(struct top *t, const char *text)
{
    struct wanted w = parse(text);

    if (w.regex) {
        pcre2_code *code = compile(t, &w);
        if (!code)
            return false;
        pcre2_code_free(code);
    }
    snprintf(t->filter, sizeof(t->filter), "%s", text);
    push(t, UNDO_TEXT);
    if (!*text)
        t->undos--;
    return true;
}

void top_filter_focus(struct top *t, uint32_t func)
{
    t->focus = func;
    push(t, UNDO_FOCUS);
}

void top_filter_hide(struct top *t, uint32_t func)
{
    t->hide = xrealloc(t->hide, (t->hides + 1) * sizeof(*t->hide));
    t->hide[t->hides++] = func;
    push(t, UNDO_HIDE);
}

bool top_filter_undo(struct top *t)
{
    if (!t->undos)
        return false;
    switch (t->undo[--t->undos]) {
    case UNDO_TEXT: *t->filter = 0; break;
    case UNDO_FOCUS: t->focus = CORE_NONE; break;
    default: t->hides--; break;
    }
    t->func_fresh = false;
    return true;
}
