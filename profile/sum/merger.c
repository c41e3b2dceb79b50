// SPDX-License-Identifier: MIT
//
// The table: contexts, entries, counts. bench: make bench-tools, "merge".
#include "profile/sum/merger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/grow.h"

struct quern_merger *quern_merger_new(void)
{
    struct quern_merger *m = calloc(1, sizeof(*m));

    if (!m)
        return NULL;
    m->dst = quern_profile_new();
    if (!m->dst) {
        free(m);
        errno = ENOMEM;
        return NULL;
    }
    m->order = SIZE_MAX;
    return m;
}

void merger_reset(struct quern_merger *m)
{
    free(m->ctx);
    free(m->ctx_table.slot);
    free(m->e_ctx);
    free(m->e_line);
    free(m->e_off);
    free(m->e_n);
    free(m->e_addr);
    free(m->table.slot);
    free(m->pool);
    free(m->name);
    memset(m, 0, sizeof(*m));
    m->order = SIZE_MAX;
}

void quern_merger_free(struct quern_merger *m)
{
    if (!m)
        return;
    quern_profile_free(m->dst);
    merger_reset(m);
    free(m);
}

// ---- Finding ----

static uint64_t mix(uint64_t h)
{
    h ^= h >> 32;
    h *= 0xff51afd7ed558ccdu;
    return h ^ h >> 29;
}

static uint64_t ctx_hash(const struct context *c)
{
    uint64_t h = mix(((uint64_t)c->func << 32 | c->to_func) * 0x9e3779b97f4a7c15u + c->kind);
    h = mix(h + ((uint64_t)c->file << 32 | c->to_file));
    return mix(h + c->to_line * 31 + c->to_addr + c->bb * 7 + c->line_high);
}

static uint64_t entry_hash(uint32_t ctx, uint32_t line, uint64_t addr)
{
    return mix((((uint64_t)ctx << 32 | line) + addr * 0x9e3779b97f4a7c15u) * 0xc4ceb9fe1a85ec53u);
}

static bool grow_ctx(struct quern_merger *m)
{
    size_t cap = m->ctx_cap ? m->ctx_cap * 2 : 256;

    if (cap > UINT32_MAX / 2)
        return false;
    if (!grow_array(&m->ctx, cap, sizeof(*m->ctx)) || !grow_table(&m->ctx_table, cap))
        return false;
    for (size_t i = 0; i < m->ctx_count; i++)
        table_add(&m->ctx_table, ctx_hash(&m->ctx[i]), (uint32_t)i);
    m->ctx_cap = cap;
    return true;
}

uint32_t merger_find_ctx(struct quern_merger *m, const struct context *c)
{
    if (m->ctx_count == m->ctx_cap && !grow_ctx(m))
        return QUERN_NONE;
    size_t at = table_first(&m->ctx_table, ctx_hash(c));
    for (; table_used(&m->ctx_table, at); at = table_next(&m->ctx_table, at)) {
        uint32_t i = table_number(&m->ctx_table, at);
        if (merger_ctx_equal(&m->ctx[i], c))
            return i;
    }
    m->ctx[m->ctx_count] = *c;
    table_put(&m->ctx_table, at, (uint32_t)m->ctx_count);
    return (uint32_t)m->ctx_count++;
}

static bool grow_entries(struct quern_merger *m)
{
    size_t cap = m->cap ? m->cap * 2 : 1024;

    if (cap > UINT32_MAX / 2)
        return false;
    if (!grow_array(&m->e_ctx, cap, sizeof(*m->e_ctx)) ||
        !grow_array(&m->e_line, cap, sizeof(*m->e_line)) ||
        !grow_array(&m->e_off, cap, sizeof(*m->e_off)) ||
        !grow_array(&m->e_n, cap, sizeof(*m->e_n)) ||
        (m->e_addr && !grow_array(&m->e_addr, cap, sizeof(*m->e_addr))) ||
        !grow_table(&m->table, cap))
        return false;
    for (size_t i = 0; i < m->count; i++)
        table_add(&m->table, entry_hash(m->e_ctx[i], m->e_line[i], m->e_addr ? m->e_addr[i] : 0),
                  (uint32_t)i);
    m->cap = cap;
    return true;
}

// The first address: all entries before it have none.
static bool begin_addresses(struct quern_merger *m)
{
    if (!grow_array(&m->e_addr, m->cap, sizeof(*m->e_addr)))
        return false;
    memset(m->e_addr, 0, m->count * sizeof(*m->e_addr));
    return true;
}

uint32_t merger_find_entry(struct quern_merger *m, uint32_t ctx, uint32_t line, uint64_t addr)
{
    if (m->count == m->cap && !grow_entries(m))
        return QUERN_NONE;
    if (addr != 0 && !m->e_addr && !begin_addresses(m))
        return QUERN_NONE;
    size_t at = table_first(&m->table, entry_hash(ctx, line, addr));
    for (; table_used(&m->table, at); at = table_next(&m->table, at)) {
        uint32_t i = table_number(&m->table, at);
        if (merger_is_entry(m, i, ctx, line, addr))
            return i;
    }
    uint32_t i = (uint32_t)m->count++;
    table_put(&m->table, at, i);
    m->e_ctx[i] = ctx;
    m->e_line[i] = line;
    if (m->e_addr)
        m->e_addr[i] = addr;
    m->e_off[i] = 0;
    m->e_n[i] = 0;
    return i;
}

// ---- Counts ----

static int64_t *pool_alloc(struct quern_merger *m, size_t n, uint32_t *off)
{
    if (m->pool_used + n > m->pool_cap) {
        size_t cap = m->pool_cap ? m->pool_cap + m->pool_cap / 2 : 4096;
        if (cap < m->pool_used + n)
            cap = m->pool_used + n;
        if (cap > UINT32_MAX)
            return NULL;
        int64_t *q = realloc(m->pool, cap * sizeof(*q));
        if (!q)
            return NULL;
        m->pool = q;
        m->pool_cap = cap;
    }
    *off = (uint32_t)m->pool_used;
    m->pool_used += n;
    return m->pool + *off;
}

// Makes space for n counts in entry i, wide ones if asked. The old slots are lost; entries rarely
// grow (a later profile has a count where the first had a trailing zero).
static int reserve(struct quern_merger *m, uint32_t i, size_t n, int wide)
{
    size_t have = merger_counts(m, i);
    int was_wide = (m->e_n[i] & MERGER_WIDE) != 0;
    uint32_t old = m->e_off[i];

    wide |= was_wide;
    if (n < have)
        n = have;
    if (!n)
        return 0;
    uint32_t off;
    int64_t *v;
    if (!(v = pool_alloc(m, wide ? n * 2 : n, &off)))
        return -ENOMEM;
    for (size_t k = 0; k < n; k++) {
        quern_count x = 0;
        if (k < have && was_wide)
            memcpy(&x, m->pool + old + k * 2, sizeof(x));
        else if (k < have)
            x = m->pool[old + k];
        if (wide)
            memcpy(v + k * 2, &x, sizeof(x));
        else
            v[k] = (int64_t)x;
    }
    m->e_off[i] = off;
    m->e_n[i] = (uint16_t)(n | (wide ? MERGER_WIDE : 0));
    return 0;
}

quern_count merger_count(const struct quern_merger *m, uint32_t i, size_t k)
{
    size_t n = merger_counts(m, i);

    if (k >= n)
        return 0;
    if (!(m->e_n[i] & MERGER_WIDE))
        return m->pool[m->e_off[i] + k];
    quern_count x;
    memcpy(&x, m->pool + m->e_off[i] + k * 2, sizeof(x));
    return x;
}

// Any counts: slow, always right.
int merger_add_wide(struct quern_merger *m, uint32_t i, const quern_count *v, size_t n, int sign)
{
    size_t have = merger_counts(m, i);

    if (!n)
        return 0;
    if (have < n || !(m->e_n[i] & MERGER_WIDE))
        if (reserve(m, i, n, 1) < 0)
            return -ENOMEM;
    for (size_t k = 0; k < n; k++) {
        quern_count x = merger_count(m, i, k);
        x += sign < 0 ? -v[k] : v[k];
        memcpy(m->pool + m->e_off[i] + k * 2, &x, sizeof(x));
    }
    return 0;
}

// Counts of at most 64 bits. @hot
int merger_add_plain(struct quern_merger *m, uint32_t i, const uint64_t *v, size_t n, int sign)
{
    size_t have = m->e_n[i];
    size_t k;

    if (!n)
        return 0;
    if (__builtin_expect(have < n && !(have & MERGER_WIDE), 0)) {
        if (reserve(m, i, n, 0) < 0)
            return -ENOMEM;
        have = m->e_n[i];
    }
    if (__builtin_expect(!(have & MERGER_WIDE), 1)) {
        uint64_t bad = 0;
        int64_t *x = m->pool + m->e_off[i];
        // Check for overflow first, so that nothing is half added.
        for (k = 0; k < n; k++) {
            bad |= v[k] >> 63;
            int64_t sum;
            bad |= sign > 0 ? __builtin_add_overflow(x[k], (int64_t)v[k], &sum)
                            : __builtin_sub_overflow(x[k], (int64_t)v[k], &sum);
        }
        if (!bad) {
            if (sign > 0)
                for (k = 0; k < n; k++)
                    x[k] += (int64_t)v[k];
            else
                for (k = 0; k < n; k++)
                    x[k] -= (int64_t)v[k];
            return 0;
        }
    }
    quern_count *w;
    if (!(w = malloc((n + 1) * sizeof(*w))))
        return -ENOMEM;
    for (k = 0; k < n; k++)
        w[k] = v[k];
    int rc = merger_add_wide(m, i, w, n, sign);
    free(w);
    return rc;
}

// Event e has got a fraction: converts everything counted so far to units of 10^-9.
int merger_rescale(struct quern_merger *m, size_t e)
{
    for (uint32_t i = 0; i < m->count; i++) {
        size_t k = e + (m->ctx[m->e_ctx[i]].kind == QUERN_REC_COST ? 0 : 2);
        if (k >= merger_counts(m, i))
            continue;
        quern_count x = merger_count(m, i, k) * NANO;
        if (!(m->e_n[i] & MERGER_WIDE) && reserve(m, i, 0, 1) < 0)
            return -ENOMEM;
        memcpy(m->pool + m->e_off[i] + k * 2, &x, sizeof(x));
    }
    m->dst->event[e].scale = NANO;
    return 0;
}
