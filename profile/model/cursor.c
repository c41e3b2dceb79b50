// SPDX-License-Identifier: MIT
//
// The public cursor: a walk over the records that converts their counts.
#include "profile/model/walk.h"

#include <errno.h>
#include <stdlib.h>

struct quern_cursor {
    const struct quern_profile *p;
    struct walk w;
    quern_count *counts;
    size_t filled; // counts at and above are zero
    bool scaled;   // some event has fractions
};

struct quern_cursor *quern_cursor_new(const struct quern_profile *p)
{
    struct quern_cursor *c = calloc(1, sizeof(*c));

    if (!c)
        return NULL;
    c->p = p;
    c->counts = calloc(p->event_count + 1, sizeof(*c->counts));
    if (!c->counts) {
        quern_cursor_free(c);
        errno = ENOMEM;
        return NULL;
    }
    for (size_t i = 0; i < p->event_count; i++)
        c->scaled |= p->event[i].scale != 1;
    walk_init(&c->w, p);
    return c;
}

// @hot
int quern_cursor_next(struct quern_cursor *c, struct quern_record *rec)
{
    const struct quern_profile *p = c->p;
    struct walk *w = &c->w;

    if (!walk_next(w))
        return 0;
    if (__builtin_expect(w->special || c->scaled, 0)) {
        walk_scaled(w, p->event, c->counts);
    } else {
        const uint8_t *in = w->in;
        for (size_t i = 0; i < w->ncounts; i++) {
            uint64_t v;
            in = get_varint(in, &v);
            c->counts[i] = v;
        }
        w->in = in;
    }
    for (size_t i = w->ncounts; i < c->filled; i++)
        c->counts[i] = 0;
    c->filled = w->ncounts;
    rec->kind = (enum quern_record_kind)w->op;
    rec->present = w->present;
    rec->part = w->at.part;
    rec->at = (struct quern_site){ .func = w->at.func,
                                   .file = w->at.file,
                                   .line = w->at.line,
                                   .addr = w->at.addr,
                                   .bb = w->at.bb };
    if (w->op == OP_COST) {
        rec->to = (struct quern_site){ .func = QUERN_NONE, .file = QUERN_NONE };
        rec->calls = rec->executed = 0;
    } else {
        rec->to = w->to;
        rec->calls = w->calls;
        rec->executed = w->executed;
    }
    rec->counts = c->counts;
    return 1;
}

void quern_cursor_free(struct quern_cursor *c)
{
    if (!c)
        return;
    free(c->counts);
    free(c);
}
