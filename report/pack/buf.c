// SPDX-License-Identifier: MIT
//
// The buffer of buf.h.
#include "report/pack/buf.h"

#include <stdlib.h>

bool buf_room(struct buf *b, size_t n)
{
    if (b->failed)
        return false;
    if (b->cap - b->size >= n)
        return true;
    size_t cap = b->cap + b->cap / 2 + n + 64;
    uint8_t *at = realloc(b->at, cap);
    if (!at) {
        b->failed = true;
        return false;
    }
    b->at = at;
    b->cap = cap;
    return true;
}

void buf_free(struct buf *b)
{
    free(b->at);
    *b = (struct buf){ 0 };
}

void buf_counts(struct buf *b, const buf_count *v, size_t n, size_t stride)
{
    struct buf column = { 0 };
    bool zero = true, negative = false;

    for (size_t i = 0; i < n; i++) {
        zero &= v[i * stride] == 0;
        negative |= v[i * stride] < 0;
    }
    if (zero) {
        buf_byte(b, 0);
        return;
    }
    for (size_t i = 0; i < n; i++)
        if (negative)
            buf_z(&column, v[i * stride]);
        else
            buf_wide(&column, (buf_bits)v[i * stride]);
    buf_byte(b, negative ? 2 : 1);
    buf_column(b, &column);
    buf_free(&column);
}
