// SPDX-License-Identifier: MIT
// Links (links.h): patching is one store, while other threads run. Each fragment has a list of the
// exits that lead to it.
#include "engine/codecache/links.h"

#include "engine/spool/spooler.h"

static void patch_rel32(u64 at, u64 target)
{
    __atomic_store_n((u32 *)at, (u32)(target - (at + 4)), __ATOMIC_RELEASE);
}

struct fragment **links_table;

// The fragment of an exit, and the exit's index in it.
static struct fragment *owner_of(u32 number, u32 *k)
{
    *k = (number - 1) % FRAGMENT_EXITS_MAX;
    return links_table[(number - 1) / FRAGMENT_EXITS_MAX];
}

static struct fragment_exit *exit_at(u32 number)
{
    u32 k;
    struct fragment *f = owner_of(number, &k);

    return &f->exit[k];
}

// Enters exit k into the list of `to`.
static void list(struct fragment *from, u32 k, struct fragment *to)
{
    struct fragment_exit *x = &from->exit[k];
    u32 number = fragment_exit_id(from->index, k) + 1;

    x->to = (to->index + 1) & 0x7fffffff;
    x->next_in = to->in;
    x->before_in = 0;
    if (to->in)
        exit_at(to->in)->before_in = number;
    to->in = number;
}

static void link_exit(struct fragment *from, u32 k, struct fragment *to)
{
    list(from, k, to);
    patch_rel32(from->hpc + from->exit[k].rel32, fragment_entry(to));
}

void links_list(struct fragment *from)
{
    for (u32 k = 0; k < from->nexits; k++) {
        if (from->exit[k].to)
            list(from, k, links_table[from->exit[k].to - 1]);
    }
}

void links_make(struct fragment *from, u32 k, struct fragment *to)
{
    if (from->exit[k].to || ((from->flags | to->flags) & (FRAGMENT_DEAD | FRAGMENT_STEP)) ||
        (from->flags & (FRAGMENT_ALONE | FRAGMENT_REQUEST)) ||
        (fragment_has_versions(from) && k + 1u == from->nexits))
        return;
    link_exit(from, k, to);
    spool->n_links++;
}

void links_version(struct fragment *from, struct fragment *to)
{
    link_exit(from, from->nexits - 1u, to);
    spool->n_links++;
}

// Removes the exit from the list of its target.
static void unlist(struct fragment_exit *x)
{
    if (x->before_in)
        exit_at(x->before_in)->next_in = x->next_in;
    else
        links_table[x->to - 1]->in = x->next_in;
    if (x->next_in)
        exit_at(x->next_in)->before_in = x->before_in;
    x->to = 0;
    x->next_in = x->before_in = 0;
}

void links_move(struct fragment *from, struct fragment *to)
{
    while (from->in) {
        u32 k;
        struct fragment *f = owner_of(from->in, &k);

        unlist(&f->exit[k]);
        link_exit(f, k, to);
    }
}

void links_repatch(struct fragment *f)
{
    for (u32 number = f->in; number;) {
        u32 k;
        const struct fragment *from = owner_of(number, &k);

        patch_rel32(from->hpc + from->exit[k].rel32, fragment_entry(f));
        number = from->exit[k].next_in;
    }
}

static void unlink_exit(struct fragment *f, u32 k)
{
    struct fragment_exit *x = &f->exit[k];

    unlist(x);
    patch_rel32(f->hpc + x->rel32, f->hpc + x->stub);
}

void links_cut(struct fragment *f)
{
    while (f->in) {
        u32 k;
        struct fragment *from = owner_of(f->in, &k);

        unlink_exit(from, k);
    }
    for (u32 i = 0; i < f->nexits; i++)
        if (f->exit[i].to)
            unlink_exit(f, i);
}
