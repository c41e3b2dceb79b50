// SPDX-License-Identifier: MIT
//
// Sections gathered into blocks, each deflated, with its CRC: what docs/report-format.md calls a
// block. Large ones are deflated by another thread, while the next ones are made: deflating takes
// more than a third of the time that writing a report takes.
#ifndef QUERN_REPORT_PACK_BLOCKS_H
#define QUERN_REPORT_PACK_BLOCKS_H

#include "report/pack/buf.h"

enum {
    BLOCKS_AIM = 1 << 20,         // a block of this size is closed
    BLOCKS_MAX = 4 << 20,         // the limit of a block
    BLOCKS_FIRST_MAX = 256 << 10, // block 0
};

struct block {
    uint8_t *deflated;
    size_t deflated_size, size;
    uint32_t crc;
    uint32_t kinds;
    uint32_t first, end; // functions
};

struct blocks {
    struct block *item; // [0] is made last
    size_t count, cap;
    struct buf open;
    struct block now;      // facts of `open`
    int level;             // of deflate
    size_t bytes;          // of all blocks that are deflated, as base64
    size_t bound;          // what the others have at most
    struct helper *helper; // the other thread; NULL: not started, or not possible
    bool alone;            // start no other thread
    bool failed;           // no memory, or a section larger than a block
};

void blocks_init(struct blocks *b);
void blocks_free(struct blocks *b);

// Adds a section about functions first to end (0, 0: about none). Closes the open block when it is
// full.
void blocks_add(struct blocks *b, unsigned kind, uint32_t first, uint32_t end,
                const struct buf *payload);
// The same into a buffer.
void blocks_put(struct buf *to, unsigned kind, const struct buf *payload);
// Closes the open block unless it is empty.
void blocks_close(struct blocks *b);
// Waits until all blocks are deflated: only then can they be written, and `bytes` is exact.
void blocks_wait(struct blocks *b);
// Drops the blocks from number `count` on.
void blocks_drop(struct blocks *b, size_t count);
// Replaces block 0 by these bytes.
void blocks_first(struct blocks *b, const struct buf *bytes, uint32_t kinds, uint32_t end);

#endif
