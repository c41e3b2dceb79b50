// SPDX-License-Identifier: MIT
//
// Reads the record stream (drawn in stream.h) without conversion. The cursor, the merger, the
// tables of costs and the writers use it.
#ifndef QUERN_PROFILE_WALK_H
#define QUERN_PROFILE_WALK_H

#include "profile/model/stream.h"

struct walk {
    const struct chunk *chunk;
    const uint8_t *in, *end;
    struct place at;
    // The current record:
    unsigned op;      // OP_COST .. OP_JCND
    unsigned special; // not 0: the counts are wide, in units of 10^-9
    size_t ncounts;
    uint64_t present; // bit i: count i was given (of the first 64)
    struct quern_site to;
    uint64_t calls, executed;
};

void walk_init(struct walk *w, const struct quern_profile *p);
// 1: the fields are set, and the counts are at w->in: one of the calls below must be next. 0: end.
int walk_next(struct walk *w);

// Counts of 64 bits (w->special == 0) into v[ncounts].
static inline void walk_counts(struct walk *w, uint64_t *v)
{
    const uint8_t *i = w->in;

    for (size_t k = 0; k < w->ncounts; k++)
        i = get_varint(i, &v[k]);
    w->in = i;
}

// Any counts into v[ncounts], in units of the scales of these events.
void walk_scaled(struct walk *w, const struct event *event, quern_count *v);

static inline void walk_skip(struct walk *w)
{
    w->in = skip_varints(w->in, w->ncounts);
}

#endif
