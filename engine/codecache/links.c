// SPDX-License-Identifier: MIT
// Direct jumps from fragment to fragment (links.h): one store each, while other threads run. A
// fragment lists the exits that lead to it.
#include "engine/codecache/links.h"

#include "engine/spool/spooler.h"

static void patch_rel32(u64 at, u64 target)
{
    __atomic_store_n((u32 *)at, (u32)(target - (at + 4)), __ATOMIC_RELEASE);
}

static void lead(struct fragment_exit *x, struct fragment *to)
{
    x->to = to;
    x->next_in = to->in;
    x->at_in = &to->in;
    if (to->in)
        to->in->at_in = &x->next_in;
    to->in = x;
    patch_rel32(x->of->hpc + x->rel32, fragment_entry(to));
}

void links_make(struct fragment *from, u32 k, struct fragment *to)
{
    struct fragment_exit *x = &from->exit[k];

    if (x->to || ((from->flags | to->flags) & (FRAGMENT_DEAD | FRAGMENT_STEP)) ||
        (from->flags & (FRAGMENT_ALONE | FRAGMENT_REQUEST)))
        return;
    lead(x, to);
    spool->n_links++;
}

void links_move(struct fragment *from, struct fragment *to)
{
    while (from->in) {
        struct fragment_exit *x = from->in;

        from->in = x->next_in;
        if (x->next_in)
            x->next_in->at_in = &from->in;
        lead(x, to);
    }
}

void links_again(struct fragment *f)
{
    for (struct fragment_exit *x = f->in; x; x = x->next_in)
        patch_rel32(x->of->hpc + x->rel32, fragment_entry(f));
}

// Out of the list of those that lead to x->to, and back to its stub.
static void unlink_exit(struct fragment_exit *x)
{
    u64 hpc = x->of->hpc;

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
