// SPDX-License-Identifier: MIT
// Direct jumps from fragment to fragment (links.h): one store each, while other threads run. A
// fragment lists the exits that lead to it.
#include "engine/codecache/links.h"

#include "engine/spool/spooler.h"

static void patch_rel32(u64 at, u64 target)
{
    __atomic_store_n((u32 *)at, (u32)(target - (at + 4)), __ATOMIC_RELEASE);
}

void links_make(struct fragment *from, u32 k, struct fragment *to)
{
    struct fragment_exit *x = &from->exit[k];

    if (x->to || ((from->flags | to->flags) & (FRAGMENT_DEAD | FRAGMENT_STEP)) ||
        (from->flags & (FRAGMENT_ALONE | FRAGMENT_REQUEST)))
        return;
    x->to = to;
    x->which = k;
    x->next_in = to->in;
    x->at_in = &to->in;
    if (to->in)
        to->in->at_in = &x->next_in;
    to->in = x;
    patch_rel32(from->hpc + x->rel32, to->hpc);
    spool->n_links++;
}

static u64 host_of(const struct fragment_exit *x)
{
    const struct fragment_exit *first = x - x->which;

    return ((const struct fragment *)((u64)first - offsetof(struct fragment, exit)))->hpc;
}

// Out of the list of those that lead to x->to, and back to its stub.
static void unlink_exit(struct fragment_exit *x)
{
    u64 hpc = host_of(x);

    *x->at_in = x->next_in;
    if (x->next_in)
        x->next_in->at_in = x->at_in;
    x->to = NULL;
    x->next_in = NULL;
    x->at_in = NULL;
    patch_rel32(hpc + x->rel32, hpc + x->stub);
}

void links_cut(struct fragment *f)
{
    while (f->in)
        unlink_exit(f->in);
    for (u32 i = 0; i < f->nexits; i++)
        if (f->exit[i].to)
            unlink_exit(&f->exit[i]);
}
