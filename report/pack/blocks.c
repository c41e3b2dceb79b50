// SPDX-License-Identifier: MIT
//
// Closing a block deflates it, or passes it to the other thread (deflate.c).
#include "report/pack/blocks.h"

#include <stdlib.h>

#include "report/pack/deflate.h"

void blocks_init(struct blocks *b)
{
    *b = (struct blocks){ .level = 6, .count = 1, .cap = 64 };
    b->item = calloc(b->cap, sizeof(*b->item));
    b->failed = !b->item;
}

void blocks_wait(struct blocks *b)
{
    deflate_wait(b);
}

void blocks_put(struct buf *to, unsigned kind, const struct buf *payload)
{
    buf_byte(to, kind);
    buf_column(to, payload);
}

void blocks_free(struct blocks *b)
{
    deflate_end(b);
    for (size_t i = 0; b->item && i < b->count; i++)
        free(b->item[i].deflated);
    free(b->item);
    buf_free(&b->open);
    *b = (struct blocks){ 0 };
}

void blocks_close(struct blocks *b)
{
    b->failed |= b->open.failed; // even of an empty block
    if (b->open.size == 0 || b->failed)
        return;
    if (b->count == b->cap) {
        struct block *more = realloc(b->item, b->cap * 2 * sizeof(*more));
        if (!more) {
            b->failed = true;
            return;
        }
        b->item = more;
        b->cap *= 2;
    }
    b->failed |= b->open.failed || b->open.size > BLOCKS_MAX;
    b->now.size = b->open.size;
    if (!b->failed && !deflate_later(b, b->count)) {
        b->failed = !deflate_block(&b->now, &b->open, b->level);
        b->bytes += deflate_in_page(b->now.deflated_size);
    }
    b->item[b->count++] = b->now;
    b->now = (struct block){ 0 };
    b->open.size = 0;
}

void blocks_add(struct blocks *b, unsigned kind, uint32_t first, uint32_t end,
                const struct buf *payload)
{
    if (b->open.size + payload->size + 16 > BLOCKS_AIM)
        blocks_close(b);
    if (payload->size + 16 > BLOCKS_MAX)
        b->failed = true;
    if (end > first) {
        bool none = b->now.end == b->now.first;
        b->now.first = none || first < b->now.first ? first : b->now.first;
        b->now.end = end > b->now.end ? end : b->now.end;
    }
    b->now.kinds |= 1u << kind;
    blocks_put(&b->open, kind, payload);
}

void blocks_drop(struct blocks *b, size_t count)
{
    blocks_wait(b);
    while (b->count > count) {
        b->count--;
        b->bytes -= deflate_in_page(b->item[b->count].deflated_size);
        free(b->item[b->count].deflated);
    }
}

void blocks_first(struct blocks *b, const struct buf *bytes, uint32_t kinds, uint32_t end)
{
    struct block first = { .kinds = kinds, .end = end };

    free(b->item ? b->item[0].deflated : NULL);
    if (b->item && b->item[0].deflated) {
        b->bytes -= deflate_in_page(b->item[0].deflated_size);
        b->item[0].deflated = NULL;
    }
    if (b->failed || bytes->failed || bytes->size > BLOCKS_MAX ||
        !deflate_block(&first, bytes, b->level))
        b->failed = true;
    else
        b->item[0] = first;
    b->bytes += deflate_in_page(first.deflated_size);
}
