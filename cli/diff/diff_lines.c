// SPDX-License-Identifier: MIT
//
// `quern diff --by=line`: differences by source line. The two versions of a file are aligned first:
// lines inserted before a line do not separate its two costs. A file whose two versions are not
// found is left out and named at the end: line numbers alone do not match its lines.
#include "cli/diff/diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/text.h"
#include "cli/base/util.h"
#include "cli/files/align.h"
#include "cli/files/source.h"
#include "cli/files/trust.h"
#include "cli/profiles/read.h"
#include "cli/profiles/table.h"

// ---- Texts ----

struct text {
    struct source file;
    char **line;  // NUL-terminated; line[0] is line 1
    uint32_t *id; // equal lines have equal ids
    size_t n;
};

// Below the folders of this side first: the recorded path leads to one of the two versions.
static char *locate(const struct diff_side *s, const char *name)
{
    char *path = source_search(&s->include, name, false, NULL);

    if (!path && source_is_there(name, false))
        path = xstrdup(name);
    return path;
}

static int load(struct text *t, const char *path, struct quern_profile *ids)
{
    struct source file = source_read(path, false, (struct timespec){ 0 });

    *t = (struct text){ .file = file, .n = file.lines };
    if (!file.path)
        return -1;
    t->line = xcalloc(t->n + 1, sizeof(*t->line));
    t->id = xcalloc(t->n + 1, sizeof(*t->id));
    for (size_t i = 0; i < t->n; i++) {
        char *end = file.text + file.start[i + 1];

        if (end[-1] == '\n')
            end[-1] = 0;
        t->line[i] = file.text + file.start[i];
        t->id[i] = quern_profile_string(ids, t->line[i], -1);
    }
    return 0;
}

static void unload(struct text *t)
{
    source_put(&t->file);
    free(t->line);
    free(t->id);
}

// ---- Counts by line ----

struct line_cost {
    uint32_t file; // common string
    uint64_t line;
    size_t counts;
};

struct side_lines {
    struct line_cost *line;
    quern_count *counts;
    size_t n;
    const char **name; // by common file: its name in this profile
};

static int by_place(const void *pa, const void *pb)
{
    const struct line_cost *x = pa, *y = pb;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

static void collect(const struct diff *d, const struct diff_side *s, struct side_lines *out)
{
    struct quern_cursor *c = read_cursor(s->p);
    struct quern_record rec;
    size_t cap = 0;

    out->name = xcalloc(quern_profile_str_count(d->names) + 1, sizeof(*out->name));
    while (quern_cursor_next(c, &rec)) {
        uint32_t file;
        if (rec.kind != QUERN_REC_COST || rec.at.file == QUERN_NONE)
            continue;
        file = s->file[rec.at.file];
        out->name[file] = quern_profile_str(s->p, rec.at.file);
        if (!out->n || out->line[out->n - 1].file != file ||
            out->line[out->n - 1].line != rec.at.line) {
            if (out->n == cap) {
                cap = cap * 2 + 1024;
                out->line = xrealloc(out->line, cap * sizeof(*out->line));
                out->counts = xrealloc(out->counts, cap * d->events * sizeof(*out->counts));
            }
            out->line[out->n] = (struct line_cost){ file, rec.at.line, out->n * d->events };
            memset(out->counts + out->n * d->events, 0, d->events * sizeof(*out->counts));
            out->n++;
        }
        for (size_t i = 0; i < d->events; i++)
            out->counts[(out->n - 1) * d->events + i] += rec.counts[i];
    }
    quern_cursor_free(c);
    if (!out->n)
        return;
    qsort(out->line, out->n, sizeof(*out->line), by_place);
    size_t m = 0;
    for (size_t i = 1; i < out->n; i++) {
        if (by_place(&out->line[m], &out->line[i]) == 0) {
            for (size_t k = 0; k < d->events; k++)
                out->counts[out->line[m].counts + k] += out->counts[out->line[i].counts + k];
        } else {
            out->line[++m] = out->line[i];
        }
    }
    out->n = m + 1;
}

static const quern_count *cost_at(const struct side_lines *s, uint32_t file, uint64_t line)
{
    struct line_cost key = { .file = file, .line = line };
    const struct line_cost *l =
        s->n ? bsearch(&key, s->line, s->n, sizeof(*s->line), by_place) : NULL;
    return l ? s->counts + l->counts : NULL;
}

// ---- Printing ----

struct out_line {
    size_t old, new_; // 1-based; 0: absent
    const char *text;
};

static int delta_of(const struct diff *d, const struct side_lines *o, const struct side_lines *n,
                    uint32_t file, const struct out_line *l, quern_count *delta)
{
    const quern_count *a = l->old ? cost_at(o, file, l->old) : NULL;
    const quern_count *b = l->new_ ? cost_at(n, file, l->new_) : NULL;

    for (size_t i = 0; i < d->events; i++)
        delta[i] = (b ? b[i] : 0) - (a ? a[i] : 0);
    return diff_matters(d, delta);
}

static void put_line_number(size_t n)
{
    if (n)
        printf("%6zu ", n);
    else
        fputs("     - ", stdout);
}

static void show_file(struct diff *d, const struct side_lines *o, const struct side_lines *n,
                      uint32_t file, const char *old_path, const char *new_path)
{
    struct quern_profile *ids = quern_profile_new();
    struct text a, b;
    struct out_line *list;
    quern_count *delta = xcalloc(d->events + 1, sizeof(*delta));
    size_t count = 0, next = 0, some = 0;

    if (!ids || load(&a, old_path, ids) < 0 || load(&b, new_path, ids) < 0)
        die(UTIL_USAGE, "%s and %s cannot be compared", old_path, new_path);
    size_t *to = xcalloc(a.n + 1, sizeof(*to));
    align_lines(a.id, a.n, b.id, b.n, quern_profile_str_count(ids), to);
    // All lines of both in one order: removed lines before those that replace them.
    list = xcalloc(a.n + b.n + 1, sizeof(*list));
    for (size_t i = 0; i < a.n; i++) {
        if (!to[i]) {
            list[count++] = (struct out_line){ i + 1, 0, a.line[i] };
            continue;
        }
        for (; next + 1 < to[i]; next++)
            list[count++] = (struct out_line){ 0, next + 1, b.line[next] };
        list[count++] = (struct out_line){ i + 1, to[i], b.line[next++] };
    }
    for (; next < b.n; next++)
        list[count++] = (struct out_line){ 0, next + 1, b.line[next] };
    table_reset(&d->table);
    for (size_t i = 0; i < count; i++)
        if (delta_of(d, o, n, file, &list[i], delta)) {
            table_fit(&d->table, delta, UINT64_MAX);
            some++;
        }
    if (some) {
        text_print(stdout, TABLE_RULE "-- Source: %s\n", quern_profile_str(d->names, file));
        if (strcmp(old_path, new_path) != 0)
            text_print(stdout, "-- old: %s\n-- new: %s\n", old_path, new_path);
        fputs(TABLE_RULE, stdout);
        table_head(&d->table);
        fputs("    old    new\n\n", stdout);
        for (size_t i = 0; i < count; i++)
            if (delta_of(d, o, n, file, &list[i], delta)) {
                table_row(&d->table, delta, UINT64_MAX);
                put_line_number(list[i].old);
                put_line_number(list[i].new_);
                putchar(' ');
                text_put_line(stdout, list[i].text, strlen(list[i].text));
                putchar('\n');
            }
        putchar('\n');
    }
    unload(&a);
    unload(&b);
    free(to);
    free(list);
    free(delta);
    quern_profile_free(ids);
}

// Does any line of the file differ? Other files are not searched for.
static int differs(const struct diff *d, const struct side_lines *o, const struct side_lines *n,
                   uint32_t file)
{
    quern_count *sum = xcalloc(d->events + 1, sizeof(*sum));
    struct out_line l;
    int yes = 0;

    for (size_t i = 0; i < n->n && !yes; i++)
        if (n->line[i].file == file) {
            l = (struct out_line){ n->line[i].line, n->line[i].line, NULL };
            yes = delta_of(d, o, n, file, &l, sum);
        }
    for (size_t i = 0; i < o->n && !yes; i++)
        if (o->line[i].file == file) {
            l = (struct out_line){ o->line[i].line, o->line[i].line, NULL };
            yes = delta_of(d, o, n, file, &l, sum);
        }
    free(sum);
    return yes;
}

void diff_lines(struct diff *d)
{
    struct side_lines o = { NULL, NULL, 0, NULL }, n = { NULL, NULL, 0, NULL };
    size_t files = quern_profile_str_count(d->names), missing = 0;

    trust_folders(&d->old.include);
    trust_folders(&d->new_.include);
    collect(d, &d->old, &o);
    collect(d, &d->new_, &n);
    uint32_t *lost = xcalloc(files + 1, sizeof(*lost));
    for (uint32_t f = 0; f < files; f++) {
        char *a, *b;
        if ((!o.name[f] && !n.name[f]) || !differs(d, &o, &n, f))
            continue;
        a = locate(&d->old, o.name[f] ? o.name[f] : n.name[f]);
        b = locate(&d->new_, n.name[f] ? n.name[f] : o.name[f]);
        if (a && b)
            show_file(d, &o, &n, f, a, b);
        else
            lost[missing++] = f;
        free(a);
        free(b);
    }
    if (missing) {
        fputs(TABLE_RULE "Files that differ, but whose two versions were not found:\n" TABLE_RULE,
              stdout);
        for (size_t i = 0; i < missing; i++)
            text_print(stdout, "  %s\n", quern_profile_str(d->names, lost[i]));
        putchar('\n');
    }
    if (trust_refused())
        warn("%s", trust_refused());
    free(lost);
    free(o.line);
    free(o.counts);
    free(o.name);
    free(n.line);
    free(n.counts);
    free(n.name);
}
