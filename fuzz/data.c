// SPDX-License-Identifier: MIT
//
// Fuzzer of what `quern report` and `quern annotate` make of a profile of the data: its objects,
// alone and with itself as the base, names of fields, blocks, walks, and advice, for which it is
// also the profile of the code. The places of all objects must have the totals, and with itself as
// the base nothing has changed.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/profiles/advice.h"
#include "cli/profiles/objects.h"
#include "cli/profiles/walks.h"
#include "quern/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_totals(const struct objects *o, const struct quern_profile *p)
{
    for (size_t e = 0; e < o->events; e++) {
        quern_count sum = 0;

        for (size_t i = 0; i < o->rows; i++)
            if (o->row[i].func == QUERN_NONE)
                sum += objects_counts(o, &o->row[i], 0)[e];
        if (sum != quern_profile_totals(p)[e] || sum != o->total[e])
            abort();
    }
}

static void check_base(const struct objects *o)
{
    for (size_t i = 0; i < o->rows; i++) {
        if (o->row[i].calls[0] != o->row[i].calls[1] ||
            memcmp(objects_counts(o, &o->row[i], 0), objects_counts(o, &o->row[i], 1),
                   o->events * sizeof(quern_count)) != 0)
            abort();
    }
}

static void ask(const struct objects *o, const struct walks *w)
{
    for (size_t i = 0; i < o->rows; i++) {
        const struct objects_row *row = &o->row[i];
        const char *object = objects_name(o, row->object);
        const struct lifetime *b = lifetimes_find(&o->blocks[0], o->p, row->object);
        const struct field *field = objects_field(o, row);
        const struct walk *walk = walks_of_object(w, object);

        if (field)
            free(fields_name(field));
        objects_weight(o, objects_counts(o, row, 0));
        if (b)
            free(lifetimes_text(b));
        if (walk)
            free(walks_text(walk));
        if (row->func != QUERN_NONE)
            walks_at(w, object, objects_name(o, row->func), quern_profile_str(o->p, row->file),
                     row->line);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct quern_profile *p = quern_profile_read_mem((const char *)data, size, "fuzz", NULL, NULL);
    struct objects o;
    struct walks w;
    struct lineuses use;
    struct sharing shared;
    struct advices a;

    if (!p)
        return 0;
    walks_read(&w, p);
    objects_read(&o, p, "fuzz", NULL, NULL);
    check_totals(&o, p);
    ask(&o, &w);
    lineuse_read(&use, p);
    sharing_read(&shared, p);
    advice_find(&a, &o, &w, &use, &shared, p);
    for (size_t i = 0; i < a.count; i++)
        if (a.advice[i].row && a.advice[i].row->func == QUERN_NONE)
            abort();
    for (size_t i = 0; i < use.count; i++)
        free(lineuse_text(&use, &use.of[i]));
    for (size_t i = 0; i < shared.count; i++)
        free(sharing_text(&shared, &shared.pair[i]));
    advice_free(&a);
    objects_free(&o);
    objects_read(&o, p, "fuzz", p, "fuzz");
    check_base(&o);
    ask(&o, &w);
    objects_free(&o);
    sharing_free(&shared);
    lineuse_free(&use);
    walks_free(&w);
    quern_profile_free(p);
    return 0;
}
