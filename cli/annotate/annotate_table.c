// SPDX-License-Identifier: MIT
//
// The table of functions of `quern annotate`. A row is the code of a function from one source file:
// code inlined from a header has a separate row, as in the tools whose layout this is. With
// --inclusive a row is a whole function.
//
// DIFFERS: callgrind_annotate adds the cost of recursive calls again for each level (more than
// 100 % of the program), and splits a function when its callers name its file differently; here
// cycles are collapsed and names are resolved once.
#include "cli/annotate/annotate.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/text.h"
#include "cli/base/util.h"
#include "cli/profiles/event.h"
#include "cli/profiles/table.h"

void annotate_rows(struct annotate *a)
{
    if (a->inclusive && a->costs) {
        a->row_count = quern_profile_func_count(a->p);
        a->row = xcalloc(a->row_count + 1, sizeof(*a->row));
        for (size_t i = 0; i < a->row_count; i++) {
            uint32_t f = (uint32_t)i;
            a->row[i] = (struct annotate_row){ .file = quern_profile_func_get(a->p, f).file,
                                               .func = f,
                                               .present = UINT64_MAX,
                                               .counts = quern_costs_inclusive(a->costs, f) };
        }
        return;
    }
    if (!(a->rows = quern_rows_new(a->p)))
        die(UTIL_USAGE, "out of memory");
    a->row_count = quern_rows_count(a->rows);
    a->row = xcalloc(a->row_count + 1, sizeof(*a->row));
    for (size_t i = 0; i < a->row_count; i++) {
        struct quern_row r = quern_rows_get(a->rows, i);
        a->row[i] = (struct annotate_row){ r.file, r.func, r.present, r.counts };
    }
}

// ---- Order and choice ----

static quern_count magnitude(quern_count v)
{
    return v < 0 ? -v : v;
}

int annotate_compare(const struct annotate *a, const quern_count *x, const quern_count *y)
{
    for (size_t i = 0; i < a->sorted_count; i++) {
        quern_count v = magnitude(event_value(a->p, a->sorted[i], x));
        quern_count w = magnitude(event_value(a->p, a->sorted[i], y));
        if (v != w)
            return v > w ? -1 : 1;
    }
    return 0;
}

static const struct annotate *sorting; // qsort() has no argument for the comparison

const char *annotate_file_name(const struct annotate *a, uint32_t file)
{
    const char *s = quern_profile_str(a->p, file);

    if (!*s)
        return "???";
    if (a->callgrind && a->cwd && strncmp(s, a->cwd, a->cwd_len) == 0 && s[a->cwd_len])
        return s + a->cwd_len;
    return s;
}

// Rows are sorted by the key that mostly decides; it is computed once for each row.
struct keyed {
    quern_count key;
    size_t row;
};

static int by_cost(const void *pa, const void *pb)
{
    const struct annotate *a = sorting;
    const struct keyed *k = pa, *l = pb;
    const struct annotate_row *x = &a->row[k->row], *y = &a->row[l->row];
    struct quern_func f, g;
    int c;

    if (k->key != l->key)
        return k->key > l->key ? -1 : 1;
    c = annotate_compare(a, x->counts, y->counts);

    if (c)
        return c;
    if ((c = strcmp(annotate_file_name(a, x->file), annotate_file_name(a, y->file))))
        return c;
    f = quern_profile_func_get(a->p, x->func);
    g = quern_profile_func_get(a->p, y->func);
    if ((c = strcmp(quern_profile_str(a->p, f.name), quern_profile_str(a->p, g.name))))
        return c;
    if ((c = strcmp(quern_profile_str(a->p, f.object), quern_profile_str(a->p, g.object))))
        return c;
    return x->func < y->func ? -1 : x->func > y->func;
}

static double share(const struct annotate *a, size_t event, const quern_count *counts)
{
    quern_count total = event_value(a->p, event, a->totals);
    quern_count v = event_value(a->p, event, counts);
    return total ? 100.0 * (double)magnitude(v) / (double)magnitude(total) : 0;
}

static void sort_rows(struct annotate *a)
{
    struct keyed *keyed = xcalloc(a->row_count + 1, sizeof(*keyed));

    for (size_t i = 0; i < a->row_count; i++) {
        keyed[i].key = magnitude(event_value(a->p, a->sorted[0], a->row[i].counts));
        keyed[i].row = i;
    }
    sorting = a;
    qsort(keyed, a->row_count, sizeof(*keyed), by_cost);
    for (size_t i = 0; i < a->row_count; i++)
        a->order[i] = keyed[i].row;
    free(keyed);
}

void annotate_choose(struct annotate *a)
{
    double *sum = xcalloc(a->sorted_count, sizeof(*sum));
    size_t n = 0;
    int enough = 0;

    a->order = xcalloc(a->row_count + 1, sizeof(*a->order));
    sort_rows(a);
    for (size_t k = 0; k < a->row_count && !enough; k++) {
        const quern_count *v = a->row[a->order[k]].counts;
        int take = 0;
        if (!a->callgrind) {
            // Reaches one of the thresholds. DIFFERS: cg_annotate 3.19 stops at the first function
            // that reaches none, although a later one may.
            for (size_t i = 0; i < a->sorted_count; i++)
                take |= share(a, a->sorted[i], v) >= a->thresholds[i] &&
                        (a->thresholds[i] < 100 || i == 0 || a->sort);
        } else if (a->inclusive) {
            take = share(a, a->sorted[0], v) >= 100 - a->thresholds[0];
        } else {
            take = enough = 1;
            for (size_t i = 0; i < a->sorted_count; i++) {
                sum[i] += share(a, a->sorted[i], v);
                enough &= sum[i] >= a->thresholds[i];
            }
            if (a->thresholds[0] >= 100)
                enough = 0;
        }
        if (take)
            a->order[n++] = a->order[k];
    }
    a->order_count = n;
    free(sum);
}

// ---- Printing ----

void annotate_put_func(const struct annotate *a, uint32_t file, uint32_t func)
{
    const char *name = quern_profile_str(a->p, quern_profile_func_get(a->p, func).name);

    text_put(stdout, annotate_file_name(a, file));
    putchar_unlocked(':');
    text_put(stdout, *name ? name : "???");
}

static void put_object(const struct annotate *a, uint32_t func)
{
    const char *object = quern_profile_str(a->p, quern_profile_func_get(a->p, func).object);
    text_print(stdout, " [%s]", *object ? object : "???");
}

// Edges of a function, sorted by cost.
struct shown_edge {
    struct quern_edge e;
    uint32_t other;
};

static int edge_by_cost(const void *pa, const void *pb)
{
    const struct shown_edge *x = pa, *y = pb;
    int c = annotate_compare(sorting, x->e.counts, y->e.counts);
    return c ? c : x->other < y->other ? -1 : x->other > y->other;
}

static struct shown_edge *edges_of(const struct annotate *a, uint32_t func, int callers, size_t *n)
{
    struct shown_edge *e;
    size_t first, end;

    if (callers) {
        const uint32_t *list = quern_costs_callers(a->costs, func, n);
        e = xcalloc(*n + 1, sizeof(*e));
        for (size_t i = 0; i < *n; i++) {
            e[i].e = quern_costs_edge(a->costs, list[i]);
            e[i].other = e[i].e.caller;
        }
    } else {
        quern_costs_callees(a->costs, func, &first, &end);
        *n = end - first;
        e = xcalloc(*n + 1, sizeof(*e));
        for (size_t i = 0; i < *n; i++) {
            e[i].e = quern_costs_edge(a->costs, first + i);
            e[i].other = e[i].e.callee;
        }
    }
    sorting = a;
    qsort(e, *n, sizeof(*e), edge_by_cost);
    return e;
}

static void edge_lines(struct annotate *a, uint32_t func, int callers, int fit)
{
    size_t n;
    struct shown_edge *e = edges_of(a, func, callers, &n);
    char calls[80];

    for (size_t i = 0; i < n; i++) {
        if (fit) {
            table_fit(&a->table, e[i].e.counts, UINT64_MAX);
            continue;
        }
        table_row(&a->table, e[i].e.counts, UINT64_MAX);
        fputs(callers ? " < " : " >   ", stdout);
        annotate_put_func(a, quern_profile_func_get(a->p, e[i].other).file, e[i].other);
        event_commas(calls, e[i].e.calls, 1);
        text_print(stdout, " (%sx)", calls);
        put_object(a, e[i].other);
        putchar('\n');
    }
    free(e);
}

void annotate_functions(struct annotate *a)
{
    enum annotate_tree tree = a->costs ? a->tree : TREE_NONE;

    // All functions decide the width of the columns, shown or not.
    table_reset(&a->table);
    for (size_t k = 0; k < a->row_count; k++)
        table_fit(&a->table, a->row[k].counts, a->row[k].present);
    for (size_t k = 0; k < a->order_count; k++) {
        const struct annotate_row *r = &a->row[a->order[k]];
        if (tree == TREE_CALLER || tree == TREE_BOTH)
            edge_lines(a, r->func, 1, 1);
        if (tree == TREE_CALLING || tree == TREE_BOTH)
            edge_lines(a, r->func, 0, 1);
    }
    fputs(TABLE_RULE, stdout);
    table_head(&a->table);
    fputs(" file:function\n", stdout);
    fputs(TABLE_RULE, stdout);
    for (size_t k = 0; k < a->order_count; k++) {
        const struct annotate_row *r = &a->row[a->order[k]];
        struct quern_func f = quern_profile_func_get(a->p, r->func);
        int whole = r->file == f.file; // not code inlined from another file
        if (tree != TREE_NONE && k)
            putchar('\n');
        if (whole && (tree == TREE_CALLER || tree == TREE_BOTH))
            edge_lines(a, r->func, 1, 0);
        table_row(&a->table, r->counts, r->present);
        fputs(tree != TREE_NONE ? " *  " : " ", stdout);
        annotate_put_func(a, r->file, r->func);
        if (a->callgrind && whole)
            put_object(a, r->func);
        if (a->costs && a->inclusive && quern_costs_cycle(a->costs, r->func))
            printf(" (cycle %u)", quern_costs_cycle(a->costs, r->func));
        putchar('\n');
        if (whole && (tree == TREE_CALLING || tree == TREE_BOTH))
            edge_lines(a, r->func, 0, 0);
    }
    putchar('\n');
}
