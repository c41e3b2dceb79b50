// SPDX-License-Identifier: MIT
//
// CSV (RFC 4180: a header line, fields quoted where they must be) and Graphviz. Names are escaped
// as for people (cli/base/text.h): readers of both refuse what is not UTF-8, and some control
// characters. In CSV no name is a formula.
#include "cli/convert/convert.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/text.h"
#include "cli/base/util.h"
#include "cli/profiles/event.h"
#include "cli/profiles/fields.h"
#include "cli/profiles/read.h"
#include "cli/profiles/walks.h"

// Events that have values: counted, or computed by a formula.
static int has_values(const struct convert *c, size_t event)
{
    return event < c->events || quern_profile_event_formula(c->p, event);
}

// ---- CSV ----

// Would a spreadsheet read it as a formula? The first character decides, also in full width.
static bool is_formula(const char *s)
{
    static const char *const wide[] = { "\xef\xbc\x9d", "\xef\xbc\x8b", "\xef\xbc\x8d",
                                        "\xef\xbc\xa0" };

    if (*s == '=' || *s == '+' || *s == '-' || *s == '@')
        return true;
    for (size_t i = 0; *s == wide[0][0] && i < sizeof(wide) / sizeof(*wide); i++)
        if (strncmp(s, wide[i], strlen(wide[i])) == 0)
            return true;
    return false;
}

// A field of text; not for numbers.
static void field(FILE *f, const char *name)
{
    size_t n = strlen(name);
    char *clean = text_clean_bytes(name, n) < n ? text_clean(name) : NULL;
    const char *s = clean ? clean : name;
    bool formula = is_formula(s);

    if (!formula && !s[strcspn(s, ",;\"")]) {
        fwrite_unlocked(s, 1, clean ? strlen(s) : n, f);
    } else {
        fputs(formula ? "\"'" : "\"", f);
        for (; *s; s++) {
            if (*s == '"')
                putc('"', f);
            putc(*s, f);
        }
        putc('"', f);
    }
    free(clean);
}

static void counts(FILE *f, const struct convert *c, const quern_count *v)
{
    char buf[64];

    for (size_t i = 0; i < c->events + quern_profile_derived_count(c->p); i++) {
        if (!has_values(c, i))
            continue;
        quern_count_format(buf, sizeof(buf), event_value(c->p, i, v),
                           quern_profile_event_scale(c->p, i));
        fprintf(f, ",%s", buf);
    }
    fputs("\r\n", f);
}

static void events(FILE *f, const struct convert *c, const char *prefix)
{
    for (size_t i = 0; i < c->events + quern_profile_derived_count(c->p); i++) {
        if (!has_values(c, i))
            continue;
        putc(',', f);
        char *name = xasprintf("%s%s", prefix, quern_profile_event_name(c->p, i));
        field(f, name);
        free(name);
    }
}

static void function_fields(FILE *f, const struct convert *c, uint32_t func)
{
    struct quern_func g = quern_profile_func_get(c->p, func);

    field(f, quern_profile_str(c->p, g.object));
    putc(',', f);
    field(f, quern_profile_str(c->p, g.file));
    putc(',', f);
    field(f, quern_profile_str(c->p, g.name));
}

// Of a profile of the data: how the program walks through the object that a function is.
static void walk_fields(FILE *f, const struct convert *c, const struct walks *w, uint32_t func)
{
    const char *name = quern_profile_str(c->p, quern_profile_func_get(c->p, func).name);
    const struct walk *walk = walks_of_object(w, name);

    if (!w->count)
        return;
    putc(',', f);
    field(f, walk ? walk->how : "");
    fprintf(f, ",%llu,%llu", walk ? (unsigned long long)walk->count : 0,
            walk ? (unsigned long long)walk->steps : 0);
}

static const char *walk_names(const struct walks *w)
{
    return w->count ? ",walk,walk_count,walk_steps" : "";
}

// The name of the row.
static void name_field(FILE *f, const struct convert *c, const struct fields *fields,
                       const struct quern_site *at)
{
    const struct field *named = fields_find(fields, c->p, at->func, at->addr);

    if (!fields->count)
        return;
    putc(',', f);
    if (named && named->inferred) {
        char *text = xasprintf("%s (inferred)", named->path);

        field(f, text);
        free(text);
        return;
    }
    field(f, named ? named->path : "");
}

static void csv_lines(FILE *f, const struct convert *c)
{
    struct quern_cursor *cur = read_cursor(c->p);
    struct quern_record rec;
    int addr = (quern_profile_has(c->p) & QUERN_HAS_ADDR) != 0;
    struct fields fields;
    struct walks w;

    walks_read(&w, c->p);
    fields_read(&fields, c->p);
    fprintf(f, "object,function_file,function,file,line%s%s%s", addr ? ",address" : "",
            fields.count ? ",field" : "", walk_names(&w));
    events(f, c, "");
    fputs("\r\n", f);
    while (quern_cursor_next(cur, &rec)) {
        if (rec.kind != QUERN_REC_COST)
            continue;
        function_fields(f, c, rec.at.func);
        putc(',', f);
        field(f, quern_profile_str(c->p, rec.at.file));
        fprintf(f, ",%llu", (unsigned long long)rec.at.line);
        if (addr)
            fprintf(f, ",0x%llx", (unsigned long long)rec.at.addr);
        name_field(f, c, &fields, &rec.at);
        walk_fields(f, c, &w, rec.at.func);
        counts(f, c, rec.counts);
    }
    quern_cursor_free(cur);
    fields_free(&fields);
    walks_free(&w);
}

static void csv_functions(FILE *f, const struct convert *c)
{
    struct walks w;

    walks_read(&w, c->p);
    fprintf(f, "object,file,function,called,cycle,cost%s", walk_names(&w));
    events(f, c, "");
    fputs("\r\n", f);
    for (uint32_t i = 0; i < quern_profile_func_count(c->p); i++)
        for (int inclusive = 0; inclusive < 2; inclusive++) {
            function_fields(f, c, i);
            fprintf(f, ",%llu,%u,%s", (unsigned long long)quern_costs_called(c->costs, i),
                    quern_costs_cycle(c->costs, i), inclusive ? "inclusive" : "self");
            walk_fields(f, c, &w, i);
            counts(f, c,
                   inclusive ? quern_costs_inclusive(c->costs, i) : quern_costs_self(c->costs, i));
        }
    walks_free(&w);
}

static void csv_edges(FILE *f, const struct convert *c)
{
    fputs("caller_object,caller_file,caller,callee_object,callee_file,callee,calls", f);
    events(f, c, "");
    fputs("\r\n", f);
    for (size_t i = 0; i < quern_costs_edge_count(c->costs); i++) {
        struct quern_edge e = quern_costs_edge(c->costs, i);
        function_fields(f, c, e.caller);
        putc(',', f);
        function_fields(f, c, e.callee);
        fprintf(f, ",%llu", (unsigned long long)e.calls);
        counts(f, c, e.counts);
    }
}

void convert_csv(FILE *f, const struct convert *c)
{
    if (c->by == CONVERT_LINE)
        csv_lines(f, c);
    else if (c->by == CONVERT_FUNCTION)
        csv_functions(f, c);
    else
        csv_edges(f, c);
}

// ---- Graphviz ----

enum { LABEL_MAX = 199 }; // bytes of a name in a node

// Part of a quoted string. Graphviz reads & there as the beginning of an HTML entity.
static void quoted(FILE *f, const char *name, size_t max)
{
    char *clean = text_clean(name);

    clean[text_cut(clean, max)] = '\0';
    for (const char *s = clean; *s; s++) {
        if (*s == '"' || *s == '\\')
            putc('\\', f);
        fputs(*s == '&' ? "&amp;" : (char[2]){ *s }, f);
    }
    free(clean);
}

static double part_of(const struct convert *c, const quern_count *v, quern_count total)
{
    return total ? 100.0 * (double)event_value(c->p, c->event, v) / (double)total : 0;
}

void convert_dot(FILE *f, const struct convert *c)
{
    quern_count total = event_value(c->p, c->event, quern_profile_totals(c->p));
    size_t n = quern_profile_func_count(c->p);
    uint8_t *shown = xcalloc(n + 1, 1);
    char calls[80];

    fprintf(f, "digraph profile {\n    label=\"");
    quoted(f, c->paths[0], SIZE_MAX - 1);
    fputs(": ", f);
    quoted(f, quern_profile_event_name(c->p, c->event), SIZE_MAX - 1);
    fputs("\";\n    node [shape=box, fontname=\"sans-serif\", style=filled];\n"
          "    edge [fontname=\"sans-serif\", fontsize=10];\n",
          f);
    for (uint32_t i = 0; i < n; i++) {
        double incl = part_of(c, quern_costs_inclusive(c->costs, i), total);
        double self = part_of(c, quern_costs_self(c->costs, i), total);
        struct quern_func g = quern_profile_func_get(c->p, i);
        if (incl < c->threshold && self < c->threshold)
            continue;
        shown[i] = 1;
        const char *name = quern_profile_str(c->p, g.name);
        fprintf(f, "    f%u [label=\"", i);
        quoted(f, *name ? name : "???", LABEL_MAX);
        fprintf(f, "\\n%.2f%%\\nself %.2f%%\", fillcolor=\"0.0 %.3f 1.0\"];\n", incl, self,
                self > 100 ? 0.8
                : self < 0 ? 0
                           : self / 125);
    }
    for (size_t i = 0; i < quern_costs_edge_count(c->costs); i++) {
        struct quern_edge e = quern_costs_edge(c->costs, i);
        double share = part_of(c, e.counts, total);
        if (!shown[e.caller] || !shown[e.callee] || share < c->threshold)
            continue;
        event_commas(calls, e.calls, 1);
        fprintf(f, "    f%u -> f%u [label=\"%.2f%%\\n%sx\", penwidth=%.2f];\n", e.caller, e.callee,
                share, calls,
                0.5 + (share > 100 ? 100
                       : share < 0 ? 0
                                   : share) /
                          25);
    }
    fputs("}\n", f);
    free(shown);
}
