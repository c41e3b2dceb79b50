// SPDX-License-Identifier: MIT
//
// Takes the sums out of the table, sorted, as a profile.
#include "profile/sum/merger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/parts.h"
#include "profile/model/stream.h"
#include "profile/model/text.h"

struct order { // ranks of strings and functions, so that sorting compares numbers
    uint32_t *str, *func;
    const struct quern_merger *m;
};

static __thread const struct order *sorting; // qsort() has no argument for the comparison

static int cmp_str(const void *a, const void *b)
{
    const struct quern_merger *m = sorting->m;
    return strcmp(m->dst->str.text[*(const uint32_t *)a], m->dst->str.text[*(const uint32_t *)b]);
}

static uint32_t rank_of(const uint32_t *rank, uint32_t s)
{
    return s == QUERN_NONE ? 0 : rank[s] + 1;
}

#define CMP(x, y)                      \
    do {                               \
        if ((x) != (y))                \
            return (x) < (y) ? -1 : 1; \
    } while (0)

static int cmp_func(const void *a, const void *b)
{
    const struct quern_func *f = &sorting->m->dst->func[*(const uint32_t *)a];
    const struct quern_func *g = &sorting->m->dst->func[*(const uint32_t *)b];

    CMP(rank_of(sorting->str, f->object), rank_of(sorting->str, g->object));
    CMP(rank_of(sorting->str, f->file), rank_of(sorting->str, g->file));
    CMP(rank_of(sorting->str, f->name), rank_of(sorting->str, g->name));
    return 0;
}

// Within a function: by address; else the function's own file first, then by line; costs before
// calls before jumps.
static int cmp_entry(const void *pa, const void *pb)
{
    const struct quern_merger *m = sorting->m;
    uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
    const struct context *c = &m->ctx[m->e_ctx[a]], *d = &m->ctx[m->e_ctx[b]];

    if (c->func != d->func)
        CMP(sorting->func[c->func], sorting->func[d->func]);
    if (m->e_addr)
        CMP(m->e_addr[a], m->e_addr[b]);
    if (c->file != d->file) {
        uint32_t own = m->dst->func[c->func].file;
        CMP(c->file != own, d->file != own);
        CMP(rank_of(sorting->str, c->file), rank_of(sorting->str, d->file));
    }
    CMP(c->line_high, d->line_high);
    CMP(m->e_line[a], m->e_line[b]);
    CMP(c->bb, d->bb);
    CMP(c->kind, d->kind);
    if (c->kind == QUERN_REC_COST)
        return 0;
    if (c->to_func != d->to_func)
        CMP(sorting->func[c->to_func], sorting->func[d->to_func]);
    CMP(rank_of(sorting->str, c->to_file), rank_of(sorting->str, d->to_file));
    CMP(c->to_line, d->to_line);
    CMP(c->to_addr, d->to_addr);
    return 0;
}

static int rank(struct order *o, uint32_t **out, size_t n, int (*cmp)(const void *, const void *))
{
    uint32_t *idx = malloc((n + 1) * sizeof(*idx));

    *out = malloc((n + 1) * sizeof(**out));
    if (!idx || !*out) {
        free(idx);
        return -ENOMEM;
    }
    for (size_t i = 0; i < n; i++)
        idx[i] = (uint32_t)i;
    sorting = o;
    qsort(idx, n, sizeof(*idx), cmp);
    for (size_t i = 0; i < n; i++)
        (*out)[idx[i]] = (uint32_t)i;
    free(idx);
    return 0;
}

// Sorts the entries: distributes them by function, then sorts each function's few, which are mostly
// in order.
static uint32_t *sort_entries(struct quern_merger *m, struct order *o)
{
    size_t nf = m->dst->func_count;
    uint32_t *idx = malloc((m->count + 1) * sizeof(*idx));
    size_t *first = calloc(nf + 2, sizeof(*first));

    if (!idx || !first) {
        free(idx);
        free(first);
        return NULL;
    }
    for (size_t i = 0; i < m->count; i++)
        first[o->func[m->ctx[m->e_ctx[i]].func] + 2]++;
    for (size_t i = 0; i < nf; i++)
        first[i + 1] += first[i];
    for (size_t i = 0; i < m->count; i++)
        idx[first[o->func[m->ctx[m->e_ctx[i]].func] + 1]++] = (uint32_t)i;
    // first[f] .. first[f + 1] is now function f
    sorting = o;
    for (size_t f = 0; f < nf; f++) {
        uint32_t *a = idx + first[f];
        size_t n = first[f + 1] - first[f];
        bool sorted = true;
        for (size_t k = 1; k < n && sorted; k++)
            sorted = cmp_entry(&a[k - 1], &a[k]) <= 0;
        if (!sorted)
            qsort(a, n, sizeof(*a), cmp_entry);
    }
    free(first);
    return idx;
}

static uint64_t clamp_u64(quern_count v)
{
    return v < 0 ? 0 : v > UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

// Writes the sorted entries as records of part `part` of out, whose tables are those of m->dst.
static int emit(struct quern_merger *m, struct quern_profile *out, uint32_t part,
                struct merger_maps *maps)
{
    struct order o = { NULL, NULL, m };
    uint32_t *idx = NULL;
    quern_count *v = calloc(m->dst->event_count + 1, sizeof(*v));
    int rc = -ENOMEM;

    if (!v || rank(&o, &o.str, m->dst->str.count, cmp_str) < 0 ||
        rank(&o, &o.func, m->dst->func_count, cmp_func) < 0 || !(idx = sort_entries(m, &o)))
        goto out;
    struct fold none = { .sign = 1, .part = -1 };
    for (size_t k = 0; k < m->count; k++) {
        uint32_t i = idx[k];
        const struct context *c = &m->ctx[m->e_ctx[i]];
        size_t n = merger_counts(m, i), lead = merger_lead(c->kind);
        struct quern_record rec = { .kind = (enum quern_record_kind)c->kind, .part = part };
        n = n > lead ? n - lead : 0;
        for (size_t e = 0; e < n; e++)
            v[e] = merger_count(m, i, e + lead);
        rec.at.func = c->func;
        rec.at.file = c->file;
        rec.to.func = c->to_func;
        rec.to.file = c->to_file;
        if (maps) {
            rec.at.func = merger_map_func(out, m->dst, c->func, &none, maps);
            rec.at.file = merger_map_file(out, m->dst, c->file, &none, maps);
            if (lead)
                rec.to.func = merger_map_func(out, m->dst, c->to_func, &none, maps);
            rec.to.file = merger_map_file(out, m->dst, c->to_file, &none, maps);
            if (maps->failed) {
                rc = -ENOMEM;
                goto out;
            }
        }
        rec.at.line = (uint64_t)c->line_high << 32 | m->e_line[i];
        rec.at.addr = m->e_addr ? m->e_addr[i] : 0;
        rec.at.bb = c->bb;
        rec.to.line = c->to_line;
        rec.to.addr = c->to_addr;
        if (lead) {
            rec.calls = clamp_u64(merger_count(m, i, 0));
            rec.executed = clamp_u64(merger_count(m, i, 1));
        }
        rec.counts = v;
        if ((rc = stream_add(out, &rec, n)) < 0)
            goto out;
    }
    rc = 0;
out:
    free(v);
    free(o.str);
    free(o.func);
    free(idx);
    return rc;
}

struct quern_profile *quern_merger_take(struct quern_merger *m, struct quern_error *err)
{
    struct quern_profile *p = m->dst, *fresh = quern_profile_new();
    int rc = fresh ? emit(m, p, 0, NULL) : -ENOMEM;

    if (rc < 0) {
        quern_profile_free(fresh);
        text_error(err, -rc, NULL, "not enough memory for the result");
        errno = -rc;
        return NULL;
    }
    merger_reset(m);
    m->dst = fresh;
    return p;
}

int merger_take_into(struct quern_merger *m, struct quern_profile *out)
{
    struct quern_profile *fresh = quern_profile_new();
    struct merger_maps maps;
    int rc = merger_maps_new(&maps, m->dst);

    if (!fresh)
        rc = -ENOMEM;
    if (rc == 0)
        rc = emit(m, out, (uint32_t)(out->part_count - 1), &maps);
    merger_maps_free(&maps);
    if (rc < 0) {
        quern_profile_free(fresh);
        return rc;
    }
    quern_profile_free(m->dst);
    merger_reset(m);
    m->dst = fresh;
    return 0;
}
