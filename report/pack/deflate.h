// SPDX-License-Identifier: MIT
//
// Compression of a block's bytes, called by blocks.c. For a report they are deflated, partly by
// another thread (deflate.c); in the page, which reads them itself, they stay uncompressed
// (report/reader/stored.c).
#ifndef QUERN_REPORT_PACK_DEFLATE_H
#define QUERN_REPORT_PACK_DEFLATE_H

#include "report/pack/blocks.h"

bool deflate_block(struct block *to, const struct buf *from, int level);
// Passes the open block (number `index`) to the other thread. False: its queue is full.
bool deflate_later(struct blocks *b, size_t index);
// Waits for all blocks that were passed.
void deflate_wait(struct blocks *b);
void deflate_end(struct blocks *b);

// Bytes of a block's element in the page.
static inline size_t deflate_in_page(size_t deflated)
{
    return (deflated + 2) / 3 * 4 + 100;
}

#endif
