// SPDX-License-Identifier: MIT
//
// Reads the record stream, one record at a time. Hot: every question about a profile goes through
// walk_next(). bench: make bench-tools, "annotate" and "merge".
#include "profile/model/walk.h"

#include <string.h>

static void walk_enter(struct walk *w, const struct quern_profile *p, const struct chunk *c)
{
    w->chunk = c;
    w->in = c->data;
    w->end = c == p->last ? p->out : c->data + c->used;
}

void walk_init(struct walk *w, const struct quern_profile *p)
{
    memset(w, 0, sizeof(*w));
    w->at.func = w->at.file = QUERN_NONE;
    if (p->first) {
        walk_enter(w, p, p->first);
        // The last chunk ends at the encoder's position: store that as used.
        p->last->used = (size_t)(p->out - p->last->data);
    }
}

// @hot
int walk_next(struct walk *w)
{
    const uint8_t *i = w->in;
    unsigned op, kind;

    for (;;) {
        while (i == w->end) {
            if (!w->chunk || !w->chunk->next)
                return 0;
            w->chunk = w->chunk->next;
            i = w->chunk->data;
            w->end = i + w->chunk->used;
        }
        op = *i++;
        kind = op & 7;
        if (kind != OP_CONTEXT)
            break;
        w->at.mask = *i++;
        i = get_varint32(i, &w->at.func);
        i = get_varint32(i, &w->at.file);
        i = get_varint32(i, &w->at.part);
    }
    unsigned mask = w->at.mask;
    w->op = kind == OP_DOTTED ? OP_COST : kind;
    w->special = op & OP_SPECIAL;
    w->ncounts = op >> OP_COUNT_SHIFT & OP_COUNT_MORE;
    if (w->ncounts == OP_COUNT_MORE) {
        uint64_t n;
        i = get_varint(i, &n);
        w->ncounts = n;
    }
    if (mask & QUERN_HAS_LINE)
        i = get_delta(i, &w->at.line);
    if (mask & QUERN_HAS_ADDR)
        i = get_delta(i, &w->at.addr);
    if (mask & QUERN_HAS_BB)
        i = get_delta(i, &w->at.bb);
    w->present = w->ncounts < 64 ? ((uint64_t)1 << w->ncounts) - 1 : UINT64_MAX;
    if (kind == OP_DOTTED) {
        i = get_varint(i, &w->present);
    } else if (kind != OP_COST) {
        w->to.line = 0;
        w->to.addr = 0;
        w->to.file = QUERN_NONE;
        w->executed = 0;
        i = get_varint32(i, &w->to.func);
        if (kind != OP_CALL)
            i = get_varint32(i, &w->to.file);
        if (mask & QUERN_HAS_LINE)
            i = get_varint(i, &w->to.line);
        if (mask & QUERN_HAS_ADDR) {
            w->to.addr = w->at.addr;
            i = get_delta(i, &w->to.addr);
        }
        i = get_varint(i, &w->calls);
        if (kind == OP_JCND)
            i = get_varint(i, &w->executed);
    }
    w->in = i;
    return 1;
}

void walk_scaled(struct walk *w, const struct event *event, quern_count *v)
{
    const uint8_t *i = w->in;

    for (size_t k = 0; k < w->ncounts; k++) {
        if (w->special) {
            i = get_varint_wide(i, &v[k]);
            if (event[k].scale == 1)
                v[k] /= NANO;
        } else {
            uint64_t x;
            i = get_varint(i, &x);
            v[k] = (quern_count)x * event[k].scale;
        }
    }
    w->in = i;
}
