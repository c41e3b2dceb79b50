// SPDX-License-Identifier: MIT
//
// The tables of functions and of files of `quern annotate`. A row is a function; below it, where
// code was inlined from headers, each of its source files. With --by-file, and by the names of the
// tools whose layout this is, a row is the code of a function from one file.
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

// ---- Rows ----

static quern_count magnitude(quern_count v)
{
    return v < 0 ? -v : v;
}

static double share(const struct annotate *a, size_t event, const quern_count *counts)
{
    quern_count total = event_value(a->p, event, a->totals);
    quern_count v = event_value(a->p, event, counts);
    return total ? 100.0 * (double)magnitude(v) / (double)magnitude(total) : 0;
}

// Inclusive costs when a cycle is not one function: self costs and those of all calls, except a
// function's calls of itself. report/core has the same rule.
static void open_cycles(struct annotate *a)
{
    size_t funcs = quern_profile_func_count(a->p);

    a->opened = xcalloc(funcs * a->events + 1, sizeof(*a->opened));
    for (uint32_t f = 0; f < funcs; f++) {
        const quern_count *self = quern_costs_self(a->costs, f);
        for (size_t e = 0; self && e < a->events; e++)
            a->opened[f * a->events + e] = self[e];
    }
    for (size_t i = 0; i < quern_costs_edge_count(a->costs); i++) {
        struct quern_edge edge = quern_costs_edge(a->costs, i);
        for (size_t e = 0; edge.caller != edge.callee && e < a->events; e++)
            a->opened[edge.caller * a->events + e] += edge.counts[e];
    }
}

enum { MOST = 50 }; // percent of the program, in a cycle that is opened

// The cycle that most of the program is in, if there is one: then all its functions have the same
// inclusive cost, which says nothing about where in it.
static void find_cycle(struct annotate *a)
{
    size_t funcs = quern_profile_func_count(a->p), n = 0, most = 0;
    quern_count *sum;
    size_t *members;

    for (uint32_t f = 0; f < funcs; f++)
        if (quern_costs_cycle(a->costs, f) > n)
            n = quern_costs_cycle(a->costs, f);
    sum = xcalloc((n + 1) * a->events, sizeof(*sum));
    members = xcalloc(n + 1, sizeof(*members));
    for (uint32_t f = 0; f < funcs; f++) {
        uint32_t cycle = quern_costs_cycle(a->costs, f);
        const quern_count *self = cycle ? quern_costs_self(a->costs, f) : NULL;

        members[cycle]++;
        for (size_t e = 0; self && e < a->events; e++)
            sum[cycle * a->events + e] += self[e];
    }
    for (size_t c = 1; c <= n; c++)
        if (share(a, a->sorted[0], sum + c * a->events) >
            share(a, a->sorted[0], sum + most * a->events))
            most = c;
    a->cycle_share = share(a, a->sorted[0], sum + most * a->events);
    a->cycle_funcs = a->cycle_share >= MOST ? members[most] : 0;
    free(sum);
    free(members);
}

static bool are_opened(const struct annotate *a)
{
    return a->cycle_choice ? a->cycle_choice == 2 : a->cycle_funcs && !a->traditional;
}

static void inclusive_rows(struct annotate *a)
{
    struct annotate_list *l = &a->list;

    if (!a->cycle_choice && !a->diff)
        find_cycle(a);
    if (are_opened(a))
        open_cycles(a);
    l->count = quern_profile_func_count(a->p);
    l->row = xcalloc(l->count + 1, sizeof(*l->row));
    for (size_t i = 0; i < l->count; i++) {
        uint32_t f = (uint32_t)i;
        const quern_count *cost =
            a->opened ? a->opened + f * a->events : quern_costs_inclusive(a->costs, f);

        l->row[i] = (struct annotate_row){ .file = quern_profile_func_get(a->p, f).file,
                                           .func = f,
                                           .present = UINT64_MAX,
                                           .counts = cost };
    }
}

static void piece_rows(struct annotate *a)
{
    struct annotate_list *l = &a->pieces;

    if (!(a->rows = quern_rows_new(a->p)))
        die(UTIL_USAGE, "out of memory");
    l->count = quern_rows_count(a->rows);
    l->row = xcalloc(l->count + 1, sizeof(*l->row));
    for (size_t i = 0; i < l->count; i++) {
        struct quern_row r = quern_rows_get(a->rows, i);
        l->row[i] = (struct annotate_row){
            .file = r.file, .func = r.func, .present = r.present, .counts = r.counts
        };
    }
}

// Adds a piece to the row of its key, `at` (plus one; 0: it has none yet), in a list whose counts
// are at `sums`.
static struct annotate_row *add_piece(const struct annotate *a, struct annotate_list *l,
                                      uint32_t *at, const struct annotate_row *piece,
                                      quern_count *sums)
{
    struct annotate_row *r;
    quern_count *v;

    if (!*at) {
        *at = (uint32_t)++l->count;
        l->row[*at - 1] = *piece;
        l->row[*at - 1].counts = sums + (*at - 1) * a->events;
    }
    r = &l->row[*at - 1];
    r->present |= piece->present;
    v = sums + (*at - 1) * a->events;
    for (size_t k = 0; k < a->events; k++)
        v[k] += piece->counts[k];
    return r;
}

// Callgrind's format says which file a function is in; in Cachegrind's only the name tells which
// pieces belong together.
static uint32_t function_key(const struct annotate *a, uint32_t func)
{
    return a->callgrind ? func : quern_profile_func_get(a->p, func).name;
}

static size_t function_keys(const struct annotate *a)
{
    return a->callgrind ? quern_profile_func_count(a->p) : quern_profile_str_count(a->p);
}

static void function_rows(struct annotate *a)
{
    size_t keys = function_keys(a), funcs = quern_profile_func_count(a->p);
    uint32_t *row_of = xcalloc(keys + 1, sizeof(*row_of));
    struct annotate_list *l = &a->list;

    l->row = xcalloc(a->pieces.count + 1, sizeof(*l->row));
    for (size_t i = 0; i < a->pieces.count; i++) {
        const struct annotate_row *piece = &a->pieces.row[i];
        uint32_t key = function_key(a, piece->func);
        struct annotate_row *r =
            add_piece(a, l, &row_of[key == QUERN_NONE ? keys : key], piece, a->sums);

        if (a->callgrind)
            r->file = quern_profile_func_get(a->p, r->func).file;
        else if (r->file != piece->file)
            r->several = true;
    }
    a->row_of_func = xcalloc(funcs + 1, sizeof(*a->row_of_func));
    for (size_t f = 0; f < funcs; f++) {
        uint32_t key = function_key(a, (uint32_t)f);
        uint32_t at = row_of[key == QUERN_NONE ? keys : key];

        a->row_of_func[f] = at ? at - 1 : (uint32_t)l->count; // one that has no cost
    }
    free(row_of);
}

static void file_rows(struct annotate *a)
{
    size_t keys = quern_profile_str_count(a->p);
    uint32_t *row_of = xcalloc(keys + 1, sizeof(*row_of));
    struct annotate_list *l = &a->file_list;
    quern_count *sums = a->sums + a->pieces.count * a->events;

    l->row = xcalloc(a->pieces.count + 1, sizeof(*l->row));
    for (size_t i = 0; i < a->pieces.count; i++) {
        const struct annotate_row *piece = &a->pieces.row[i];

        add_piece(a, l, &row_of[piece->file == QUERN_NONE ? keys : piece->file], piece, sums)
            ->func = QUERN_NONE;
    }
    free(row_of);
}

void annotate_rows(struct annotate *a)
{
    if (a->inclusive && a->costs) {
        inclusive_rows(a);
        a->pieces = a->list;
        return;
    }
    piece_rows(a);
    if (a->by_file) {
        a->list = a->pieces;
        return;
    }
    a->sums = xcalloc(2 * a->pieces.count + 1, a->events * sizeof(*a->sums));
    function_rows(a);
    if (a->list.count < a->pieces.count)
        file_rows(a);
}

// ---- Order and choice ----

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

// qsort() has no argument for the comparison
static const struct annotate *sorting;
static const struct annotate_list *sorting_list;

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
    const struct annotate_row *x = &sorting_list->row[k->row], *y = &sorting_list->row[l->row];
    struct quern_func f, g;
    int c;

    if (k->key != l->key)
        return k->key > l->key ? -1 : 1;
    c = annotate_compare(a, x->counts, y->counts);

    if (c)
        return c;
    if ((c = strcmp(annotate_file_name(a, x->file), annotate_file_name(a, y->file))))
        return c;
    if (x->func == QUERN_NONE) // files, which differ already unless they have the same name
        return x->file < y->file ? -1 : x->file > y->file;
    f = quern_profile_func_get(a->p, x->func);
    g = quern_profile_func_get(a->p, y->func);
    if ((c = strcmp(quern_profile_str(a->p, f.name), quern_profile_str(a->p, g.name))))
        return c;
    if ((c = strcmp(quern_profile_str(a->p, f.object), quern_profile_str(a->p, g.object))))
        return c;
    return x->func < y->func ? -1 : x->func > y->func;
}

static void sort_rows(const struct annotate *a, struct annotate_list *l)
{
    struct keyed *keyed = xcalloc(l->count + 1, sizeof(*keyed));

    for (size_t i = 0; i < l->count; i++) {
        keyed[i].key = magnitude(event_value(a->p, a->sorted[0], l->row[i].counts));
        keyed[i].row = i;
    }
    sorting = a;
    sorting_list = l;
    qsort(keyed, l->count, sizeof(*keyed), by_cost);
    for (size_t i = 0; i < l->count; i++)
        l->order[i] = keyed[i].row;
    free(keyed);
}

static void choose(const struct annotate *a, struct annotate_list *l)
{
    double *sum = xcalloc(a->sorted_count, sizeof(*sum));
    size_t n = 0;
    int enough = 0;

    l->order = xcalloc(l->count + 1, sizeof(*l->order));
    sort_rows(a, l);
    for (size_t k = 0; k < l->count && !enough; k++) {
        const quern_count *v = l->row[l->order[k]].counts;
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
            l->order[n++] = l->order[k];
    }
    l->order_count = n;
    free(sum);
}

void annotate_choose(struct annotate *a)
{
    bool same = a->list.row == a->pieces.row;

    choose(a, &a->list);
    if (same)
        a->pieces = a->list;
    else
        choose(a, &a->pieces);
    choose(a, &a->file_list);
}

// ---- Printing ----

static void put_name(const struct annotate *a, uint32_t func)
{
    const char *name = quern_profile_str(a->p, quern_profile_func_get(a->p, func).name);

    text_put(stdout, *name ? name : "???");
}

void annotate_put_func(const struct annotate *a, uint32_t file, uint32_t func)
{
    text_put(stdout, annotate_file_name(a, file));
    putchar_unlocked(':');
    put_name(a, func);
}

static void put_object(const struct annotate *a, uint32_t func)
{
    const char *object = quern_profile_str(a->p, quern_profile_func_get(a->p, func).object);
    text_print(stdout, " [%s]", *object ? object : "???");
}

// How the program walks through an object of the data.
static void put_walk(const struct annotate *a, uint32_t func)
{
    const char *name = quern_profile_str(a->p, quern_profile_func_get(a->p, func).name);
    const struct walk *walk = walks_of_object(&a->walks, name);
    char *text;

    if (!walk)
        return;
    text = walks_text(walk);
    text_print(stdout, " [walked: %s]", text);
    free(text);
}

static void put_blocks(const struct annotate *a, uint32_t func)
{
    const struct lifetime *b = lifetimes_find(&a->blocks, a->p, func);
    char *text;

    if (!b)
        return;
    text = lifetimes_text(b);
    text_print(stdout, " [%s]", text);
    free(text);
}

static void put_use(const struct annotate *a, uint32_t func)
{
    const struct lineuse *u = lineuse_find(&a->use, a->p, func);
    char *text;

    if (!u)
        return;
    text = lineuse_text(&a->use, u);
    text_print(stdout, " [%s]", text);
    free(text);
}

// ---- Fields of an object ----

// At most so many; those that have so many percent of some event.
#define FIELDS_SHOWN 16u
#define FIELDS_SHARE 0.1

static int field_by_cost(const void *x, const void *y)
{
    const struct fields_row *p = *(const struct fields_row *const *)x;
    const struct fields_row *q = *(const struct fields_row *const *)y;
    int c = annotate_compare(sorting, p->counts, q->counts);

    return c ? c : p->addr < q->addr ? -1 : p->addr > q->addr;
}

// The rows of an object, in the order of their costs: *n, in an array to be freed.
static const struct fields_row **fields_of(const struct annotate *a, uint32_t func, size_t *n)
{
    const struct fields_row **list;
    size_t lo = 0, hi = a->field_row_count;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (a->field_rows[mid].func < func)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (*n = 0; lo + *n < a->field_row_count && a->field_rows[lo + *n].func == func; ++*n)
        ;
    list = xcalloc(*n + 1, sizeof(*list));
    for (size_t i = 0; i < *n; i++)
        list[i] = &a->field_rows[lo + i];
    sorting = a;
    qsort(list, *n, sizeof(*list), field_by_cost);
    return list;
}

// A name that has no more than the variable's own.
static bool is_plain(const struct annotate *a, const struct fields_row *row)
{
    const struct field *f = fields_find(&a->fields, a->p, row->func, row->addr);

    return f ? !strpbrk(f->path, ".[") : row->addr == 0;
}

static bool is_dear(const struct annotate *a, const struct fields_row *row)
{
    for (size_t i = 0; i < a->sorted_count; i++)
        if (share(a, a->sorted[i], row->counts) >= FIELDS_SHARE)
            return true;
    return false;
}

static void put_fields(const struct annotate *a, const struct annotate_row *object)
{
    const char *margin = a->tree != TREE_NONE ? "      " : "   ";
    size_t n, shown = 0;
    const struct fields_row **list = fields_of(a, object->func, &n);

    if (n == 1 && is_plain(a, list[0]))
        n = 0;
    for (size_t i = 0; i < n && shown < FIELDS_SHOWN; i++) {
        char *text;

        if (!is_dear(a, list[i]))
            continue;
        text = fields_text(&a->fields, a->p, list[i]);
        table_row(&a->table, list[i]->counts, object->present);
        text_print(stdout, "%s%s\n", margin, text);
        free(text);
        shown++;
    }
    if (shown && shown < n)
        text_print(stdout, "%sand %zu more\n", margin, n - shown);
    free(list);
}

// ---- Lines that threads share ----

#define SHARED_SHOWN 4u  // of an object
#define SHARED_OTHER 16u // of objects that are not shown

static void put_pair(const struct annotate *a, size_t i, const char *before)
{
    char *text = sharing_text(&a->sharing, &a->sharing.pair[i]);

    text_print(stdout, "%s%s\n", before, text);
    free(text);
    a->shared_shown[i] = true;
}

static void put_shared(const struct annotate *a, uint32_t func)
{
    size_t shown = 0, more = 0;

    for (size_t i = 0; i < a->sharing.count; i++) {
        if (!sharing_has(&a->sharing.pair[i], a->p, func))
            continue;
        if (shown++ < SHARED_SHOWN)
            put_pair(a, i, "   shared: ");
        else
            more++;
    }
    if (more)
        text_print(stdout, "   shared: and %zu more\n", more);
}

// Of objects that have no row: a line that threads share need not miss.
static void put_other_shared(const struct annotate *a)
{
    size_t shown = 0, more = 0;

    for (size_t i = 0; i < a->sharing.count; i++) {
        if (a->shared_shown[i])
            continue;
        if (!shown)
            fputs(TABLE_RULE "-- Lines that threads share\n" TABLE_RULE, stdout);
        if (shown++ < SHARED_OTHER)
            put_pair(a, i, "");
        else
            more++;
    }
    if (more)
        text_print(stdout, "and %zu more\n", more);
    if (shown)
        putchar('\n');
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

// The pieces of a function, or of a file. Those shown are a list in the order of their costs, of
// places in a->pieces.order, plus one.
struct group {
    size_t all;           // shown or not
    uint32_t first, last; // 0: none is shown
};

struct groups {
    struct group *of; // by row of a->list, or number of the file; one more for what has none
    uint32_t *next;   // by place in a->pieces.order
    size_t keys;
};

static struct group *group_of(const struct annotate *a, const struct groups *g, bool by_func,
                              const struct annotate_row *piece)
{
    uint32_t key = by_func ? a->row_of_func[piece->func] : piece->file;

    return &g->of[key < g->keys ? key : g->keys];
}

static struct groups group_pieces(const struct annotate *a, bool by_func, size_t keys)
{
    const struct annotate_list *l = &a->pieces;
    struct groups g = { .keys = keys };

    g.of = xcalloc(keys + 1, sizeof(*g.of));
    g.next = xcalloc(l->order_count + 1, sizeof(*g.next));
    for (size_t i = 0; i < l->count; i++)
        group_of(a, &g, by_func, &l->row[i])->all++;
    for (size_t k = 0; k < l->order_count; k++) {
        struct group *of = group_of(a, &g, by_func, &l->row[l->order[k]]);

        if (of->last)
            g.next[of->last - 1] = (uint32_t)k + 1;
        else
            of->first = (uint32_t)k + 1;
        of->last = (uint32_t)k + 1;
    }
    return g;
}

static void free_groups(struct groups *g)
{
    free(g->of);
    free(g->next);
}

static void fit_lists(struct annotate *a)
{
    const struct annotate_list *lists[] = { &a->list, &a->pieces, &a->file_list };

    // All rows decide the width of the columns, shown or not.
    table_reset(&a->table);
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
        for (size_t k = 0; k < lists[i]->count; k++)
            table_fit(&a->table, lists[i]->row[k].counts, lists[i]->row[k].present);
}

static void put_head(const struct annotate *a, const char *what)
{
    fputs(TABLE_RULE, stdout);
    table_head(&a->table);
    text_print(stdout, " %s\n", what);
    fputs(TABLE_RULE, stdout);
}

// The only piece shown of a function that has code of several files; NULL: none, or more than one.
static const struct annotate_row *only_piece(const struct annotate *a, const struct groups *g,
                                             size_t row)
{
    const struct group *of = &g->of[row];

    return of->all > 1 && of->first && of->first == of->last
               ? &a->pieces.row[a->pieces.order[of->first - 1]]
               : NULL;
}

// The name of a function. One that Cachegrind's format gives several files has no file of its own:
// that of the only piece shown, or none.
static void put_function(const struct annotate *a, const struct groups *g, size_t row)
{
    const struct annotate_row *r = &a->list.row[row];
    const struct annotate_row *only = r->several ? only_piece(a, g, row) : NULL;

    if (r->several && !only)
        put_name(a, r->func);
    else
        annotate_put_func(a, only ? only->file : r->file, r->func);
}

// Below a function that has code of several files: the files, unless the only one shown is in its
// name.
static void put_files_of(const struct annotate *a, const struct groups *g, size_t row)
{
    const struct annotate_row *only = only_piece(a, g, row);

    if (g->of[row].all < 2 ||
        (only && (a->list.row[row].several || only->file == a->list.row[row].file)))
        return;
    for (uint32_t k = g->of[row].first; k; k = g->next[k - 1]) {
        const struct annotate_row *r = &a->pieces.row[a->pieces.order[k - 1]];

        table_row(&a->table, r->counts, r->present);
        text_print(stdout, a->tree != TREE_NONE ? "      %s\n" : "   %s\n",
                   annotate_file_name(a, r->file));
    }
}

// That the functions of a cycle are one by one, which is why they are not the same, and may have
// more than the program.
static void put_cycle(const struct annotate *a)
{
    if (a->cycle_funcs && a->opened)
        printf(
            "A cycle of %zu functions, which call each other, has %.1f %% of the program: each has "
            "the cost\nof its own calls, a call within the cycle at each level, so it may be more "
            "than 100 %%\n(--cycles=yes: all have that of the cycle).\n\n",
            a->cycle_funcs, a->cycle_share);
}

void annotate_functions(struct annotate *a)
{
    enum annotate_tree tree = a->costs ? a->tree : TREE_NONE;
    bool split = a->file_list.count > 0;
    struct groups g = { 0 };

    if (split)
        g = group_pieces(a, true, a->list.count);
    fit_lists(a);
    for (size_t k = 0; k < a->list.order_count; k++) {
        const struct annotate_row *r = &a->list.row[a->list.order[k]];
        if (tree == TREE_CALLER || tree == TREE_BOTH)
            edge_lines(a, r->func, 1, 1);
        if (tree == TREE_CALLING || tree == TREE_BOTH)
            edge_lines(a, r->func, 0, 1);
    }
    put_cycle(a);
    put_head(a, "file:function");
    for (size_t k = 0; k < a->list.order_count; k++) {
        const struct annotate_row *r = &a->list.row[a->list.order[k]];
        struct quern_func f = quern_profile_func_get(a->p, r->func);
        int whole = r->file == f.file; // not code inlined from another file
        if (tree != TREE_NONE && k)
            putchar('\n');
        if (whole && (tree == TREE_CALLER || tree == TREE_BOTH))
            edge_lines(a, r->func, 1, 0);
        table_row(&a->table, r->counts, r->present);
        fputs(tree != TREE_NONE ? " *  " : " ", stdout);
        put_function(a, &g, a->list.order[k]);
        if (a->callgrind && whole)
            put_object(a, r->func);
        if (a->costs && a->inclusive && !a->opened && quern_costs_cycle(a->costs, r->func))
            printf(" (cycle %u)", quern_costs_cycle(a->costs, r->func));
        put_walk(a, r->func);
        put_blocks(a, r->func);
        put_use(a, r->func);
        putchar('\n');
        put_fields(a, r);
        put_shared(a, r->func);
        if (split)
            put_files_of(a, &g, a->list.order[k]);
        if (whole && (tree == TREE_CALLING || tree == TREE_BOTH))
            edge_lines(a, r->func, 0, 0);
    }
    putchar('\n');
    free_groups(&g);
    put_other_shared(a);
}

void annotate_files(struct annotate *a)
{
    struct groups g;

    if (!a->file_list.count)
        return;
    g = group_pieces(a, false, quern_profile_str_count(a->p));
    fit_lists(a);
    put_head(a, "file, and its functions");
    for (size_t k = 0; k < a->file_list.order_count; k++) {
        const struct annotate_row *file = &a->file_list.row[a->file_list.order[k]];

        table_row(&a->table, file->counts, file->present);
        text_print(stdout, " %s\n", annotate_file_name(a, file->file));
        for (uint32_t i = group_of(a, &g, false, file)->first; i; i = g.next[i - 1]) {
            const struct annotate_row *r = &a->pieces.row[a->pieces.order[i - 1]];

            table_row(&a->table, r->counts, r->present);
            fputs("   ", stdout);
            put_name(a, r->func);
            putchar('\n');
        }
    }
    putchar('\n');
    free_groups(&g);
}
