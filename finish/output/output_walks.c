// SPDX-License-Identifier: MIT
//
// Walks (--data=yes): how the program goes through each object, and each line through each of its
// objects, as "desc:" lines of the profile of the data. docs/format.md describes them.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"
#include "finish/output/output.h"

enum kind { AHEAD, BACK, STRIDE, POINTERS, NEAR, RANDOM };

// Steps of one kind by an instruction; then of all that have the same key.
struct part {
    uint32_t object; // a function of the profile
    struct quern_site at;
    enum kind kind;
    int32_t stride;
    uint64_t steps, by_pointers;
};

struct output_walks {
    struct part *part;
    size_t parts, room;
    uint64_t steps;
};

struct output_walks *output_walks_new(void)
{
    return xcalloc(1, sizeof(struct output_walks));
}

void output_walks_free(struct output_walks *w)
{
    free(w->part);
    free(w);
}

static void add_part(struct output_walks *w, const struct part *like, enum kind kind,
                     uint64_t steps, bool pointers)
{
    if (!steps)
        return;
    if (w->parts == w->room) {
        w->room = w->room ? w->room * 2 : 64;
        w->part = xrealloc(w->part, w->room * sizeof(*w->part));
    }
    w->part[w->parts] = *like;
    w->part[w->parts].kind = kind;
    w->part[w->parts].steps = steps;
    w->part[w->parts++].by_pointers = pointers ? steps : 0;
    w->steps += steps;
}

void output_walks_add(struct output_walks *w, uint32_t object, const struct quern_site *at,
                      const struct spool_data_walk *walk)
{
    static const enum kind kind_of[] = { RANDOM, AHEAD, BACK, STRIDE };
    struct part p = { .object = object, .at = *at };
    uint64_t other = walk->steps - walk->count;

    if (walk->regular == SPOOL_WALK_STRIDE)
        p.stride = walk->stride;
    add_part(w, &p, kind_of[walk->regular], walk->count, walk->pointers);
    p.stride = 0;
    if (walk->pointers) {
        add_part(w, &p, POINTERS, other, true);
        return;
    }
    add_part(w, &p, NEAR, walk->near, false);
    add_part(w, &p, RANDOM, other - walk->near, false);
}

static int order(uint64_t x, uint64_t y)
{
    return x < y ? -1 : x > y;
}

static int compare_places(const struct part *a, const struct part *b)
{
    int rc = order(a->object, b->object);

    if (!rc)
        rc = order(a->at.func, b->at.func);
    if (!rc)
        rc = order(a->at.file, b->at.file);
    return rc ? rc : order(a->at.line, b->at.line);
}

static int compare_kinds(const struct part *a, const struct part *b)
{
    int rc = order(a->kind, b->kind);

    return rc ? rc : order((uint32_t)a->stride, (uint32_t)b->stride);
}

static int by_place(const void *x, const void *y)
{
    int rc = compare_places(x, y);

    return rc ? rc : compare_kinds(x, y);
}

// Sums the parts that are equal but for their steps.
static void fold(struct output_walks *w)
{
    size_t kept = 0;

    if (!w->parts)
        return;
    qsort(w->part, w->parts, sizeof(*w->part), by_place);
    for (size_t i = 0; i < w->parts; i++) {
        if (kept && by_place(&w->part[kept - 1], &w->part[i]) == 0) {
            w->part[kept - 1].steps += w->part[i].steps;
            w->part[kept - 1].by_pointers += w->part[i].by_pointers;
        } else {
            w->part[kept++] = w->part[i];
        }
    }
    w->parts = kept;
}

static char *kind_text(const struct part *p)
{
    static const char *const names[] = {
        [AHEAD] = "sequential",       [BACK] = "backward", [STRIDE] = "stride",
        [POINTERS] = "pointer chase", [NEAR] = "near",     [RANDOM] = "random",
    };
    const char *how =
        p->kind < POINTERS && p->by_pointers >= p->steps - p->by_pointers ? " by pointers" : "";

    if (p->kind == STRIDE)
        return xasprintf("%s %d%s", names[p->kind], p->stride, how);
    return xasprintf("%s%s", names[p->kind], how);
}

static const char *text_of(struct quern_profile *p, uint32_t string)
{
    const char *text = quern_profile_str(p, string);

    return text ? text : "???";
}

// A line of the profile, and the steps of all of its parts.
struct walk_line {
    uint64_t steps;
    char *text; // owned
};

// The line of n parts of one place, or of one object; no text if they are too few steps.
static struct walk_line line_of(const struct output_walks *w, struct quern_profile *p,
                                const struct part *part, size_t n, bool of_object)
{
    const struct part *most = part;
    char *kind, *line;
    uint64_t steps = 0;

    for (size_t i = 0; i < n; i++) {
        steps += part[i].steps;
        if (part[i].steps > most->steps)
            most = &part[i];
    }
    if (steps < w->steps / OUTPUT_WALKS_LEAST)
        return (struct walk_line){ 0, NULL };
    kind = kind_text(most);
    line = xasprintf("%s\t%llu\t%llu\t%s", kind, (unsigned long long)most->steps,
                     (unsigned long long)steps,
                     text_of(p, quern_profile_func_get(p, part->object).name));
    if (!of_object) {
        char *more = xasprintf("%s\t%s\t%s:%llu", line,
                               text_of(p, quern_profile_func_get(p, part->at.func).name),
                               text_of(p, part->at.file), (unsigned long long)part->at.line);

        free(line);
        line = more;
    }
    free(kind);
    return (struct walk_line){ steps, line };
}

// The most steps first; then by text, as numbers of functions are in the order in which their
// blocks were translated, which is not the same in every mode.
static int by_steps(const void *x, const void *y)
{
    const struct walk_line *a = x, *b = y;
    int rc = order(b->steps, a->steps);

    return rc ? rc : strcmp(a->text, b->text);
}

static int put_all(struct output_walks *w, struct quern_profile *p, bool of_objects)
{
    struct walk_line *line;
    size_t n, lines = 0;
    int rc = 0;

    if (of_objects)
        for (size_t i = 0; i < w->parts; i++)
            w->part[i].at = (struct quern_site){ 0 };
    fold(w);
    if (!w->parts)
        return 0;
    line = xmalloc(w->parts * sizeof(*line));
    for (size_t i = 0; i < w->parts; i += n) {
        for (n = 1; i + n < w->parts && compare_places(&w->part[i], &w->part[i + n]) == 0; n++)
            ;
        line[lines] = line_of(w, p, &w->part[i], n, of_objects);
        lines += line[lines].text != NULL;
    }
    qsort(line, lines, sizeof(*line), by_steps);
    for (size_t i = 0; i < lines; i++) {
        if (!rc)
            rc = quern_profile_add_desc(p, of_objects ? "Walk" : "Walk at", line[i].text);
        free(line[i].text);
    }
    free(line);
    return rc;
}

int output_walks_put(struct output_walks *w, struct quern_profile *p)
{
    int rc = put_all(w, p, false);

    return rc ? rc : put_all(w, p, true);
}
