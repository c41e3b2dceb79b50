// SPDX-License-Identifier: MIT
//
// `quern annotate --by-part`: how evenly the parts of a profile (ranks, threads, dumps) share the
// cost of each function, by the first sort event. Records come part by part, so only the counts of
// one part and three numbers of each function are stored, whatever the number of parts.
#include "cli/annotate/annotate.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/text.h"
#include "cli/base/util.h"
#include "cli/profiles/event.h"
#include "cli/profiles/read.h"
#include "cli/profiles/table.h"

// A function, or the program.
struct spread {
    quern_count least, greatest, total;
    size_t least_in, greatest_in; // numbers of parts
    size_t parts;                 // how many parts have it
    size_t last, gap;             // the last of them; the first part without it, or SIZE_MAX
};

struct by_part {
    const struct annotate *a;
    size_t event, parts;
    size_t *sorted;     // rows by file and function
    struct spread *row; // for each row of the table of functions, and last for the program
    quern_count *now;   // counts of the part being read, for each row
    size_t *touched;    // rows that are in it
    size_t touched_count;
    bool *is_touched;
    int width[4];
};

// ---- Collecting ----

static const struct annotate *sorting; // qsort() has no argument for the comparison

static int by_name(const void *pa, const void *pb)
{
    const struct annotate_row *x = &sorting->pieces.row[*(const size_t *)pa];
    const struct annotate_row *y = &sorting->pieces.row[*(const size_t *)pb];

    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    return x->func < y->func ? -1 : x->func > y->func;
}

// The row of a function and a file: each record has one.
static size_t find_row(const struct by_part *b, uint32_t file, uint32_t func)
{
    size_t low = 0, high = b->a->pieces.count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        const struct annotate_row *r = &b->a->pieces.row[b->sorted[middle]];
        if (r->file < file || (r->file == file && r->func <= func))
            low = middle;
        else
            high = middle;
    }
    return b->sorted[low];
}

static void add(struct by_part *b, size_t row, const quern_count *counts)
{
    quern_count *v = b->now + row * b->a->events;

    if (!b->is_touched[row]) {
        b->is_touched[row] = true;
        b->touched[b->touched_count++] = row;
        memset(v, 0, b->a->events * sizeof(*v));
    }
    for (size_t i = 0; i < b->a->events; i++)
        v[i] += counts[i];
}

static void note(struct spread *s, quern_count v, size_t part)
{
    if (s->parts == 0 || v < s->least) {
        s->least = v;
        s->least_in = part;
    }
    if (s->parts == 0 || v > s->greatest) {
        s->greatest = v;
        s->greatest_in = part;
    }
    s->parts++;
}

static void end_part(struct by_part *b, size_t part)
{
    for (size_t k = 0; k < b->touched_count; k++) {
        size_t row = b->touched[k];
        struct spread *s = &b->row[row];
        quern_count v = event_value(b->a->p, b->event, b->now + row * b->a->events);
        size_t expected = s->parts ? s->last + 1 : 0;

        if (s->gap == SIZE_MAX && expected != part)
            s->gap = expected;
        note(s, v, part);
        s->total += v;
        s->last = part;
        b->is_touched[row] = false;
    }
    b->touched_count = 0;
}

// A part that lacks the function counts as 0.
static void fill_gap(const struct by_part *b, struct spread *s)
{
    if (s->gap == SIZE_MAX && s->parts < b->parts)
        s->gap = s->parts ? s->last + 1 : 0;
    if (s->gap != SIZE_MAX)
        note(s, 0, s->gap);
}

static void collect(struct by_part *b)
{
    const struct annotate *a = b->a;
    struct quern_cursor *c = read_cursor(a->p);
    struct quern_record rec;
    size_t part = 0;

    while (quern_cursor_next(c, &rec)) {
        if (rec.kind != QUERN_REC_COST)
            continue;
        if (rec.part != part) {
            end_part(b, part);
            part = rec.part;
        }
        add(b, find_row(b, rec.at.file, rec.at.func), rec.counts);
        add(b, a->pieces.count, rec.counts);
    }
    end_part(b, part);
    quern_cursor_free(c);
    for (size_t i = 0; i <= a->pieces.count; i++)
        fill_gap(b, &b->row[i]);
}

// ---- Printing ----

// The mean with one digit, rounded to the nearest, halves away from zero.
static void mean(const struct by_part *b, const struct spread *s, char *text)
{
    quern_count unit = (quern_count)b->parts * quern_profile_event_scale(b->a->p, b->event);
    quern_count total = s->total < 0 ? -s->total : s->total;
    quern_count tenths = (total * 20 + unit) / (unit * 2);

    if (s->total < 0 && tenths != 0)
        *text++ = '-';
    text += event_commas(text, tenths / 10, 1);
    *text++ = '.';
    *text++ = (char)('0' + (int)(tenths % 10));
    *text = '\0';
}

static void put_columns(const struct by_part *b, const struct spread *s, char text[4][80])
{
    int64_t scale = quern_profile_event_scale(b->a->p, b->event);

    event_commas(text[0], s->least, scale);
    event_commas(text[1], s->greatest, scale);
    mean(b, s, text[2]);
    if (s->total > 0)
        snprintf(text[3], sizeof(text[3]), "%+.1f%%",
                 100.0 * (double)(s->greatest * (quern_count)b->parts - s->total) /
                     (double)s->total);
    else
        memcpy(text[3], ".", 2);
}

static const char *file_of(const struct quern_part *part)
{
    static const char key[] = "Profile: ";

    for (size_t i = 0; i < part->desc_count; i++)
        if (strncmp(part->desc[i], key, strlen(key)) == 0)
            return part->desc[i] + strlen(key);
    return NULL;
}

static bool has_file(const struct by_part *b, size_t i, const char *file)
{
    struct quern_part part;
    const char *other = NULL;

    if (i < b->parts && quern_profile_part(b->a->p, i, &part) == 0)
        other = file_of(&part);
    return other && strcmp(other, file) == 0;
}

// Names a part by its file where that is unique, else by its numbers.
static void put_part(const struct by_part *b, size_t i)
{
    struct quern_part part;
    const char *file, *between = "";

    quern_profile_part(b->a->p, i, &part);
    file = file_of(&part);
    if (file) {
        text_put(stdout, file);
        if (!has_file(b, i - 1, file) && !has_file(b, i + 1, file))
            return;
        between = " ";
    }
    text_print(stdout, "%spart %llu", between,
               part.has_part ? (unsigned long long)part.part : i + 1ull);
    if (part.has_thread)
        printf(" thread %llu", (unsigned long long)part.thread);
}

static void put_row(const struct by_part *b, const struct spread *s)
{
    char text[4][80];

    put_columns(b, s, text);
    for (int i = 0; i < 4; i++)
        text_print(stdout, "%*s ", b->width[i], text[i]);
}

static void put_extremes(const struct by_part *b, const struct spread *s)
{
    if (s->least != s->greatest) {
        fputs(" (", stdout);
        put_part(b, s->least_in);
        fputs(" < ", stdout);
        put_part(b, s->greatest_in);
        putchar(')');
    }
    putchar('\n');
}

static void fit(struct by_part *b, const struct spread *s)
{
    char text[4][80];

    put_columns(b, s, text);
    for (int i = 0; i < 4; i++)
        if ((int)strlen(text[i]) > b->width[i])
            b->width[i] = (int)strlen(text[i]);
}

static void put_table(struct by_part *b)
{
    static const char *const head[] = { "least", "greatest", "mean", "over mean" };
    const struct annotate *a = b->a;
    const struct spread *program = &b->row[a->pieces.count];

    for (int i = 0; i < 4; i++)
        b->width[i] = (int)strlen(head[i]);
    fit(b, program);
    for (size_t k = 0; k < a->pieces.order_count; k++)
        fit(b, &b->row[a->pieces.order[k]]);
    text_print(stdout, TABLE_RULE "%s in each of %zu part%s\n" TABLE_RULE,
               quern_profile_event_name(a->p, b->event), b->parts, b->parts == 1 ? "" : "s");
    for (int i = 0; i < 4; i++)
        text_print(stdout, "%*s ", b->width[i], head[i]);
    fputs(" file:function (least in < greatest in)\n" TABLE_RULE, stdout);
    put_row(b, program);
    fputs(" PROGRAM TOTALS", stdout);
    put_extremes(b, program);
    for (size_t k = 0; k < a->pieces.order_count; k++) {
        const struct spread *s = &b->row[a->pieces.order[k]];
        put_row(b, s);
        putchar(' ');
        annotate_put_func(a, a->pieces.row[a->pieces.order[k]].file,
                          a->pieces.row[a->pieces.order[k]].func);
        put_extremes(b, s);
    }
    putchar('\n');
}

void annotate_parts(const struct annotate *a)
{
    size_t rows = a->pieces.count + 1;
    struct by_part b = { .a = a,
                         .event = a->sorted[0],
                         .parts = quern_profile_part_count(a->p),
                         .sorted = xcalloc(rows, sizeof(*b.sorted)),
                         .row = xcalloc(rows, sizeof(*b.row)),
                         .now = xcalloc(rows * a->events, sizeof(*b.now)),
                         .touched = xcalloc(rows, sizeof(*b.touched)),
                         .is_touched = xcalloc(rows, sizeof(*b.is_touched)) };

    for (size_t i = 0; i < rows; i++) {
        b.sorted[i] = i;
        b.row[i].gap = SIZE_MAX;
    }
    sorting = a;
    qsort(b.sorted, a->pieces.count, sizeof(*b.sorted), by_name);
    collect(&b);
    put_table(&b);
    free(b.sorted);
    free(b.row);
    free(b.now);
    free(b.touched);
    free(b.is_touched);
}
