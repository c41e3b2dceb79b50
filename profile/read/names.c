// SPDX-License-Identifier: MIT
//
// Tables of ids, and names made of them. Hot: every "fn=", "fl=" and "ob=" line comes here.
#include "profile/read/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/grow.h"

// Ids below this plus four times the array's size are in the array. Callgrind numbers functions in
// the order of their symbols: a compiler that ran 7,000 functions has ids up to 114,378.
#define ID_NEAR (1u << 18)

// Makes all ids up to `id`, and more, array entries.
static bool grow_dense(struct idtab *t, uint64_t id)
{
    size_t cap = id + id / 2 + 1024;

    if (!grow_array(&t->dense, cap, sizeof(*t->dense)))
        return false;
    for (size_t i = t->dense_cap; i < cap; i++)
        t->dense[i] = QUERN_NONE;
    // Moves ids over that were far before.
    for (uint32_t i = 0; i < t->far_count; i++)
        if (t->far[i].id >= t->dense_cap && t->far[i].id < cap)
            t->dense[t->far[i].id] = t->far[i].str;
    t->dense_cap = cap;
    return true;
}

static uint64_t far_hash(uint64_t id)
{
    return id * 0x9e3779b97f4a7c15u >> 32;
}

static bool grow_far(struct idtab *t)
{
    uint32_t cap = t->far_cap ? t->far_cap * 2 : 32;

    if (cap > UINT32_MAX / 4)
        return false;
    if (!grow_array(&t->far, cap, sizeof(*t->far)) || !grow_table(&t->table, cap))
        return false;
    for (uint32_t i = 0; i < t->far_count; i++)
        table_add(&t->table, far_hash(t->far[i].id), i);
    t->far_cap = cap;
    return true;
}

// Where the string of an id is stored, QUERN_NONE if it has none yet; valid until the next call.
// NULL: no memory.
static uint32_t *id_string(struct reader *r, struct idtab *t, uint64_t id)
{
    if (id < t->dense_cap)
        return &t->dense[id];
    // Ids of known writers count up from 0 or 1; much larger ones go to the other table.
    if (id < 4 * t->dense_cap + ID_NEAR && id < UINT32_MAX) {
        if (grow_dense(t, id))
            return &t->dense[id];
        r->stop = -ENOMEM;
        return NULL;
    }
    if (t->far_count == t->far_cap && !grow_far(t)) {
        r->stop = -ENOMEM;
        return NULL;
    }
    size_t at = table_first(&t->table, far_hash(id));
    for (; table_used(&t->table, at); at = table_next(&t->table, at)) {
        struct idtab_far *f = &t->far[table_number(&t->table, at)];
        if (f->id == id)
            return &f->str;
    }
    table_put(&t->table, at, t->far_count);
    t->far[t->far_count] = (struct idtab_far){ id, QUERN_NONE };
    return &t->far[t->far_count++].str;
}

static void give(struct reader *r, struct idtab *t, uint64_t id, uint32_t *slot, uint32_t v)
{
    *slot = v;
    if (!t->noted || id >= t->dense_cap)
        return;
    if (t->given_count == t->given_cap) {
        uint32_t cap = t->given_cap * 2 + 1024;

        if (!grow_array(&t->given, cap, sizeof(*t->given))) {
            r->stop = -ENOMEM;
            return;
        }
        t->given_cap = cap;
    }
    t->given[t->given_count++] = (struct idtab_given){ (uint32_t)id, v };
}

void names_note(struct idtab *t)
{
    t->noted = true;
    t->given_count = 0;
}

void names_note_no_more(struct idtab *t)
{
    free(t->given);
    t->given = NULL;
    t->given_count = t->given_cap = 0;
    t->noted = false;
}

bool names_same(const struct idtab *a, const struct idtab *b, uint32_t n)
{
    return !a->far_count && !b->far_count && a->given_count == n &&
           (!n || memcmp(a->given, b->given, n * sizeof(*a->given)) == 0);
}

bool names_take(struct reader *r, struct idtab *t, const struct idtab *from, uint32_t n)
{
    for (; n < from->given_count; n++) {
        uint32_t *slot = id_string(r, t, from->given[n].id);

        if (!slot)
            return false;
        *slot = from->given[n].str;
    }
    return true;
}

// The end of a name in the line.
static const char *name_end(struct reader *r, const char *s, const char *end)
{
    const char *nul = memchr(s, 0, (size_t)(end - s));

    if (nul)
        remark(r, DIAG_NUL, nul, "NUL byte in a name: the name ends there");
    return nul ? nul : end;
}

static uint32_t intern(struct reader *r, const char *s, size_t n)
{
    uint32_t v = strset_add(&r->p->str, s, n);
    if (v == QUERN_NONE)
        r->stop = -ENOMEM;
    return v;
}

// Decimal or hexadecimal id after "("; NULL if it is not one.
static const char *parse_id(const char *s, uint64_t *id)
{
    uint64_t v = 0;
    int digits = 0;

    if (s[0] == '0' && s[1] == 'x') {
        for (s += 2; digits < 16; s++, digits++) {
            char c = *s | 0x20;
            if (is_digit(*s))
                v = v * 16 + (uint64_t)(*s - '0');
            else if (c >= 'a' && c <= 'f')
                v = v * 16 + (uint64_t)(c - 'a' + 10);
            else
                break;
        }
    } else {
        for (; digits < 19 && is_digit(*s); s++, digits++)
            v = v * 10 + (uint64_t)(*s - '0');
    }
    if (!digits || *s != ')')
        return NULL;
    *id = v;
    return s + 1;
}

// "(2)'3" or "(2)'(4)": a name made of ids, written by an undocumented mode of Callgrind. Any
// other name may begin with a parenthesis, too.
static bool is_nested(const char *s, const char *end)
{
    uint64_t id;
    const char *q = *s == '(' && is_digit(s[1]) ? parse_id(s + 1, &id) : NULL;

    return q && q < end && *q == '\'';
}

static uint32_t expand_nested(struct reader *r, struct idtab *t, const char *s, const char *end)
{
    size_t cap = 256, n = 0;
    char *out = malloc(cap);

    while (out && s < end) {
        uint64_t id;
        const char *q = *s == '(' ? parse_id(s + 1, &id) : NULL, *piece = s;
        size_t len = 1;
        if (q && q <= end) {
            uint32_t *slot = id_string(r, t, id);
            if (slot && *slot != QUERN_NONE) {
                piece = r->p->str.text[*slot];
                len = r->p->str.len[*slot];
            } else {
                len = (size_t)(q - s);
            }
            s = q;
        } else {
            s++;
        }
        if (n + len > (size_t)16 << 20) // ids that contain ids grow without bound
            break;
        if (n + len > cap) {
            char *bigger = realloc(out, cap = (n + len) * 2);
            if (!bigger) {
                free(out);
                out = NULL;
                break;
            }
            out = bigger;
        }
        memcpy(out + n, piece, len);
        n += len;
    }
    if (!out) {
        r->stop = -ENOMEM;
        return QUERN_NONE;
    }
    uint32_t v = intern(r, out, n);
    free(out);
    return v;
}

uint32_t names_parse(struct reader *r, struct idtab *t, const char *s, const char *end)
{
    uint32_t v;

    if (end > s && end[-1] == '\r')
        end--;
    while (s < end && is_blank(*s))
        s++;
    const char *start = s;
    if (s == end || *s != '(' || !is_digit(s[1]) || r->plain_names)
        return intern(r, s, (size_t)(name_end(r, s, end) - s));
    uint64_t id;
    const char *q = parse_id(s + 1, &id);
    if (!q) {
        remark(r, DIAG_ID_MALFORMED, s, "looks like '(id)' but is not: taken as a name");
        return intern(r, s, (size_t)(name_end(r, s, end) - s));
    }
    r->callgrind = true;
    while (q < end && is_blank(*q))
        q++;
    uint32_t *slot = id_string(r, t, id);
    if (!slot)
        return QUERN_NONE;
    if (q >= end) {
        if (*slot == QUERN_NONE) {
            remark(r, DIAG_ID_UNDEFINED, start, "id (%llu) was never given a name",
                   (unsigned long long)id);
            v = intern(r, start, (size_t)(name_end(r, start, end) - start));
            slot = id_string(r, t, id);
            if (slot)
                give(r, t, id, slot, v);
            return v;
        }
        return *slot;
    }
    if (is_nested(q, end)) {
        remark(r, DIAG_HIDDEN_SPEC, q, "a name made of other ids");
        v = expand_nested(r, t, q, name_end(r, q, end));
        slot = id_string(r, t, id);
        if (!slot)
            return QUERN_NONE;
    } else {
        v = intern(r, q, (size_t)(name_end(r, q, end) - q));
    }
    if (*slot == v)
        remark(r, DIAG_ID_REDEFINED, start, "id (%llu) is given the same name again",
               (unsigned long long)id);
    else if (*slot != QUERN_NONE)
        remark(r, DIAG_ID_CHANGED, start, "id (%llu) is given another name: it holds from here on",
               (unsigned long long)id);
    give(r, t, id, slot, v);
    return v;
}

void names_free(struct idtab *t)
{
    free(t->given);
    free(t->dense);
    free(t->far);
    free(t->table.slot);
}
