// SPDX-License-Identifier: MIT
//
// Writes a run's counts in Cachegrind's format, byte for byte as libquern would: the file is what
// `quern merge` makes of it (tests/cli/170-symbol-cache.bats). Not through libquern, because
// thousands of processes end: libquern encodes every line, sums it with equal lines, which a run
// does not have, sorts, encodes and decodes it again: 10.5 of the 21.6 million instructions that
// the finisher of /bin/true executed.
//
// Siblings (sums/siblings.h) have nearly the same lines: from one to the next the order is kept,
// and the text of each function, which is written again while none of its cells has changed.
#include "finish/output/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"
#include "profile/write/out.h"
#include "share/table.h"

// A function in a file; its cells are a range of `order`.
struct func {
    uint32_t file, name; // ranks
    uint32_t first, count;
    // Of siblings: its name and lines as they were written, unless it has `changed` since; NULL:
    // not kept.
    char *text;
    uint32_t size;
    bool changed;
};

struct writer {
    const struct places *places;
    const struct sums *sums;
    size_t cells;
    uint32_t *rank;   // of strings by number: their alphabetical position
    uint32_t *string; // by rank
    struct func *func;
    size_t funcs;
    uint32_t *func_of; // by cell
    uint32_t *order;   // cells, grouped by function
    uint32_t *by_name; // functions, in order of their files and names
    uint64_t turn;     // of the sums
};
static struct writer kept; // of siblings

static void free_writer(struct writer *w)
{
    for (size_t i = 0; i < w->funcs; i++)
        free(w->func[i].text);
    free(w->by_name);
    free(w->rank);
    free(w->string);
    free(w->func);
    free(w->func_of);
    free(w->order);
    *w = (struct writer){ .cells = 0 };
}

static const struct sums_cell *cell(const struct writer *w, size_t i)
{
    return sums_cell_at(w->sums, i);
}

static const char *text(const struct writer *w, uint32_t rank)
{
    const char *s = places_text(w->places, w->string[rank]);

    return *s ? s : "???";
}

static int compare_strings(const void *x, const void *y, void *ctx)
{
    const struct places *p = ctx;
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;

    if (a == 0 || b == 0)
        return (a != 0) - (b != 0);
    return strcmp(places_text(p, a), places_text(p, b));
}

// The strings that the cells use, in alphabetical order; the unknown one comes first.
static void rank_strings(struct writer *w)
{
    uint32_t most = 0, n = 0;

    for (size_t i = 0; i < w->cells; i++) {
        most = cell(w, i)->at.function > most ? cell(w, i)->at.function : most;
        most = cell(w, i)->at.file > most ? cell(w, i)->at.file : most;
    }
    w->rank = xcalloc(most + 1, sizeof(*w->rank));
    w->string = xcalloc(most + 1, sizeof(*w->string));
    for (size_t i = 0; i < w->cells; i++)
        w->rank[cell(w, i)->at.function] = w->rank[cell(w, i)->at.file] = 1;
    for (uint32_t i = 0; i <= most; i++)
        if (w->rank[i])
            w->string[n++] = i;
    qsort_r(w->string, n, sizeof(*w->string), compare_strings, (void *)(uintptr_t)w->places);
    for (uint32_t i = 0; i < n; i++)
        w->rank[w->string[i]] = i;
}

// The number of a function, a new one if needed. `table` has space for one per cell.
static uint32_t get_func(struct writer *w, struct table *table, uint32_t file, uint32_t name)
{
    uint64_t hash = (file * UINT64_C(0x9e3779b97f4a7c15)) ^ (name * UINT64_C(0xff51afd7ed558ccd));
    size_t at = table_first(table, hash >> 20);

    for (; table_used(table, at); at = table_next(table, at)) {
        const struct func *f = &w->func[table_number(table, at)];

        if (f->file == file && f->name == name)
            return table_number(table, at);
    }
    w->func[w->funcs] = (struct func){ .file = file, .name = name };
    table_put(table, at, (uint32_t)w->funcs);
    return (uint32_t)w->funcs++;
}

static void find_funcs(struct writer *w)
{
    size_t room = 64;
    uint32_t last = 0;

    while (room < w->cells)
        room *= 2;
    uint32_t *slot = xcalloc(table_slots(room), sizeof(*slot));
    struct table table = table_over(slot, table_slots(room));
    w->func = xmalloc((w->cells + 1) * sizeof(*w->func));
    w->func_of = xmalloc((w->cells + 1) * sizeof(*w->func_of));
    for (size_t i = 0; i < w->cells; i++) {
        uint32_t file = w->rank[cell(w, i)->at.file], name = w->rank[cell(w, i)->at.function];

        if (i == 0 || w->func[last].file != file || w->func[last].name != name)
            last = get_func(w, &table, file, name);
        w->func_of[i] = last;
        w->func[last].count++;
    }
    free(slot);
}

static int compare_funcs(const void *x, const void *y, void *ctx)
{
    const struct writer *w = ctx;
    const struct func *a = &w->func[*(const uint32_t *)x], *b = &w->func[*(const uint32_t *)y];

    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

static int compare_lines(const void *x, const void *y, void *ctx)
{
    const struct writer *w = ctx;
    uint32_t a = cell(w, *(const uint32_t *)x)->at.line, b = cell(w, *(const uint32_t *)y)->at.line;

    return a < b ? -1 : a > b;
}

// Functions by file and name, and each one's cells by line: distributes them, then sorts those that
// are not in order yet.
static void sort(struct writer *w)
{
    uint32_t *func = xmalloc((w->funcs + 1) * sizeof(*func));
    uint32_t at = 0;

    for (size_t i = 0; i < w->funcs; i++)
        func[i] = (uint32_t)i;
    qsort_r(func, w->funcs, sizeof(*func), compare_funcs, w);
    for (size_t i = 0; i < w->funcs; i++) {
        struct func *f = &w->func[func[i]];

        f->first = at;
        at += f->count;
        f->count = 0;
    }
    w->order = xmalloc((w->cells + 1) * sizeof(*w->order));
    for (size_t i = 0; i < w->cells; i++) {
        struct func *f = &w->func[w->func_of[i]];

        w->order[f->first + f->count++] = (uint32_t)i;
    }
    for (size_t i = 0; i < w->funcs; i++) {
        uint32_t *cells = w->order + w->func[i].first, n = w->func[i].count, sorted = 1;

        while (sorted < n && compare_lines(&cells[sorted - 1], &cells[sorted], w) < 0)
            sorted++;
        if (sorted < n)
            qsort_r(cells, n, sizeof(*cells), compare_lines, w);
    }
    w->by_name = func;
}

static void order_cells(struct writer *w)
{
    rank_strings(w);
    find_funcs(w);
    sort(w);
}

// A line break in a text must not end its line.
static void put_text(struct out *o, const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++)
        out_char(o, s[i] == '\n' || s[i] == '\r' ? ' ' : s[i]);
}

static void put_name(struct out *o, const char *key, const char *s)
{
    out_str(o, key);
    if (strpbrk(s, "\r\n"))
        put_text(o, s, strlen(s));
    else
        out_str(o, s);
    out_char(o, '\n');
}

// "I1 cache:" and the like have their values in one column; the others get one blank after the
// colon.
static void put_descs(struct out *o, const char *desc)
{
    while (desc && *desc) {
        size_t n = strcspn(desc, "\n");
        const char *colon = memchr(desc, ':', n);
        const char *value = colon ? colon + 1 : NULL, *end = desc + n;

        if (colon) {
            out_str(o, "desc: ");
            put_text(o, desc, (size_t)(value - desc));
            if (colon - desc == 8 && memcmp(desc + 2, " cache", 6) == 0) {
                while (value < end && (*value == ' ' || *value == '\t'))
                    value++;
                out_str(o, "         ");
            } else {
                value += value < end && *value == ' ';
                out_char(o, ' ');
            }
            put_text(o, value, (size_t)(end - value));
            out_char(o, '\n');
        }
        desc = *end ? end + 1 : end;
    }
}

static void put_counts(struct out *o, const uint64_t *counts, const int *event, size_t events)
{
    char *p = o->pos;

    for (size_t e = 0; e < events; e++) {
        uint64_t n = counts[event[e]];

        if (o->end - p < OUT_ROOM) {
            o->pos = p;
            out_flush(o);
            p = o->pos;
        }
        *p++ = ' ';
        if (n < 10) { // three in four
            *p++ = (char)('0' + n);
        } else {
            o->pos = p;
            out_u64(o, n);
            p = o->pos;
        }
    }
    o->pos = p;
    out_char(o, '\n');
}

// Whether it has a cell that is in the profile.
static bool is_reached(const struct writer *w, const struct func *f)
{
    uint32_t k = 0;

    if (!w->sums->turn)
        return true;
    if (f->text && !f->changed)
        return true;
    while (k < f->count && !cell(w, w->order[f->first + k])->reached)
        k++;
    return k < f->count;
}

static void put_lines(struct out *o, const struct writer *w, const struct func *f, const int *event,
                      size_t events)
{
    const bool all = !w->sums->turn;

    put_name(o, "fn=", text(w, f->name));
    for (uint32_t k = 0; k < f->count; k++) {
        const struct sums_cell *c = cell(w, w->order[f->first + k]);

        if (!all && !c->reached)
            continue;
        out_u64(o, c->at.line);
        put_counts(o, c->counts, event, events);
    }
}

// The text of a function of siblings: at first and after a change also keeps it, if it fits in the
// buffer.
static void put_kept(struct out *o, struct writer *w, struct func *f, const int *event,
                     size_t events)
{
    enum { NUMBER = 21 }; // with the blank or newline after it
    size_t most = strlen(text(w, f->name)) + 4 + f->count * (events + 1) * NUMBER + 2 * OUT_ROOM;
    size_t size;
    char *from;

    if (f->text && !f->changed) {
        out_mem(o, f->text, f->size);
        return;
    }
    if (most > (size_t)(o->end - o->buf) / 2) {
        put_lines(o, w, f, event, events);
        return;
    }
    if ((size_t)(o->end - o->pos) < most)
        out_flush(o);
    from = o->pos;
    put_lines(o, w, f, event, events);
    size = (size_t)(o->pos - from);
    f->text = xrealloc(f->text, size);
    memcpy(f->text, from, size);
    f->size = (uint32_t)size;
    f->changed = false;
}

static void put_cells(struct out *o, struct writer *w, const int *event, size_t events)
{
    const struct func *last = NULL;

    for (size_t i = 0; i < w->funcs; i++) {
        struct func *f = &w->func[w->by_name[i]];

        if (!is_reached(w, f))
            continue;
        if (!last || last->file != f->file)
            put_name(o, "fl=", text(w, f->file));
        last = f;
        if (w->sums->turn)
            put_kept(o, w, f, event, events);
        else
            put_lines(o, w, f, event, events);
    }
}

// What is kept of the siblings before, or a new one, with all that has changed since.
static struct writer *take_kept(const struct places *places, struct sums *sums)
{
    struct writer *w = &kept;

    if (w->turn != sums->turn || w->cells != sums->cells) {
        free_writer(w);
        *w = (struct writer){ .places = places, .sums = sums, .cells = sums->cells };
        order_cells(w);
        w->turn = sums->turn;
    }
    w->places = places;
    w->sums = sums;
    for (size_t i = 0; i < sums->changes; i++) {
        w->func[w->func_of[sums->changed[i]]].changed = true;
        sums_cell_at(sums, sums->changed[i])->changed = 0;
    }
    sums->changes = 0;
    return w;
}

// The sums over all cells. Returns the first event whose sum exceeds 64 bits, or -1.
static int sum_up(const struct writer *w, const int *event, size_t events, uint64_t *sums)
{
    uint64_t sum[FINISH_EVENTS] = { 0 }, over[FINISH_EVENTS] = { 0 };
    size_t most = events ? (size_t)event[events - 1] + 1 : 0;

    for (size_t i = 0; i < w->cells; i++) {
        const uint64_t *counts = cell(w, i)->counts;

        for (size_t e = 0; e < most; e++) {
            sum[e] += counts[e];
            over[e] |= sum[e] < counts[e];
        }
    }
    memcpy(sums, sum, sizeof(sum));
    for (size_t e = 0; e < most; e++)
        if (over[e])
            return (int)e;
    return -1;
}

int output_lines(const struct spool_file *s, const struct places *places, struct sums *sums,
                 struct finish_totals *totals, const char *output, char *err, size_t err_size)
{
    struct writer own = { .places = places, .sums = sums, .cells = sums->cells }, *w = &own;
    const char *cmd = spool_file_text(s, s->h->s_cmd);
    int event[FINISH_EVENTS];
    size_t events = 0;

    for (int e = 0; e < FINISH_EVENTS; e++)
        if (finish_event_counted((enum finish_event)e, s->h->flags))
            event[events++] = e;
    int over = -1;
    if (sums->turn) // whose sums fit
        memcpy(totals->counts, sums->total, sizeof(sums->total));
    else
        over = sum_up(w, event, events, totals->counts);
    if (over >= 0) {
        snprintf(err, err_size,
                 "%s: not written: a sum of counts of %s does not fit 64 bits, so readers would "
                 "show nonsense",
                 output, finish_event_names[over]);
        return -1;
    }
    // Before the file is created: without memory the process ends here.
    if (sums->turn)
        w = take_kept(places, sums);
    else
        order_cells(w);
    char *curve = spool_curve_desc(s);
    struct out o;
    int rc = out_open(&o, output);
    if (rc == 0) {
        put_descs(&o, spool_file_text(s, s->h->s_desc));
        put_descs(&o, curve);
        put_name(&o, "cmd: ", cmd ? cmd : "");
        out_str(&o, "events:");
        for (size_t e = 0; e < events; e++) {
            out_char(&o, ' ');
            out_str(&o, finish_event_names[event[e]]);
        }
        out_char(&o, '\n');
        put_cells(&o, w, event, events);
        out_str(&o, "summary:");
        put_counts(&o, totals->counts, event, events);
        rc = out_close(&o, 0);
    }
    free_writer(&own);
    free(curve);
    if (rc != 0)
        snprintf(err, err_size, "%s: cannot be written: %s", output, strerror(-rc));
    return rc != 0 ? -1 : 0;
}
