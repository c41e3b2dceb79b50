// SPDX-License-Identifier: MIT
//
// The actions of keys, by the table of top_keys.def.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"
#include "cli/top/top.h"
#include "cli/top/top_screen.h"
#include "report/core/graph.h"

// ---- Moving ----

static void move_to(struct top *t, size_t at)
{
    t->here.at = at < t->rows ? at : t->rows ? t->rows - 1 : 0;
}

static bool up(struct top *t)
{
    move_to(t, t->here.at ? t->here.at - 1 : 0);
    return true;
}

static bool down(struct top *t)
{
    move_to(t, t->here.at + 1);
    return true;
}

static bool page_up(struct top *t)
{
    size_t page = (size_t)top_table_page();

    t->here.first = t->here.first > page ? t->here.first - page : 0;
    move_to(t, t->here.at > page ? t->here.at - page : 0);
    return true;
}

static bool page_down(struct top *t)
{
    size_t page = (size_t)top_table_page();

    t->here.first += page;
    move_to(t, t->here.at + page);
    return true;
}

static bool home(struct top *t)
{
    move_to(t, 0);
    return true;
}

static bool end(struct top *t)
{
    move_to(t, t->rows);
    return true;
}

static bool left(struct top *t)
{
    t->shift -= t->shift > 0;
    return true;
}

static bool right(struct top *t)
{
    t->shift += t->shift + 1 < t->columns;
    return true;
}

// ---- From view to view ----

static void go(struct top *t, struct top_place to)
{
    t->back = xrealloc(t->back, (t->backs + 1) * sizeof(*t->back));
    t->back[t->backs++] = t->here;
    t->here = to;
    t->shift = 0;
    top_views_make(t);
}

static bool back(struct top *t)
{
    if (!t->backs)
        return true;
    struct top_place to = t->back[--t->backs];
    t->here = to;
    t->shift = 0;
    top_views_make(t);
    move_to(t, to.at);
    return true;
}

static struct top_row selected(const struct top *t)
{
    return t->rows ? top_rows_get(t, t->here.at)
                   : (struct top_row){ .kind = ROW_TEXT, .of = CORE_NONE, .value = CORE_NONE };
}

// The function of the selected row, else that of the view, else the most expensive one.
static uint32_t func_at(const struct top *t)
{
    struct top_row r = selected(t);
    uint32_t f = top_rows_func(t, &r);

    if (f == CORE_NONE && (t->here.view == TOP_FUNCTION || t->here.view == TOP_SOURCE))
        f = t->here.func;
    if (f != CORE_NONE || t->func_fresh)
        return f != CORE_NONE ? f : t->funcs ? t->func[0] : CORE_NONE;
    return t->core->funcs ? 0 : CORE_NONE; // the core sorts functions by cost: 0 costs most
}

static void show_function(struct top *t, uint32_t func, bool callees)
{
    go(t, (struct top_place){ .view = TOP_FUNCTION, .func = func, .file = CORE_NONE });
    // The function itself is selected, or its most expensive callee.
    for (size_t i = 0; i < t->rows; i++)
        if (t->row[i].kind == (callees ? ROW_EDGE : ROW_FUNC) && !t->row[i].caller) {
            t->here.at = i;
            break;
        }
}

static void show_source(struct top *t, uint32_t func, uint32_t file, uint64_t line)
{
    go(t, (struct top_place){ .view = TOP_SOURCE, .func = func, .file = file, .line = line });
}

static bool functions(struct top *t)
{
    if (t->here.view != TOP_FUNCTIONS)
        go(t, (struct top_place){ .view = TOP_FUNCTIONS, .func = CORE_NONE, .file = CORE_NONE });
    return true;
}

static bool function(struct top *t)
{
    if (t->here.view != TOP_FUNCTION)
        show_function(t, func_at(t), false);
    return true;
}

// The file of a group of one file: the string with its name.
static uint32_t file_of_group(const struct top *t, const struct top_row *r)
{
    if (r->kind != ROW_GROUP || t->group != GROUP_FILE)
        return CORE_NONE;
    return t->tree.item[r->of].string;
}

static bool source(struct top *t)
{
    struct top_row r = selected(t);
    uint32_t file = file_of_group(t, &r), f = func_at(t);

    if (t->here.view == TOP_SOURCE && r.kind != ROW_SITE)
        return true;
    if (file != CORE_NONE)
        show_source(t, CORE_NONE, file, 0);
    else if (f != CORE_NONE)
        show_source(t, f, t->core->file[f], t->core->line[f]);
    else
        show_source(t, CORE_NONE, CORE_NONE, 0);
    return true;
}

static bool events(struct top *t)
{
    if (t->here.view == TOP_EVENTS)
        return true;
    go(t, (struct top_place){ .view = TOP_EVENTS, .func = CORE_NONE, .file = CORE_NONE });
    for (size_t i = 0; i < t->rows; i++)
        if (t->row[i].of == t->event)
            t->here.at = i;
    return true;
}

static bool help(struct top *t)
{
    if (t->here.view != TOP_HELP)
        go(t, (struct top_place){ .view = TOP_HELP, .func = CORE_NONE, .file = CORE_NONE });
    return true;
}

// Closes the page of keys, else the program.
static bool quit(struct top *t)
{
    return t->here.view == TOP_HELP && back(t);
}

// ---- Events and sorting ----

// Makes the rows again; the selected function stays selected if it still has a row.
static void anew(struct top *t)
{
    struct top_row r = selected(t);
    uint32_t f = top_rows_func(t, &r);

    t->func_fresh = false;
    top_views_make(t);
    if (f == CORE_NONE || t->here.view != TOP_FUNCTIONS || t->here.at == 0)
        return;
    for (size_t i = 0; i < t->rows; i++) {
        r = top_rows_get(t, i);
        if (r.kind == ROW_FUNC && r.of == f) {
            t->here.at = i;
            return;
        }
    }
}

static void choose_event(struct top *t, uint32_t event)
{
    t->event = event;
    anew(t);
}

static bool step_event(struct top *t, int step)
{
    uint32_t n = t->core->event_count, e = t->event;

    do
        e = (e + n + (uint32_t)step) % n;
    while (!t->formula[e]);
    choose_event(t, e);
    return true;
}

static bool next_event(struct top *t)
{
    return step_event(t, 1);
}

static bool last_event(struct top *t)
{
    return step_event(t, -1);
}

static bool inclusive(struct top *t)
{
    if (!t->calls) {
        snprintf(t->say, sizeof(t->say),
                 "the profile has no calls: `quern run --calls=yes` records inclusive costs");
        return true;
    }
    t->inclusive = !t->inclusive;
    t->sort = UINT32_MAX; // by that cost
    anew(t);
    return true;
}

static bool sort_next(struct top *t)
{
    if (t->here.view != TOP_FUNCTIONS)
        return true;
    do
        t->sort = t->sort >= t->columns ? 0 : t->sort + 1;
    while (t->sort < t->columns && t->column[t->sort].share);
    anew(t);
    return true;
}

static bool sort_turn(struct top *t)
{
    t->up = !t->up;
    anew(t);
    return true;
}

static bool group(struct top *t)
{
    static const int next[] = { [GROUP_OBJECT] = GROUP_FOLDER,
                                [GROUP_FOLDER] = GROUP_FILE,
                                [GROUP_FILE] = GROUP_NAMESPACE,
                                [GROUP_NAMESPACE] = GROUP_CYCLE,
                                [GROUP_CYCLE] = -1 };

    functions(t);
    t->group = t->group < 0 ? GROUP_OBJECT : next[t->group];
    if (t->group == GROUP_CYCLE && !t->calls)
        t->group = -1;
    free(t->open);
    t->open = NULL;
    t->here.at = t->here.first = 0;
    anew(t);
    return true;
}

static bool cycles(struct top *t)
{
    graph_detect(t->core, t->core->no_cycles);
    if (t->group == GROUP_CYCLE) {
        free(t->open);
        t->open = NULL;
    }
    anew(t);
    return true;
}

static bool focus(struct top *t)
{
    uint32_t f = func_at(t);

    if (f != CORE_NONE) {
        top_filter_focus(t, f);
        functions(t);
        anew(t);
    }
    return true;
}

static bool hide(struct top *t)
{
    struct top_row r = selected(t);
    uint32_t f = top_rows_func(t, &r);

    if (f != CORE_NONE && t->here.view == TOP_FUNCTIONS) {
        size_t at = t->here.at;
        top_filter_hide(t, f);
        anew(t);
        move_to(t, at);
    }
    return true;
}

static bool escape(struct top *t)
{
    if (t->here.view != TOP_FUNCTIONS)
        return back(t);
    if (top_filter_undo(t))
        anew(t);
    return true;
}

// ---- Opening ----

static bool enter(struct top *t)
{
    struct top_row r = selected(t);
    uint32_t f = top_rows_func(t, &r);

    if (r.kind == ROW_GROUP) {
        t->open[r.of] = !t->open[r.of];
        top_views_make(t);
    } else if (r.kind == ROW_EVENT) {
        t->event = r.of;
        t->func_fresh = false;
        back(t);
    } else if (f == CORE_NONE) {
        return true;
    } else if (!t->calls || (t->here.view == TOP_FUNCTION && f == t->here.func)) {
        show_source(t, f, t->core->file[f], t->core->line[f]);
    } else {
        show_function(t, f, false);
    }
    return true;
}

static bool caller(struct top *t)
{
    uint32_t f = func_at(t), to = f == CORE_NONE || !t->calls ? CORE_NONE : top_views_caller(t, f);

    if (t->here.view == TOP_FUNCTION && t->here.func != CORE_NONE)
        to = t->calls ? top_views_caller(t, t->here.func) : CORE_NONE;
    if (to == CORE_NONE)
        snprintf(t->say, sizeof(t->say), "no caller is known");
    else
        show_function(t, to, false);
    return true;
}

static bool callees(struct top *t)
{
    uint32_t f = func_at(t);

    if (f != CORE_NONE)
        show_function(t, f, true);
    return true;
}

// ---- Text input ----

static size_t put_utf8(char *out, uint32_t c)
{
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const uint8_t head[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

    for (size_t i = n; i-- > 1; c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(head[n] | c);
    return n;
}

// Edits a line; true: Enter, false: Escape or a signal. Calls `changed` after each key.
static bool ask(struct top *t, const char *label, char *text, void (*changed)(struct top *))
{
    size_t n = strlen(text);

    for (;;) {
        top_table_prompt(t, label, text);
        uint32_t key = top_screen_key(-1);
        if (key == KEY_OF_ENTER)
            return true;
        if (key == KEY_OF_ESCAPE || key == KEY_OF_SIGNAL)
            return false;
        if (key == KEY_OF_BACK && n) {
            do
                n--;
            while (n && ((unsigned char)text[n] & 0xc0) == 0x80);
        } else if (key >= 0x20 && key < KEY_OF_NONE && n + 5 < TOP_PROMPT) {
            n += put_utf8(text + n, key);
        } else {
            continue;
        }
        text[n] = 0;
        *t->say = 0;
        if (changed)
            changed(t);
    }
}

static char typed[TOP_PROMPT]; // edited by ask() for a filter

static bool set_filter(struct top *t, const char *text)
{
    bool is = top_filter_set(t, text);

    if (is)
        anew(t);
    return is;
}

static void try_filter(struct top *t)
{
    set_filter(t, typed);
}

static bool find_next(struct top *t)
{
    size_t n = strlen(t->find),
           rows = t->here.view == TOP_SOURCE ? t->rows : 0; // others have no row

    for (size_t i = 1; n && i <= rows; i++) {
        size_t at = (t->here.at + i) % rows;
        const struct top_row *r = &t->row[at];
        if (r->kind == ROW_LINE && r->text_size >= n && memmem(r->text, r->text_size, t->find, n)) {
            t->here.at = at;
            return true;
        }
    }
    snprintf(t->say, sizeof(t->say), "%.200s: not found", t->find);
    return true;
}

static bool slash(struct top *t)
{
    char before[TOP_PROMPT];

    if (t->here.view == TOP_SOURCE) {
        *t->find = 0;
        return ask(t, "find: ", t->find, NULL) ? find_next(t) : true;
    }
    functions(t);
    memcpy(before, t->filter, sizeof(before));
    *typed = 0;
    // A wrong regular expression, or Escape, leaves the old filter.
    if (ask(t, "filter: ", typed, try_filter) && set_filter(t, typed))
        t->here.at = t->here.first = 0;
    else if (strcmp(before, t->filter) != 0)
        set_filter(t, before);
    return true;
}

// Goes to the line with the highest cost.
static bool hottest(struct top *t)
{
    double most = 0;

    if (t->here.view != TOP_SOURCE)
        return true;
    for (size_t i = 0; i < t->rows; i++) {
        const struct top_row *r = &t->row[i];
        if (r->kind != ROW_LINE || r->value == CORE_NONE)
            continue;
        if (t->value[r->value].cost[0].approx > most) {
            most = t->value[r->value].cost[0].approx;
            t->here.at = i;
        }
    }
    return true;
}

// ---- The table ----

static const struct {
    uint32_t key;
    bool (*does)(struct top *t);
} keys[] = {
#define KEY(name, key, does, text) { key, does },
#define ALSO(key, does)            { key, does },
#include "cli/top/top_keys.def"
};

bool top_keys_press(struct top *t, uint32_t key)
{
    *t->say = 0;
    for (size_t k = 0; k < sizeof(keys) / sizeof(*keys); k++)
        if (keys[k].key == key)
            return keys[k].does(t);
    return true;
}
