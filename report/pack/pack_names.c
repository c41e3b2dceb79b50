// SPDX-License-Identifier: MIT
//
// The strings of pack_names.h.
#include "report/pack/pack_names.h"

#include <stdlib.h>

static uint64_t hash(const char *s, size_t size)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (size_t i = 0; i < size; i++)
        h = (h ^ (uint8_t)s[i]) * 0x100000001b3u;
    return h ^ h >> 29;
}

static bool grow(struct pack_names *n)
{
    size_t cap = n->cap ? n->cap * 2 : 1024;
    struct pack_name *name = realloc(n->name, cap * sizeof(*name));

    if (!name)
        return false;
    n->name = name;
    uint32_t *slot = calloc(table_slots(cap), sizeof(*slot));
    if (!slot)
        return false;
    free(n->table.slot);
    n->table = table_over(slot, table_slots(cap));
    for (size_t i = 0; i < n->count; i++)
        table_add(&n->table, hash((char *)n->pool.at + name[i].at, name[i].size), (uint32_t)i);
    n->cap = cap;
    return true;
}

uint32_t pack_names_add(struct pack_names *n, const char *s, size_t size)
{
    if (size > PACK_NAMES_MAX) {
        size = PACK_NAMES_MAX;
        n->cut++;
    }
    if (n->count == n->cap && !grow(n)) {
        n->failed = true;
        return QUERN_NONE;
    }
    size_t at = table_first(&n->table, hash(s, size));
    for (; table_used(&n->table, at); at = table_next(&n->table, at)) {
        const struct pack_name *x = &n->name[table_number(&n->table, at)];
        if (x->size == size && memcmp(n->pool.at + x->at, s, size) == 0)
            return table_number(&n->table, at);
    }
    buf_room(&n->pool, 1); // so an empty string has an address
    n->name[n->count] = (struct pack_name){ .at = n->pool.size, .size = (uint32_t)size };
    buf_bytes(&n->pool, s, size);
    n->failed |= n->pool.failed;
    table_put(&n->table, at, (uint32_t)n->count);
    return (uint32_t)n->count++;
}

const char *pack_names_text(const struct pack_names *n, uint32_t provisional, size_t *size)
{
    *size = n->name[provisional].size;
    return (const char *)n->pool.at + n->name[provisional].at;
}

static int compare(const void *pa, const void *pb, void *ctx)
{
    const struct pack_names *n = ctx;
    const struct pack_name *a = &n->name[*(const uint32_t *)pa],
                           *b = &n->name[*(const uint32_t *)pb];

    if (a->early != b->early)
        return a->early ? -1 : 1;
    int order =
        memcmp(n->pool.at + a->at, n->pool.at + b->at, a->size < b->size ? a->size : b->size);
    return order ? order : a->size < b->size ? -1 : a->size > b->size;
}

bool pack_names_settle(struct pack_names *n)
{
    n->order = malloc((n->count + 1) * sizeof(*n->order));
    n->number = malloc((n->count + 1) * sizeof(*n->number));
    if (!n->order || !n->number || n->failed)
        return false;
    for (size_t i = 0; i < n->count; i++) {
        n->order[i] = (uint32_t)i;
        n->early += n->name[i].early;
    }
    if (n->count)
        qsort_r(n->order, n->count, sizeof(*n->order), compare, n);
    for (size_t i = 0; i < n->count; i++)
        n->number[n->order[i]] = (uint32_t)i;
    return true;
}

void pack_names_put(const struct pack_names *n, uint32_t first, uint32_t end, struct buf *to)
{
    const uint8_t *before = NULL;
    size_t before_size = 0;

    buf_u(to, first);
    buf_u(to, end - first);
    for (uint32_t i = first; i < end; i++) {
        const struct pack_name *x = &n->name[n->order[i]];
        const uint8_t *s = n->pool.at + x->at;
        size_t common = 0;
        while (common < before_size && common < x->size && s[common] == before[common])
            common++;
        buf_u(to, common);
        buf_text(to, s + common, x->size - common);
        before = s;
        before_size = x->size;
    }
}

void pack_names_free(struct pack_names *n)
{
    buf_free(&n->pool);
    free(n->name);
    free(n->table.slot);
    free(n->number);
    free(n->order);
    *n = (struct pack_names){ 0 };
}
