// SPDX-License-Identifier: MIT
//
// Closing a block is deflating it: nothing of it is kept inflated.
#include "report/pack/blocks.h"

#include <stdlib.h>
#include <zlib.h>

void blocks_init(struct blocks *b)
{
    *b = (struct blocks){ .level = 6, .count = 1, .cap = 64 };
    b->item = calloc(b->cap, sizeof(*b->item));
    b->failed = !b->item;
}

void blocks_free(struct blocks *b)
{
    for (size_t i = 0; b->item && i < b->count; i++)
        free(b->item[i].deflated);
    free(b->item);
    buf_free(&b->open);
    *b = (struct blocks){ 0 };
}

static bool deflate_block(struct block *to, const struct buf *from, int level)
{
    z_stream z = { 0 };

    if (deflateInit2(&z, level, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    size_t cap = deflateBound(&z, from->size);
    to->deflated = malloc(cap + 1);
    z.next_in = from->at;
    z.avail_in = (uInt)from->size;
    z.next_out = to->deflated;
    z.avail_out = (uInt)cap;
    bool ok = to->deflated && deflate(&z, Z_FINISH) == Z_STREAM_END;
    to->deflated_size = z.total_out;
    to->size = from->size;
    to->crc = (uint32_t)crc32(0, from->at, (uInt)from->size);
    deflateEnd(&z);
    return ok;
}

void blocks_put(struct buf *to, unsigned kind, const struct buf *payload)
{
    buf_byte(to, kind);
    buf_column(to, payload);
}

void blocks_close(struct blocks *b)
{
    b->failed |= b->open.failed; // with nothing in it, perhaps
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
    if (b->open.failed || b->open.size > BLOCKS_MAX || !deflate_block(&b->now, &b->open, b->level))
        b->failed = true;
    b->bytes += (b->now.deflated_size + 2) / 3 * 4 + 100; // with its element
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

void blocks_drop(struct blocks *b, size_t count, size_t bytes)
{
    while (b->count > count)
        free(b->item[--b->count].deflated);
    b->bytes = bytes;
}

void blocks_first(struct blocks *b, const struct buf *bytes, uint32_t kinds, uint32_t end)
{
    struct block first = { .kinds = kinds, .end = end };

    free(b->item ? b->item[0].deflated : NULL);
    if (b->item && b->item[0].deflated) {
        b->bytes -= (b->item[0].deflated_size + 2) / 3 * 4 + 100;
        b->item[0].deflated = NULL;
    }
    if (b->failed || bytes->failed || bytes->size > BLOCKS_MAX ||
        !deflate_block(&first, bytes, b->level))
        b->failed = true;
    else
        b->item[0] = first;
    b->bytes += (first.deflated_size + 2) / 3 * 4 + 100;
}
