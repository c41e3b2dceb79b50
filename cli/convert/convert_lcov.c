// SPDX-License-Identifier: MIT
//
// `quern convert --to=lcov`: a tracefile of lcov (geninfo(1)), which editors show beside the
// source. The count of a line is that of one event. A profile knows only lines that were executed:
// none has a count of 0. Names are escaped as for people, since a record is a line.
#include "cli/convert/convert.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/text.h"
#include "cli/base/util.h"
#include "cli/profiles/event.h"
#include "cli/profiles/read.h"

struct line {
    uint32_t file;
    uint64_t number;
    quern_count count;
};

struct function {
    uint32_t file, func;
    uint64_t line; // the first one in its own file; 0: none
};

struct lcov {
    FILE *f;
    const struct convert *c;
    struct line *line; // by file and number, each once
    size_t lines;
    struct function *function; // by file and line
    size_t functions;
};

static int by_line(const void *pa, const void *pb)
{
    const struct line *x = pa, *y = pb;

    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static int by_place(const void *pa, const void *pb)
{
    const struct function *x = pa, *y = pb;

    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return x->func < y->func ? -1 : x->func > y->func;
}

static void collect(struct lcov *l)
{
    struct quern_cursor *cur = read_cursor(l->c->p);
    struct quern_record rec;

    l->functions = quern_profile_func_count(l->c->p);
    l->function = xcalloc(l->functions + 1, sizeof(*l->function));
    for (uint32_t i = 0; i < l->functions; i++)
        l->function[i] = (struct function){ quern_profile_func_get(l->c->p, i).file, i, 0 };
    while (quern_cursor_next(cur, &rec)) {
        struct function *g = &l->function[rec.at.func];
        uint32_t file = rec.at.file == QUERN_NONE ? g->file : rec.at.file;

        if (rec.kind != QUERN_REC_COST || !rec.at.line || file == QUERN_NONE)
            continue;
        if (file == g->file && (!g->line || rec.at.line < g->line))
            g->line = rec.at.line;
        if (!(l->lines & (l->lines - 1)))
            l->line = xrealloc(l->line, (l->lines ? l->lines * 2 : 1) * sizeof(*l->line));
        l->line[l->lines++] =
            (struct line){ file, rec.at.line, event_value(l->c->p, l->c->event, rec.counts) };
    }
    quern_cursor_free(cur);
}

// Whole counts above 0 alone: that is what a tracefile can say.
static void keep_shown(struct lcov *l)
{
    int64_t scale = quern_profile_event_scale(l->c->p, l->c->event);
    size_t n = 0;

    for (size_t i = 0; i < l->lines; i++) {
        l->line[n] = l->line[i];
        l->line[n].count /= scale;
        n += l->line[n].count > 0;
    }
    l->lines = n;
}

static void sum(struct lcov *l)
{
    size_t n = 0;

    if (l->lines)
        qsort(l->line, l->lines, sizeof(*l->line), by_line);
    for (size_t i = 0; i < l->lines; i++) {
        if (n && by_line(&l->line[n - 1], &l->line[i]) == 0)
            l->line[n - 1].count += l->line[i].count;
        else
            l->line[n++] = l->line[i];
    }
    l->lines = n;
    keep_shown(l);
    qsort(l->function, l->functions, sizeof(*l->function), by_place);
}

static void put_name(const struct lcov *l, const char *name)
{
    char *clean = text_clean(name);

    fputs(clean, l->f);
    free(clean);
}

// Functions of one file from i on: their lines, then how often they were called. A profile without
// calls, and the first function of a program, say only that it was executed.
static size_t put_functions(const struct lcov *l, uint32_t file, size_t i)
{
    size_t first, n = 0;

    while (i < l->functions && l->function[i].file < file)
        i++;
    first = i;
    for (; i < l->functions && l->function[i].file == file; i++) {
        const struct function *g = &l->function[i];

        if (!g->line)
            continue;
        fprintf(l->f, "FN:%llu,", (unsigned long long)g->line);
        put_name(l, quern_profile_str(l->c->p, quern_profile_func_get(l->c->p, g->func).name));
        putc('\n', l->f);
        n++;
    }
    for (size_t k = first; k < i; k++) {
        uint64_t called = quern_costs_called(l->c->costs, l->function[k].func);

        if (!l->function[k].line)
            continue;
        fprintf(l->f, "FNDA:%llu,", (unsigned long long)(called ? called : 1));
        put_name(l, quern_profile_str(l->c->p,
                                      quern_profile_func_get(l->c->p, l->function[k].func).name));
        putc('\n', l->f);
    }
    fprintf(l->f, "FNF:%zu\nFNH:%zu\n", n, n);
    return i;
}

static void put_lines(const struct lcov *l, size_t from, size_t to)
{
    char buf[64];

    for (size_t i = from; i < to; i++) {
        quern_count_format(buf, sizeof(buf), l->line[i].count, 1);
        fprintf(l->f, "DA:%llu,%s\n", (unsigned long long)l->line[i].number, buf);
    }
    fprintf(l->f, "LF:%zu\nLH:%zu\n", to - from, to - from);
}

void convert_lcov(FILE *f, const struct convert *c)
{
    struct lcov l = { .f = f, .c = c };
    size_t function = 0, end;

    collect(&l);
    sum(&l);
    for (size_t i = 0; i < l.lines; i = end) {
        const char *file = quern_profile_str(c->p, l.line[i].file);

        for (end = i; end < l.lines && l.line[end].file == l.line[i].file; end++)
            ;
        if (strcmp(file, "???") == 0)
            continue;
        fputs("TN:\nSF:", f);
        put_name(&l, file);
        putc('\n', f);
        function = put_functions(&l, l.line[i].file, function);
        put_lines(&l, i, end);
        fputs("end_of_record\n", f);
    }
    free(l.line);
    free(l.function);
}
