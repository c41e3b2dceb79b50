// SPDX-License-Identifier: MIT
//
// Lines that threads share (--data=yes), as "desc:" lines of the profile of the data: pairs of
// references, of which one has invalidated the line for the other. docs/format.md describes them.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"
#include "finish/output/output.h"

static int order(uint64_t x, uint64_t y)
{
    return x < y ? -1 : x > y;
}

static int compare_sides(const struct output_sharing_side *a, const struct output_sharing_side *b)
{
    int rc = strcmp(a->object, b->object);

    if (!rc)
        rc = strcmp(a->object_file, b->object_file);
    if (!rc)
        rc = order(a->offset, b->offset);
    if (!rc)
        rc = strcmp(a->field ? a->field : "", b->field ? b->field : "");
    if (!rc)
        rc = strcmp(a->function, b->function);
    if (!rc)
        rc = strcmp(a->file, b->file);
    return rc ? rc : order(a->line, b->line);
}

static int compare_pairs(const void *x, const void *y)
{
    const struct output_sharing *a = x, *b = y;
    int rc = compare_sides(&a->side[0], &b->side[0]);

    if (!rc)
        rc = compare_sides(&a->side[1], &b->side[1]);
    return rc ? rc : (int)a->is_true - (int)b->is_true;
}

static int most_first(const void *x, const void *y)
{
    const struct output_sharing *a = x, *b = y;
    int rc = order(b->invalidations, a->invalidations);

    return rc ? rc : compare_pairs(a, b);
}

// Which of the two was there first is of no matter.
static void turn_round(struct output_sharing *s)
{
    struct output_sharing_side first = s->side[0];

    if (compare_sides(&s->side[0], &s->side[1]) <= 0)
        return;
    s->side[0] = s->side[1];
    s->side[1] = first;
}

static void drop(struct output_sharing *s)
{
    free(s->side[0].field);
    free(s->side[1].field);
}

// Sums the pairs that are equal but for their counts. Returns how many are left.
static size_t fold(struct output_sharing *s, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++)
        turn_round(&s[i]);
    if (n)
        qsort(s, n, sizeof(*s), compare_pairs);
    for (size_t i = 0; i < n; i++) {
        struct output_sharing *last = kept ? &s[kept - 1] : NULL;

        if (!last || compare_pairs(last, &s[i]) != 0) {
            s[kept++] = s[i];
            continue;
        }
        last->invalidations += s[i].invalidations;
        last->most += s[i].most;
        for (int k = 0; k < 2; k++)
            last->side[k].writes |= s[i].side[k].writes;
        drop(&s[i]);
    }
    if (kept)
        qsort(s, kept, sizeof(*s), most_first);
    return kept;
}

static char *side_text(const struct output_sharing_side *s)
{
    char *field = s->field ? spool_file_line(s->field)
                  : s->offset == SPOOL_DATA_NO_OFFSET
                      ? xstrdup("")
                      : xasprintf("+%llu", (unsigned long long)s->offset);
    char *text = xasprintf("%s\t%s\t%s\t%s\t%s\t%s:%llu", s->object, s->object_file, field,
                           s->writes ? "writes" : "reads", s->function, s->file,
                           (unsigned long long)s->line);

    free(field);
    return text;
}

static int put(const struct output_sharing *s, struct quern_profile *p)
{
    char *first = side_text(&s->side[0]), *second = side_text(&s->side[1]);
    char *line =
        xasprintf("%s\t%llu\t%llu\t%s\t%s", s->is_true ? "true" : "false",
                  (unsigned long long)s->invalidations, (unsigned long long)s->most, first, second);
    int rc = quern_profile_add_desc(p, "Sharing", line);

    free(line);
    free(second);
    free(first);
    return rc;
}

int output_sharing_put(struct output_sharing *s, size_t n, bool serialized, struct quern_profile *p)
{
    uint64_t all = 0;
    int rc = 0;

    n = fold(s, n);
    for (size_t i = 0; i < n; i++)
        all += s[i].invalidations;
    if (n)
        rc = quern_profile_add_desc(p, "Sharing order",
                                    serialized ? "serialized" : "depends on timing");
    for (size_t i = 0; i < n; i++) {
        if (!rc && s[i].invalidations >= all / OUTPUT_SHARING_LEAST)
            rc = put(&s[i], p);
        drop(&s[i]);
    }
    return rc;
}
