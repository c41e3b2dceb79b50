// SPDX-License-Identifier: MIT
// Packed fragments (pack.h): a struct fragment, its further blocks, then what its pointers point
// to.
#include "engine/codecache/pack.h"

#include "engine/base/nolibc.h"
#include "engine/codecache/region.h"
#include "engine/codecache/tcache.h"

static u64 more_bytes(const struct fragment *f)
{
    return f->nmore * sizeof(*f->more);
}

// From the exits on.
static u64 tail_bytes(const struct fragment *f)
{
    u64 n = f->nexits * sizeof(*f->exit) + f->npages * sizeof(u32) +
            f->nrecipes * sizeof(struct recipe) + f->nrelocs * sizeof(u16) + f->ninsns;

    return (n + 7) & ~7ul;
}

u64 pack_bytes(const struct fragment *f)
{
    return sizeof(*f) + more_bytes(f) + tail_bytes(f);
}

static void set_rel32(const struct fragment *f, u8 *code, u32 at, u64 target)
{
    u64 host = f->hpc + at;
    u32 disp = (u32)(target - (host + 4));

    memcpy(code + (host - region_fragments()), &disp, sizeof(disp));
}

static void pack_exit(const struct fragment *f, struct fragment_exit *x, u8 *code,
                      bool (*keep)(const struct fragment *to))
{
    const struct fragment *to = x->to ? tcache_by_index(x->to - 1u) : NULL;

    x->next_in = x->before_in = 0;
    if (to && keep(to)) {
        set_rel32(f, code, x->rel32, to->hpc); // not fragment_entry(): none is watched in the file
        return;
    }
    x->to = 0;
    set_rel32(f, code, x->rel32, f->hpc + x->stub);
}

void pack(const struct fragment *f, u8 *to, u8 *code, bool (*keep)(const struct fragment *to))
{
    struct fragment *p = (struct fragment *)to;
    u8 *tail = to + sizeof(*f) + more_bytes(f);
    struct fragment_exit *exit = (struct fragment_exit *)tail;

    *p = *f;
    p->hash_next = p->in = 0;
    p->seen = 0;
    p->flags = (u8)((f->flags & ~(u32)(FRAGMENT_WATCHED | FRAGMENT_PAST)) | FRAGMENT_DEAD);
    p->more = NULL;
    p->exit = NULL;
    if (f->nmore)
        memcpy(to + sizeof(*f), f->more, more_bytes(f));
    memcpy(tail, f->exit,
           f->nexits * sizeof(*f->exit) + f->npages * sizeof(u32) +
               f->nrecipes * sizeof(struct recipe) + f->nrelocs * sizeof(u16) + f->ninsns);
    for (u32 i = 0; i < f->nexits; i++)
        pack_exit(f, &exit[i], code, keep);
}

static bool exits_are_sound(const struct fragment *f, u32 all)
{
    const struct fragment_exit *x = f->exit;

    for (u32 i = 0; i < f->nexits; i++) {
        if (x[i].to > all || x[i].rel32 + 4u > f->size || x[i].stub >= f->size)
            return false;
    }
    return true;
}

static bool code_is_sound(const struct fragment *f, u64 hpc, u64 code_bytes)
{
    u64 at = hpc - region_fragments();
    u32 last = f->watch > f->sc_jmp ? f->watch : f->sc_jmp;

    for (u32 i = 0; i < ARRAY_SIZE(f->ibl_jmp); i++)
        last = f->ibl_jmp[i] > last ? f->ibl_jmp[i] : last;
    return f->hpc == hpc && f->size <= FRAGMENT_MAX && at <= code_bytes &&
           f->size <= code_bytes - at && (!last || last < f->size);
}

// Checks the fragment that pack_undo() will make, as if it were alive: its list of pages has the
// length that tcache.c computes, and nothing leads to it.
bool pack_is_sound(const u8 *at, u64 room, u32 index, u32 all, u64 hpc, u64 code_bytes)
{
    const u32 unlike = FRAGMENT_DEAD | FRAGMENT_WATCHED | FRAGMENT_PAST;
    struct fragment f;

    if (room < sizeof(f))
        return false;
    memcpy(&f, at, sizeof(f));
    if (pack_bytes(&f) > room || f.nmore >= FRAGMENT_BLOCKS_MAX)
        return false;
    f.more = (struct fragment_block *)(at + sizeof(f));
    f.exit = (struct fragment_exit *)(at + sizeof(f) + more_bytes(&f));
    return f.index == index && (f.flags & unlike) == FRAGMENT_DEAD && !f.in &&
           f.nexits <= FRAGMENT_EXITS_MAX && f.ninsns <= FRAGMENT_INSNS_MAX &&
           f.npages == tcache_pages(&f) && code_is_sound(&f, hpc, code_bytes) &&
           exits_are_sound(&f, all);
}

struct fragment *pack_undo(u8 *at)
{
    struct fragment *f = (struct fragment *)at;

    f->more = (struct fragment_block *)(at + sizeof(*f));
    f->exit = (struct fragment_exit *)(at + sizeof(*f) + more_bytes(f));
    return f;
}
