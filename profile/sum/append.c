// SPDX-License-Identifier: MIT
//
// Profiles side by side: each a part of the result, nothing summed. For the ranks of a parallel
// program, which are compared with one another. Called through the public header.
#include "profile/sum/merger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/events.h"
#include "profile/model/parts.h"
#include "profile/model/stream.h"
#include "profile/model/text.h"
#include "profile/model/walk.h"

#define NAMED "Profile: "

static bool is_named(const struct part *part)
{
    for (size_t i = 0; i < part->desc_count; i++)
        if (strncmp(part->desc[i], NAMED, strlen(NAMED)) == 0)
            return true;
    return false;
}

// The header of a part of `from`, which becomes the last part of p. A part keeps the name that an
// earlier append gave it.
static int add_header(struct quern_profile *p, const struct quern_profile *from, size_t part,
                      const char *name)
{
    int64_t scale[EVENTS_MAX];
    size_t known = p->event_count;

    for (size_t e = 0; e < known; e++)
        scale[e] = p->event[e].scale;
    int rc = parts_copy_header(p, from, (int)part);
    for (size_t e = 0; e < known; e++) // fractions of an earlier part stay
        if (scale[e] > p->event[e].scale)
            p->event[e].scale = scale[e];
    if (rc == 0 && name && !is_named(&p->part[p->part_count - 1]))
        rc = quern_profile_add_desc(p, "Profile", name);
    return rc;
}

static int add_record(struct quern_profile *p, const struct quern_profile *from, struct walk *w,
                      uint32_t first, struct merger_maps *maps, quern_count *counts)
{
    const struct fold none = { .sign = 1, .part = -1 };
    struct quern_record rec = { .kind = (enum quern_record_kind)w->op,
                                .part = first + w->at.part,
                                .at = { .line = w->at.line, .addr = w->at.addr, .bb = w->at.bb },
                                .counts = counts };

    walk_scaled(w, p->event, counts);
    rec.at.func = merger_map_func(p, from, w->at.func, &none, maps);
    rec.at.file = merger_map_file(p, from, w->at.file, &none, maps);
    if (w->op != OP_COST) {
        rec.to = w->to;
        rec.to.func = merger_map_func(p, from, w->to.func, &none, maps);
        rec.to.file = merger_map_file(p, from, w->to.file, &none, maps);
        rec.calls = w->calls;
        rec.executed = w->executed;
    }
    return maps->failed ? -ENOMEM : stream_add(p, &rec, w->ncounts);
}

static int add_records(struct quern_profile *p, const struct quern_profile *from, uint32_t first)
{
    quern_count *counts = calloc(from->event_count + 1, sizeof(*counts));
    struct merger_maps maps;
    struct walk w;
    int rc = merger_maps_new(&maps, from);

    if (!counts)
        rc = -ENOMEM;
    walk_init(&w, from);
    while (rc == 0 && walk_next(&w))
        rc = add_record(p, from, &w, first, &maps, counts);
    merger_maps_free(&maps);
    free(counts);
    return rc;
}

int quern_profile_append(struct quern_profile *p, const char *p_name,
                         const struct quern_profile *from, const char *name,
                         struct quern_error *err)
{
    bool fresh = p->event_count == 0;
    int rc = p == from ? -EINVAL : 0;

    if (err)
        memset(err, 0, sizeof(*err));
    if (from->event_count == 0)
        return rc; // an empty file: Callgrind writes them for threads that did nothing
    if (rc == 0 && !fresh && (rc = events_same(p, p_name, from, name, err)) < 0)
        return rc;
    uint32_t first = fresh ? 0 : (uint32_t)p->part_count;
    for (size_t i = 0; rc == 0 && i < from->part_count; i++) {
        if (i > 0 || !fresh)
            rc = parts_add(p);
        if (rc == 0)
            rc = add_header(p, from, i, name);
    }
    if (rc == 0)
        rc = add_records(p, from, first);
    if (rc < 0)
        text_error(err, -rc, name, "cannot be added: %s", strerror(-rc));
    return rc;
}
