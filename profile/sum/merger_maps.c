// SPDX-License-Identifier: MIT
//
// Maps the names of one profile to those of another; each is rewritten and looked up once.
#include "profile/sum/merger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int merger_maps_new(struct merger_maps *maps, const struct quern_profile *p)
{
    size_t ns = (p->str.count + 1) * sizeof(uint32_t), nf = (p->func_count + 1) * sizeof(uint32_t);

    *maps = (struct merger_maps){ malloc(ns), malloc(ns), malloc(ns), malloc(nf), 0, false };
    if (!maps->file || !maps->name || !maps->other || !maps->func)
        return -ENOMEM;
    memset(maps->file, 0xff, ns);
    memset(maps->name, 0xff, ns);
    memset(maps->other, 0xff, ns);
    memset(maps->func, 0xff, nf);
    return 0;
}

void merger_maps_free(struct merger_maps *maps)
{
    free(maps->file);
    free(maps->name);
    free(maps->other);
    free(maps->func);
}

// A table's answer; QUERN_NONE means something else in a profile.
static uint32_t added(struct merger_maps *maps, uint32_t number)
{
    maps->failed |= number == QUERN_NONE;
    return number;
}

static uint32_t map_string(struct quern_profile *dst, const struct quern_profile *p, uint32_t s,
                           uint32_t *map, const struct quern_rewrite *rw, struct merger_maps *maps)
{
    if (s == QUERN_NONE)
        return QUERN_NONE;
    if (map[s] != QUERN_NONE)
        return map[s];
    if (!rw)
        return map[s] = added(maps, strset_add(&dst->str, p->str.text[s], p->str.len[s]));
    char *text = quern_rewrite_apply(rw, p->str.text[s]);
    if (!text) {
        if (errno == EINVAL)
            maps->bad = s + 1;
        else
            maps->failed = true;
        return QUERN_NONE;
    }
    map[s] = added(maps, strset_add(&dst->str, text, strlen(text)));
    free(text);
    return map[s];
}

uint32_t merger_map_file(struct quern_profile *dst, const struct quern_profile *p, uint32_t s,
                         const struct fold *f, struct merger_maps *maps)
{
    return map_string(dst, p, s, maps->file, f->file, maps);
}

uint32_t merger_map_func(struct quern_profile *dst, const struct quern_profile *p, uint32_t func,
                         const struct fold *f, struct merger_maps *maps)
{
    if (maps->func[func] != QUERN_NONE)
        return maps->func[func];
    struct quern_func g = p->func[func];
    g.object =
        f->flags & FOLD_OBJECT ? QUERN_NONE : map_string(dst, p, g.object, maps->other, NULL, maps);
    g.file = merger_map_file(dst, p, g.file, f, maps);
    g.name = map_string(dst, p, g.name, maps->name, f->func, maps);
    return maps->func[func] = added(maps, quern_profile_func(dst, g.object, g.file, g.name));
}

uint32_t merger_map_func_in(struct quern_profile *dst, const struct quern_profile *p, uint32_t func,
                            uint32_t file, const struct fold *f, struct merger_maps *maps)
{
    uint32_t name = map_string(dst, p, p->func[func].name, maps->name, f->func, maps);

    return added(maps, quern_profile_func(dst, QUERN_NONE, file, name));
}
