// SPDX-License-Identifier: MIT
//
// Self costs of functions by source file: the table, the walk that fills it, and the getters. Hot:
// the reader calls self_keep() at each change of function or source file, and the walk handles
// every record. bench: make bench-tools, "annotate".
#include "profile/model/self.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/grow.h"
#include "profile/model/walk.h"

struct quern_rows {
    const struct self_rows *t; // those of the profile, or own
    struct self_rows own;
};

static uint64_t self_hash(uint32_t func, uint32_t file)
{
    return ((uint64_t)file << 32 | func) * 0x9e3779b97f4a7c15u >> 24;
}

static bool self_grow(struct self_rows *t)
{
    uint32_t cap = t->cap ? t->cap * 2 : 256;

    if (cap > UINT32_MAX / 4)
        return false;
    if (!grow_array(&t->row, cap, sizeof(*t->row)) ||
        !grow_array(&t->counts, cap * t->events + 1, sizeof(*t->counts)) ||
        !grow_table(&t->table, cap))
        return false;
    for (uint32_t i = 0; i < t->count; i++)
        table_add(&t->table, self_hash(t->row[i].func, t->row[i].file), i);
    t->cap = cap;
    return true;
}

uint32_t self_find(struct self_rows *t, uint32_t func, uint32_t file)
{
    if (t->count == t->cap && !self_grow(t))
        return QUERN_NONE;
    size_t at = table_first(&t->table, self_hash(func, file));
    for (; table_used(&t->table, at); at = table_next(&t->table, at)) {
        uint32_t i = table_number(&t->table, at);
        if (t->row[i].func == func && t->row[i].file == file)
            return i;
    }
    t->row[t->count] = (struct self_row){ func, file, 0 };
    memset(t->counts + t->count * t->events, 0, t->events * sizeof(*t->counts));
    table_put(&t->table, at, t->count);
    return t->count++;
}

static void self_free(struct self_rows *t)
{
    free(t->row);
    free(t->counts);
    free(t->table.slot);
    memset(t, 0, sizeof(*t));
}

void self_drop(struct quern_profile *p)
{
    if (!p->rows)
        return;
    self_free(p->rows);
    free(p->rows);
    p->rows = NULL;
}

void self_keep(struct quern_profile *p, uint32_t func, uint32_t file, uint64_t present,
               const quern_count *v, size_t n)
{
    struct self_rows *t = p->rows;

    if (!t)
        return;
    if (!t->count)
        t->events = p->event_count;
    uint32_t i = t->events == p->event_count ? self_find(t, func, file) : QUERN_NONE;
    if (i == QUERN_NONE) {
        self_drop(p);
        return;
    }
    t->row[i].present |= present;
    quern_count *sum = t->counts + i * t->events;
    for (size_t k = 0; k < n; k++)
        sum[k] += v[k];
}

// ---- The walk ----

// @hot
static int self_walk(struct self_rows *t, const struct quern_profile *p)
{
    quern_count *wide = calloc(p->event_count + 1, sizeof(*wide)), *sum = NULL;
    bool scaled = false, any = false;
    uint32_t func = 0, file = 0, i = 0;
    struct walk w;

    if (!wide)
        return -ENOMEM;
    t->events = p->event_count;
    for (size_t k = 0; k < p->event_count; k++)
        scaled |= p->event[k].scale != 1;
    walk_init(&w, p);
    while (walk_next(&w)) {
        if (w.op != OP_COST) {
            walk_skip(&w);
            continue;
        }
        if (!any || w.at.func != func || w.at.file != file) {
            func = w.at.func;
            file = w.at.file;
            any = true;
            if ((i = self_find(t, func, file)) == QUERN_NONE) {
                free(wide);
                return -ENOMEM;
            }
            sum = t->counts + i * t->events;
        }
        t->row[i].present |= w.present;
        if (w.special || scaled) {
            walk_scaled(&w, p->event, wide);
            for (size_t k = 0; k < w.ncounts; k++)
                sum[k] += wide[k];
        } else {
            const uint8_t *in = w.in;
            for (size_t k = 0; k < w.ncounts; k++) {
                uint64_t v;
                in = get_varint(in, &v);
                sum[k] += v;
            }
            w.in = in;
        }
    }
    free(wide);
    return 0;
}

// Whether the stored rows are still those of the profile. Records may have been added since, and an
// event may have got another scale from quern_profile_match_events(), or have come with a last part
// without costs.
static bool self_good(const struct quern_profile *p)
{
    if (!p->rows || p->rows->records != p->record_count ||
        (p->rows->count && p->rows->events != p->event_count))
        return false;
    for (size_t k = 0; k < p->event_count; k++)
        if (p->event[k].scale != 1)
            return false;
    return true;
}

struct quern_rows *quern_rows_new(const struct quern_profile *p)
{
    struct quern_rows *r = calloc(1, sizeof(*r));

    if (!r)
        return NULL;
    if (self_good(p)) {
        r->t = p->rows;
        return r;
    }
    r->t = &r->own;
    if (self_walk(&r->own, p) < 0) {
        quern_rows_free(r);
        errno = ENOMEM;
        return NULL;
    }
    return r;
}

void quern_rows_free(struct quern_rows *r)
{
    if (!r)
        return;
    self_free(&r->own);
    free(r);
}

size_t quern_rows_count(const struct quern_rows *r)
{
    return r->t->count;
}

struct quern_row quern_rows_get(const struct quern_rows *r, size_t i)
{
    const struct self_row *x = &r->t->row[i];

    return (struct quern_row){ x->func, x->file, x->present, r->t->counts + i * r->t->events };
}
