// SPDX-License-Identifier: MIT
//
// The life of a profile, its strings and functions, and plain getters.
#include "profile/model/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/events.h"
#include "profile/model/grow.h"
#include "profile/model/parts.h"
#include "profile/model/self.h"
#include "profile/model/stream.h"

// ---- Life ----

struct quern_profile *quern_profile_new(void)
{
    struct quern_profile *p = calloc(1, sizeof(*p));

    if (!p)
        return NULL;
    p->enc.func = p->enc.file = p->enc.part = QUERN_NONE;
    // Numbers 0 and 1 are the two spellings of "unknown": see profile_known().
    if (parts_add(p) < 0 || strset_add(&p->str, "", 0) != 0 || strset_add(&p->str, "???", 3) != 1) {
        quern_profile_free(p);
        errno = ENOMEM;
        return NULL;
    }
    return p;
}

void quern_profile_free(struct quern_profile *p)
{
    if (!p)
        return;
    strset_fini(&p->str);
    free(p->func);
    free(p->func_table.slot);
    events_free(p->event, p->event_count);
    events_free(p->derived, p->derived_count);
    for (size_t i = 0; i < p->part_count; i++)
        parts_clear(&p->part[i]);
    free(p->part);
    stream_free(p);
    self_drop(p);
    free(p->total);
    free(p->total_nano);
    free(p->total_shown);
    for (size_t i = 0; i < p->diag_count; i++) {
        free((char *)p->diag[i].msg);
        free((char *)p->diag[i].text);
    }
    free(p->diag);
    free(p);
}

// ---- Strings and functions ----

uint32_t quern_profile_string(struct quern_profile *p, const char *s, ptrdiff_t len)
{
    return strset_add(&p->str, s, len < 0 ? strlen(s) : (size_t)len);
}

const char *quern_profile_str(const struct quern_profile *p, uint32_t s)
{
    return s < p->str.count ? p->str.text[s] : "";
}

size_t quern_profile_str_count(const struct quern_profile *p)
{
    return p->str.count;
}

static uint64_t func_hash(struct quern_func f)
{
    uint64_t h = ((uint64_t)f.object << 32 | f.file) * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 32 ^ f.name) * 0xff51afd7ed558ccdu;
    return h >> 32;
}

static bool func_grow(struct quern_profile *p)
{
    uint32_t cap = p->func_cap ? p->func_cap * 2 : 64;

    if (p->func_cap >= (uint32_t)1 << 30)
        return false;
    if (!grow_array(&p->func, cap, sizeof(*p->func)))
        return false;
    if (!grow_table(&p->func_table, cap))
        return false;
    for (uint32_t i = 0; i < p->func_count; i++)
        table_add(&p->func_table, func_hash(p->func[i]), i);
    p->func_cap = cap;
    return true;
}

uint32_t quern_profile_func(struct quern_profile *p, uint32_t object, uint32_t file, uint32_t name)
{
    struct quern_func f = { profile_known(object), profile_known(file), profile_known(name) };

    if (p->func_count == p->func_cap && !func_grow(p))
        return QUERN_NONE;
    size_t at = table_first(&p->func_table, func_hash(f));
    for (; table_used(&p->func_table, at); at = table_next(&p->func_table, at)) {
        const struct quern_func *g = &p->func[table_number(&p->func_table, at)];
        if (g->name == f.name && g->file == f.file && g->object == f.object)
            return table_number(&p->func_table, at);
    }
    p->func[p->func_count] = f;
    table_put(&p->func_table, at, p->func_count);
    return p->func_count++;
}

size_t quern_profile_func_count(const struct quern_profile *p)
{
    return p->func_count;
}

struct quern_func quern_profile_func_get(const struct quern_profile *p, uint32_t func)
{
    if (func < p->func_count)
        return p->func[func];
    return (struct quern_func){ QUERN_NONE, QUERN_NONE, QUERN_NONE };
}

// ---- Getters ----

enum quern_format quern_profile_format(const struct quern_profile *p)
{
    return p->format;
}

unsigned quern_profile_has(const struct quern_profile *p)
{
    return p->has;
}

const quern_count *quern_profile_totals(const struct quern_profile *p)
{
    for (size_t i = 0; i < p->event_count; i++)
        p->total_shown[i] = p->event[i].scale == 1 ? p->total[i] + p->total_nano[i] / NANO
                                                   : p->total[i] * NANO + p->total_nano[i];
    return p->total_shown;
}

size_t quern_profile_diag_count(const struct quern_profile *p)
{
    return p->diag_count;
}

const struct quern_diag *quern_profile_diag(const struct quern_profile *p, size_t i)
{
    return i < p->diag_count ? &p->diag[i] : NULL;
}
