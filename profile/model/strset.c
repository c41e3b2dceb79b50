// SPDX-License-Identifier: MIT
//
// Interned strings for libquern. A reader needs one for every name definition, not for every line
// (ids are looked up in arrays), so a plain table with linear probing is enough.
#include "profile/model/strset.h"

#include <stdlib.h>
#include <string.h>

#include "profile/model/grow.h"

#define CHUNK ((size_t)64 << 10)

static uint32_t hash_bytes(const char *p, size_t n)
{
    uint64_t h = 0x9e3779b97f4a7c15u ^ n, w;

    for (; n >= 8; p += 8, n -= 8) {
        memcpy(&w, p, 8);
        h = (h ^ w) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    w = 0;
    memcpy(&w, p, n);
    h = (h ^ w) * 0xff51afd7ed558ccdu;
    h ^= h >> 29;
    h *= 0xc4ceb9fe1a85ec53u;
    return (uint32_t)(h >> 32);
}

static bool grow(struct strset *s)
{
    uint32_t cap = s->cap ? s->cap * 2 : 256;

    if (s->cap >= (uint32_t)1 << 29)
        return false;
    if (!grow_array(&s->text, cap, sizeof(*s->text)) ||
        !grow_array(&s->len, cap, sizeof(*s->len)) ||
        !grow_array(&s->hash, cap, sizeof(*s->hash)) || !grow_table(&s->table, cap))
        return false;
    for (uint32_t i = 0; i < s->count; i++)
        table_add(&s->table, s->hash[i], i);
    s->cap = cap;
    return true;
}

static char *store(struct strset *s, const char *text, size_t len)
{
    char *p;

    if (!s->chunk || s->size - s->used < len + 1) {
        size_t size = sizeof(char *) + len + 1 > CHUNK ? sizeof(char *) + len + 1 : CHUNK;
        if (!(p = malloc(size)))
            return NULL;
        memcpy(p, &s->chunk, sizeof(char *));
        s->chunk = p;
        s->size = size;
        s->used = sizeof(char *);
    }
    p = s->chunk + s->used;
    memcpy(p, text, len);
    p[len] = 0;
    s->used += len + 1;
    return p;
}

uint32_t strset_add(struct strset *s, const char *text, size_t len)
{
    if (len >= UINT32_MAX)
        return UINT32_MAX;
    if (s->count == s->cap && !grow(s))
        return UINT32_MAX;
    uint32_t hash = hash_bytes(text, len);
    size_t at = table_first(&s->table, hash);
    for (; table_used(&s->table, at); at = table_next(&s->table, at)) {
        uint32_t i = table_number(&s->table, at);
        if (s->hash[i] == hash && s->len[i] == len && memcmp(s->text[i], text, len) == 0)
            return i;
    }
    const char *p = store(s, text, len);
    if (!p)
        return UINT32_MAX;
    s->text[s->count] = p;
    s->len[s->count] = (uint32_t)len;
    s->hash[s->count] = hash;
    table_put(&s->table, at, s->count);
    return s->count++;
}

void strset_fini(struct strset *s)
{
    for (char *c = s->chunk, *prev; c; c = prev) {
        memcpy(&prev, c, sizeof(prev));
        free(c);
    }
    free(s->text);
    free(s->len);
    free(s->hash);
    free(s->table.slot);
    memset(s, 0, sizeof(*s));
}
