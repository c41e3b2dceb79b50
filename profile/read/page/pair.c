// SPDX-License-Identifier: MIT
//
// Replaces ../pair.c in a page, which has one thread.
#include "profile/read/pair.h"

#include "profile/read/lines.h"

void pair_begin(struct reader *r)
{
    r->pair = NULL;
}

size_t pair_bytes(const struct reader *r)
{
    return r->opts->pair_bytes;
}

void pair_read(struct reader *r, const char *s, const char *end)
{
    lines_read(r, s, end);
}

void pair_end(struct reader *r)
{
    r->pair = NULL;
}
