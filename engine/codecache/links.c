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

    if (x->to || ((from->flags | to->flags) & (FRAGMENT_DEAD | FRAGMENT_STEP)))
        return;
    x->to = to;
    x->next_in = to->in;
    x->next_in_exit = to->in_exit;
    to->in = from;
    to->in_exit = k;
    patch_rel32(from->hpc + x->rel32, to->hpc);
    spool->n_links++;
}

static void unlink_in(struct fragment *f)
{
    struct fragment *g = f->in;
    u32 k = f->in_exit;

    while (g) {
        struct fragment_exit *x = &g->exit[k];

        patch_rel32(g->hpc + x->rel32, g->hpc + x->stub);
        g = x->next_in;
        k = x->next_in_exit;
        x->to = NULL;
        x->next_in = NULL;
    }
    f->in = NULL;
}

static void unlink_out(struct fragment *f)
{
    for (u32 i = 0; i < f->nexits; i++) {
        struct fragment_exit *x = &f->exit[i];
        struct fragment **g, *to = x->to;
        u32 *k;

        if (!to)
            continue;
        g = &to->in;
        k = &to->in_exit;
        while (*g && !(*g == f && *k == i)) {
            struct fragment_exit *y = &(*g)->exit[*k];

            g = &y->next_in;
            k = &y->next_in_exit;
        }
        if (*g) {
            *g = x->next_in;
            *k = x->next_in_exit;
        }
        x->to = NULL;
        x->next_in = NULL;
        patch_rel32(f->hpc + x->rel32, f->hpc + x->stub);
    }
}

void links_cut(struct fragment *f)
{
    unlink_in(f);
    unlink_out(f);
}
