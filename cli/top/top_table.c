// SPDX-License-Identifier: MIT
//
// The screen: a title, what is shown, the heads of the columns, rows, the selected row in full, and
// a line for messages. Numbers are never cut: columns that do not fit are left out, and the head
// says so.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"
#include "cli/top/top.h"
#include "cli/top/top_screen.h"
#include "cli/top/top_text.h"

enum {
    TABLE_ROW = 3,   // the first row of the table
    BELOW = 2,       // lines below it
    NAME_LEAST = 24, // minimum width of names
    LINE_DIGITS = 6, // of a source
    CELL_GAP = 1,
};

struct layout {
    unsigned first, end; // columns that are shown
    int width[TOP_COLUMNS];
    int names; // where they begin
};

int top_table_page(void)
{
    int n = top_screen_rows() - TABLE_ROW - BELOW;

    return n > 1 ? n : 1;
}

static void put_clean(int row, int column, const char *text, size_t size, int width,
                      enum top_screen_style style, bool selected)
{
    if (width <= 0)
        return;
    char *out = xmalloc((size_t)width * 4 + 4);
    top_text_clean(out, text, size, width, top_screen_unicode());
    top_screen_put(row, column, out, style, selected);
    free(out);
}

static void put_line(int row, const char *text, enum top_screen_style style)
{
    put_clean(row, 0, text, strlen(text), top_screen_columns(), style, false);
}

// ---- Cells ----

// The text of a cell; "" where the row has no value.
static void cell(struct top *t, const struct top_row *r, const struct top_column *c,
                 char out[TOP_TEXT_NUMBER], int *sign)
{
    struct value v, new = { 0 }, old = { 0 };
    uint32_t event = r->kind == ROW_EVENT ? r->of : t->event;
    bool counts = c->of == VALUES_CALLS || c->of == VALUES_CALLED;

    *out = 0;
    *sign = 0;
    if (c->cause) {
        struct top_cause most = top_rows_cause(t, r, c->of);

        if (top_rows_value(t, r, c->of, VALUES_NEW, &v))
            top_cause_text(t, &most, v, out);
        if (t->compare)
            *sign = most.part.approx > 0 ? 1 : most.part.approx < 0 ? -1 : 0;
        return;
    }
    if (!top_rows_value(t, r, c->of, c->side, &v))
        return;
    if (c->share) {
        bool program = r->kind == ROW_SITE || t->here.view != TOP_FUNCTION;
        top_text_share(out, v, program ? top_rows_total(t, VALUES_NEW) : t->whole);
        return;
    }
    if (c->side >= VALUES_DIFFERENCE) {
        top_rows_value(t, r, c->of, VALUES_NEW, &new);
        top_rows_value(t, r, c->of, VALUES_OLD, &old);
        if (c->side == VALUES_DIFFERENCE)
            *sign = v.approx > 0 ? 1 : v.approx < 0 ? -1 : 0;
    }
    top_text_value(out, v, counts ? 1 : formula_scale(t->formula[event]), c->side, new, old);
}

static struct layout lay(struct top *t, size_t first, size_t end)
{
    struct layout l = { .first = t->shift, .end = t->shift };
    char text[TOP_TEXT_NUMBER];
    int sign;

    for (unsigned i = t->shift; i < t->columns; i++) {
        top_rows_title(t, &t->column[i], text, sizeof(text));
        int width = (int)strlen(text) + 1; // space for the mark of the sort column
        for (size_t k = first; k < end; k++) {
            struct top_row r = top_rows_get(t, k);
            cell(t, &r, &t->column[i], text, &sign);
            if ((int)strlen(text) > width)
                width = (int)strlen(text);
        }
        l.width[i] = width;
        if (l.names + width + CELL_GAP + NAME_LEAST > top_screen_columns() && i > t->shift)
            break;
        l.names += width + CELL_GAP;
        l.end = i + 1;
    }
    if (l.end > l.first)
        l.names++;
    return l;
}

// Whether objects have what was allocated before their names: bytes, blocks.
static bool has_sizes(const struct top *t)
{
    return t->data && !t->inclusive && t->here.view == TOP_FUNCTIONS &&
           t->objects.blocks[0].count > 0;
}

static int size_width(const struct top *t, enum lifetimes_count n, const char *head)
{
    const struct lifetimes *all = &t->objects.blocks[0];
    char text[32];
    uint64_t most = 0;

    for (size_t i = 0; i < all->count; i++)
        most = all->of[i].n[n] > most ? all->of[i].n[n] : most;
    util_commas(text, most);
    return (int)(strlen(text) > strlen(head) ? strlen(text) : strlen(head));
}

static void put_heads(struct top *t, const struct layout *l)
{
    char text[TOP_TEXT_NUMBER], names[128];
    int x = 0;

    for (unsigned i = l->first; i < l->end; i++) {
        top_rows_title(t, &t->column[i], text, sizeof(text) - 1);
        if (t->here.view == TOP_FUNCTIONS && t->sort == i)
            strcat(text, t->up ? "^" : "v");
        top_screen_put(TABLE_ROW - 1, x + l->width[i] - (int)strlen(text), text, STYLE_HEAD, false);
        x += l->width[i] + CELL_GAP;
    }
    int at = l->names;
    bool names_sorted = t->here.view == TOP_FUNCTIONS && t->sort == t->columns;
    if (has_sizes(t)) {
        snprintf(names, sizeof(names), "%*s  %*s  ", size_width(t, LIFETIMES_BYTES, "bytes"),
                 "bytes", size_width(t, LIFETIMES_ALL, "blocks"), "blocks");
        put_clean(TABLE_ROW - 1, l->names, names, strlen(names), top_screen_columns() - l->names,
                  STYLE_HEAD, false);
        at += (int)strlen(names);
    }
    snprintf(names, sizeof(names), "%s%s%s",
             t->here.view == TOP_SOURCE && t->compare ? "old/new " : "",
             t->here.view == TOP_SOURCE                                  ? "line, source"
             : t->here.view == TOP_EVENTS                                ? "event"
             : t->here.view == TOP_HELP                                  ? "key, what it does"
             : t->data && t->here.view == TOP_FUNCTIONS && !t->inclusive ? "object"
                                                                         : "function",
             !names_sorted ? ""
             : t->up       ? "^"
                           : "v");
    put_clean(TABLE_ROW - 1, at, names, strlen(names), top_screen_columns() - at, STYLE_HEAD,
              false);
    if (l->first || l->end < t->columns) {
        snprintf(names, sizeof(names), " more: %s%s", l->first ? "<" : "",
                 l->end < t->columns ? ">" : "");
        top_screen_put(TABLE_ROW - 1, top_screen_columns() - (int)strlen(names), names, STYLE_HEAD,
                       false);
    }
}

// ---- Names ----

struct string {
    char *text;
    size_t size, cap;
};

static void add(struct string *s, const char *text, size_t n)
{
    if (s->size + n + 1 > s->cap) {
        s->cap = (s->size + n + 1) * 2;
        s->text = xrealloc(s->text, s->cap);
    }
    memcpy(s->text + s->size, text, n);
    s->text[s->size += n] = 0;
}

static void add_text(struct string *s, const char *text)
{
    add(s, text, strlen(text));
}

static void add_core(struct string *s, const struct core *c, uint32_t string)
{
    struct text text = core_string(c, string);

    if (text.size)
        add(s, (const char *)text.at, text.size);
    else
        add_text(s, "???");
}

// The part behind the last slash.
static void add_base(struct string *s, const struct core *c, uint32_t string)
{
    struct text text = core_string(c, string);
    size_t from = text.size;

    while (from && text.at[from - 1] != '/')
        from--;
    if (text.size)
        add(s, (const char *)text.at + from, text.size - from);
}

// Names of objects are whole: brackets in them are no arguments.
static void add_name(struct string *s, const struct top *t, uint32_t func)
{
    const struct core *c = t->core;
    struct text name = core_string(c, c->name[func]);
    char tag[32];

    if (name.size && t->data) {
        add(s, (const char *)name.at, name.size);
    } else if (name.size) {
        char *brief = top_text_short(name.at, name.size, top_screen_unicode());
        add_text(s, brief);
        free(brief);
    } else {
        add_text(s, "???");
    }
    if (c->graph[0].ready && c->graph[0].cycle[func]) {
        snprintf(tag, sizeof(tag), " [cycle %u]", c->graph[0].cycle[func]);
        add_text(s, tag);
    }
}

// How the program walks through an object.
static void add_walk(struct string *s, const struct top *t, uint32_t func)
{
    struct text name = core_string(t->core, t->core->name[func]);
    const struct walk *w;
    char *text;

    if (!t->data || !name.size)
        return;
    text = xasprintf("%.*s", (int)name.size, (const char *)name.at);
    w = walks_of_object(&t->walks, text);
    free(text);
    if (!w)
        return;
    text = walks_text(w);
    add_text(s, "  [");
    add_text(s, text);
    add_text(s, "]");
    free(text);
}

// Lines of an object that threads share: the pair with most invalidations, and how many there are.
static void add_sharing(struct string *s, const struct top *t, uint32_t func)
{
    size_t first = t->sharing.count, n = 0;

    for (size_t i = t->sharing.count; i-- > 0;)
        if (top_data_shares(t, i, func)) {
            first = i;
            n++;
        }
    if (!n)
        return;
    char *text = sharing_counts(&t->sharing, &t->sharing.pair[first]), more[32] = "";
    if (n > 1)
        snprintf(more, sizeof(more), ", and %zu more", n - 1);
    add_text(s, "  [shared: ");
    add_text(s, text);
    add_text(s, more);
    add_text(s, "]");
    free(text);
}

// Of an allocation, else NULL.
static const struct lifetime *lifetime_of(const struct top *t, uint32_t func)
{
    struct text name = core_string(t->core, t->core->name[func]),
                file = core_string(t->core, t->core->file[func]);
    char *object, *of;
    const struct lifetime *b;

    if (!t->data || !name.size)
        return NULL;
    object = xasprintf("%.*s", (int)name.size, (const char *)name.at);
    of = xasprintf("%.*s", (int)file.size, file.size ? (const char *)file.at : "");
    b = lifetimes_named(&t->objects.blocks[0], object, of);
    free(object);
    free(of);
    return b;
}

static void add_size(struct string *s, int width, bool known, uint64_t n)
{
    char text[32], *cell = xasprintf("%*s  ", width, known ? util_commas(text, n) : "");

    add_text(s, cell);
    free(cell);
}

// What was allocated, before an object's name.
static void add_sizes(struct string *s, const struct top *t, uint32_t func)
{
    const struct lifetime *b = lifetime_of(t, func);

    if (!has_sizes(t))
        return;
    add_size(s, size_width(t, LIFETIMES_BYTES, "bytes"), b, b ? b->n[LIFETIMES_BYTES] : 0);
    add_size(s, size_width(t, LIFETIMES_ALL, "blocks"), b, b ? b->n[LIFETIMES_ALL] : 0);
}

static void add_blocks(struct string *s, const struct top *t, uint32_t func)
{
    const struct lifetime *b = lifetime_of(t, func);
    char *text;

    if (!b)
        return;
    text = lifetimes_text(b);
    add_text(s, "  [");
    add_text(s, text);
    add_text(s, "]");
    free(text);
}

// The function, and its file or object in parentheses.
static void add_func(struct string *s, const struct top *t, uint32_t func)
{
    const struct core *c = t->core;

    add_name(s, t, func);
    add_walk(s, t, func);
    add_sharing(s, t, func);
    bool file = core_string(c, c->file[func]).size, object = core_string(c, c->object[func]).size;
    if (!file && !object)
        return;
    add_text(s, "  (");
    add_base(s, c, c->file[func]);
    if (file && object)
        add_text(s, ", ");
    add_base(s, c, c->object[func]);
    add_text(s, ")");
}

static void add_line(struct string *s, const struct top *t, const struct top_row *r)
{
    static const char heat[] = " .:+#";
    char number[32];

    for (int side = t->compare ? 1 : 0; side >= 0; side--) {
        if (r->line[side])
            snprintf(number, sizeof(number), "%*llu ", LINE_DIGITS,
                     (unsigned long long)r->line[side]);
        else
            snprintf(number, sizeof(number), "%*s ", LINE_DIGITS, "-");
        add_text(s, number);
    }
    add(s, &heat[r->heat], 1);
    add_text(s, " ");
    add(s, r->text, r->text_size);
}

static void add_group(struct string *s, const struct top *t, const struct top_row *r)
{
    char number[16], count[48];
    struct text name = top_rows_group(t, r->of, number);

    add_text(s, t->open[r->of] ? "- " : "+ ");
    add(s, (const char *)name.at, name.size);
    snprintf(count, sizeof(count), "  (%llu function%s)", (unsigned long long)r->line[0],
             r->line[0] == 1 ? "" : "s");
    add_text(s, count);
}

// How often a line calls a function; with a base, on both sides.
static void add_calls(struct string *s, struct top *t, const struct top_row *r)
{
    char number[TOP_TEXT_NUMBER];
    struct value v;

    add_text(s, "  (");
    for (unsigned side = t->compare ? VALUES_OLD : VALUES_NEW;; side = VALUES_NEW) {
        top_rows_value(t, r, VALUES_CALLS, side, &v);
        top_text_value(number, v, 1, side, v, v);
        add_text(s, number);
        add_text(s, side == VALUES_OLD ? "x / " : "x");
        if (side == VALUES_NEW)
            break;
    }
    add_text(s, ")");
}

static void add_row(struct string *s, struct top *t, const struct top_row *r)
{
    const struct core *c = t->core;
    const char *key, *text;

    for (int i = 0; i < r->depth; i++)
        add_text(s, "  ");
    switch ((enum top_row_kind)r->kind) {
    case ROW_TEXT:
        if (t->here.view == TOP_HELP && top_help(r->of, &key, &text)) {
            add_text(s, key);
            for (size_t n = strlen(key); n < 24; n++)
                add_text(s, " ");
        }
        add_text(s, r->text);
        break;
    case ROW_SAYS: add_text(s, r->text); break;
    case ROW_FUNC:
        add_sizes(s, t, r->of);
        add_func(s, t, r->of);
        break;
    case ROW_SELF: add_text(s, "itself, without what it calls"); break;
    case ROW_EDGE:
        add_text(s, "  ");
        add_func(s, t, top_rows_func(t, r));
        break;
    case ROW_GROUP: add_group(s, t, r); break;
    case ROW_EVENT: {
        struct text name = c->event[r->of].name, what = c->event[r->of].long_name;
        add_text(s, r->of == t->event ? "* " : "  ");
        add(s, (const char *)name.at, name.size);
        if (what.size) {
            add_text(s, "  ");
            add(s, (const char *)what.at, what.size);
        }
        break;
    }
    case ROW_LINE: add_line(s, t, r); break;
    case ROW_SITE:
        for (int i = 0; i < (LINE_DIGITS + 1) * (t->compare ? 2 : 1) + 2; i++)
            add_text(s, " ");
        add_text(s, t->data ? "misses in " : "-> ");
        add_name(s, t, r->of);
        add_calls(s, t, r);
        break;
    }
}

// ---- Rows ----

static void put_row(struct top *t, const struct layout *l, int y, size_t i)
{
    struct top_row r = top_rows_get(t, i);
    bool selected = i == t->here.at;
    struct string s = { 0 };
    char text[TOP_TEXT_NUMBER];
    int x = 0, columns = top_screen_columns(), sign;

    if (selected)
        for (int k = 0; k < columns; k++)
            top_screen_put(y, k, " ", STYLE_PLAIN, true);
    for (unsigned k = l->first; k < l->end; k++) {
        cell(t, &r, &t->column[k], text, &sign);
        enum top_screen_style style = sign > 0   ? STYLE_WORSE
                                      : sign < 0 ? STYLE_BETTER
                                                 : STYLE_PLAIN;
        if (r.heat && t->column[k].side == VALUES_NEW && !t->column[k].share)
            style = STYLE_HEAT_1 + r.heat - 1;
        top_screen_put(y, x + l->width[k] - (int)strlen(text), text, style, selected);
        x += l->width[k] + CELL_GAP;
    }
    add_row(&s, t, &r);
    bool head = r.kind == ROW_TEXT && t->here.view == TOP_FUNCTION && r.text[0] != ' ';
    x = r.kind == ROW_SAYS ? 0 : l->names;
    put_clean(y, x, s.text, s.size, columns - x, head ? STYLE_HEAD : STYLE_PLAIN, selected);
    free(s.text);
}

// ---- Head and foot ----

static void put_title(struct top *t)
{
    struct string s = { 0 };
    char number[TOP_TEXT_NUMBER], *right;
    struct value total = top_rows_total(t, VALUES_NEW);
    struct text name = t->core->event[t->event].name;

    add_text(&s, "quern top  ");
    add_text(&s, t->side[0].paths[0]);
    if (t->side[0].path_count > 1)
        add_text(&s, " and others");
    if (t->compare) {
        add_text(&s, "  base ");
        add_text(&s, t->base);
    }
    top_text_value(number, total, formula_scale(t->formula[t->event]), VALUES_NEW, total, total);
    right =
        xasprintf("%.*s %s", (int)(name.size < 40 ? name.size : 40), (const char *)name.at, number);
    int width = (int)strlen(right), columns = top_screen_columns();
    put_clean(0, 0, s.text, s.size, columns - width - 2, STYLE_TITLE, false);
    put_clean(0, columns - width, right, strlen(right), width, STYLE_TITLE, false);
    free(right);
    free(s.text);
}

static void add_filters(struct string *s, const struct top *t)
{
    static const char *const group[] = { "object", "folder", "file", "class", "cycle" };
    char number[32];

    if (t->group >= 0) {
        add_text(s, ", by ");
        add_text(s, group[t->group]);
    }
    if (*t->filter) {
        add_text(s, ", filter ");
        add_text(s, t->filter);
    }
    if (t->focus != CORE_NONE) {
        add_text(s, ", focus on ");
        add_name(s, t, t->focus);
    }
    if (t->hides) {
        snprintf(number, sizeof(number), ", %zu hidden", t->hides);
        add_text(s, number);
    }
}

static void put_subject(struct top *t)
{
    struct string s = { 0 };
    char number[32];

    switch (t->here.view) {
    case TOP_FUNCTIONS:
        add_text(&s, !t->data       ? "Functions: "
                     : t->inclusive ? "Functions that miss: "
                                    : "Objects: ");
        add_text(&s, util_commas(number, t->funcs));
        if (!t->data && t->funcs != t->core->funcs) {
            add_text(&s, " of ");
            add_text(&s, util_commas(number, t->core->funcs));
        }
        add_filters(&s, t);
        break;
    case TOP_FUNCTION:
        add_text(&s, t->data && t->here.func != CORE_NONE && !top_rows_misses(t, t->here.func)
                         ? "Object: "
                         : "Function: ");
        if (t->here.func != CORE_NONE)
            add_name(&s, t, t->here.func);
        break;
    case TOP_SOURCE:
        add_text(&s, "Source: ");
        add_core(&s, t->core, t->here.file);
        break;
    case TOP_EVENTS: add_text(&s, "Events: Enter chooses the one that is shown"); break;
    case TOP_HELP: add_text(&s, "Keys"); break;
    }
    if (t->core->no_cycles)
        add_text(&s, ", cycles taken apart");
    put_clean(1, 0, s.text, s.size, top_screen_columns(), STYLE_PLAIN, false);
    free(s.text);
}

// The selected row in full: its whole name and its location.
static void put_selected(struct top *t)
{
    struct top_row r = top_rows_get(t, t->here.at);
    uint32_t f = top_rows_func(t, &r);
    const struct core *c = t->core;
    struct string s = { 0 };
    char number[32];

    if (f != CORE_NONE) {
        add_core(&s, c, c->name[f]);
        if (core_string(c, c->file[f]).size) {
            add_text(&s, "  ");
            add_core(&s, c, c->file[f]);
            snprintf(number, sizeof(number), ":%llu", (unsigned long long)c->line[f]);
            if (c->line[f])
                add_text(&s, number);
        }
        if (core_string(c, c->object[f]).size) {
            add_text(&s, "  ");
            add_core(&s, c, c->object[f]);
        }
        add_walk(&s, t, f);
        add_sharing(&s, t, f);
        add_blocks(&s, t, f);
    } else if (r.kind == ROW_EVENT && c->event[r.of].formula.size) {
        add(&s, (const char *)c->event[r.of].name.at, c->event[r.of].name.size);
        add_text(&s, " = ");
        add(&s, (const char *)c->event[r.of].formula.at, c->event[r.of].formula.size);
    }
    put_clean(top_screen_rows() - 2, 0, s.text ? s.text : "", s.size, top_screen_columns(),
              STYLE_DIM, false);
    free(s.text);
}

// A step scrolls by a row; after a jump the row is in the upper third, with what is around it.
static void keep_in_sight(struct top *t)
{
    size_t page = (size_t)top_table_page(), at = t->here.at, first = t->here.first,
           jumped = at > page / 3 ? at - page / 3 : 0;

    if (at < first)
        t->here.first = at + 1 == first ? at : jumped;
    if (at >= first + page)
        t->here.first = at == first + page ? first + 1 : jumped;
    if (t->here.first + page > t->rows)
        t->here.first = t->rows > page ? t->rows - page : 0;
}

static bool too_small(void)
{
    char needs[64];

    if (top_screen_rows() >= TOP_LEAST_ROWS && top_screen_columns() >= TOP_LEAST_COLUMNS)
        return false;
    put_line(0, "This terminal is too small:", STYLE_PLAIN);
    snprintf(needs, sizeof(needs), "%d columns and %d lines are needed.", TOP_LEAST_COLUMNS,
             TOP_LEAST_ROWS);
    put_line(1, needs, STYLE_PLAIN);
    put_line(2, "q quits.", STYLE_PLAIN);
    return true;
}

static void draw(struct top *t)
{
    char where[64];

    keep_in_sight(t);
    size_t end = t->here.first + (size_t)top_table_page();
    if (end > t->rows)
        end = t->rows;
    struct layout l = lay(t, t->here.first, end);
    put_title(t);
    put_subject(t);
    put_heads(t, &l);
    for (size_t i = t->here.first; i < end; i++)
        put_row(t, &l, TABLE_ROW + (int)(i - t->here.first), i);
    if (t->rows)
        put_selected(t);
    put_line(top_screen_rows() - 1,
             *t->say ? t->say
             : t->data && top_screen_columns() >= 80
                 ? "? keys  1 objects  2 object  3 source  4 events  i functions  / filter  q quit"
             : top_screen_columns() < 80
                 ? "? keys  1 2 3 4 views  / filter  q quit"
                 : "? keys  1 functions  2 function  3 source  4 events  / filter  q quit",
             STYLE_PLAIN);
    int n = snprintf(where, sizeof(where), " %zu/%zu", t->rows ? t->here.at + 1 : 0, t->rows);
    top_screen_put(top_screen_rows() - 1, top_screen_columns() - n, where, STYLE_PLAIN, false);
}

void top_table_draw(struct top *t)
{
    top_screen_clear();
    if (!too_small())
        draw(t);
    top_screen_show(0, -1);
}

void top_table_prompt(struct top *t, const char *label, const char *text)
{
    int row = top_screen_rows() - 1, columns = top_screen_columns();
    size_t n = strlen(label), size = strlen(text);

    top_screen_clear();
    if (too_small()) {
        top_screen_show(0, -1);
        return;
    }
    draw(t);
    for (int i = 0; i < columns; i++)
        top_screen_put(row, i, " ", STYLE_PLAIN, false);
    put_line(row, label, STYLE_HEAD);
    // Of a long text the end is shown.
    char *out = xmalloc(size * 4 + 8);
    int space = columns - (int)n - 1, width = top_text_clean(out, text, size, TOP_PROMPT, true);
    const char *from = text;
    while (width > space && *from) {
        from++;
        while (((unsigned char)*from & 0xc0) == 0x80)
            from++;
        width = top_text_clean(out, from, strlen(from), TOP_PROMPT, true);
    }
    put_clean(row, (int)n, from, strlen(from), space, STYLE_PLAIN, false);
    top_screen_show(row, (int)n + width);
    free(out);
}
