// SPDX-License-Identifier: MIT
//
// A growing buffer of bytes, and numbers in the encoding of docs/report-format.md. When memory runs
// out, the buffer records that and ignores further data; the caller asks once at the end.
#ifndef QUERN_REPORT_PACK_BUF_H
#define QUERN_REPORT_PACK_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct buf {
    uint8_t *at;
    size_t size, cap;
    bool failed;
};

__extension__ typedef __int128 buf_count;
__extension__ typedef unsigned __int128 buf_bits;

bool buf_room(struct buf *b, size_t n);
void buf_free(struct buf *b);

static inline void buf_byte(struct buf *b, unsigned byte)
{
    if (b->size < b->cap || buf_room(b, 1))
        b->at[b->size++] = (uint8_t)byte;
}

static inline void buf_bytes(struct buf *b, const void *bytes, size_t n)
{
    if (n && buf_room(b, n)) {
        memcpy(b->at + b->size, bytes, n);
        b->size += n;
    }
}

static inline void buf_u(struct buf *b, uint64_t v)
{
    for (; v >= 128; v >>= 7)
        buf_byte(b, (unsigned)v | 128);
    buf_byte(b, (unsigned)v);
}

static inline void buf_wide(struct buf *b, buf_bits v)
{
    for (; v != (uint64_t)v; v >>= 7)
        buf_byte(b, (unsigned)v | 128);
    buf_u(b, (uint64_t)v);
}

static inline void buf_s(struct buf *b, int64_t v)
{
    buf_u(b, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

static inline void buf_z(struct buf *b, buf_count v)
{
    buf_wide(b, (buf_bits)v << 1 ^ (buf_bits)(v >> 127));
}

static inline void buf_text(struct buf *b, const void *bytes, size_t n)
{
    buf_u(b, n);
    buf_bytes(b, bytes, n);
}

static inline void buf_column(struct buf *b, const struct buf *column)
{
    buf_text(b, column->at, column->size);
    b->failed |= column->failed;
}

// n counts, `stride` apart: a mode, then a column.
void buf_counts(struct buf *b, const buf_count *v, size_t n, size_t stride);

// The bytes that buf_z() wrote.
static inline buf_count buf_read_z(const uint8_t **at)
{
    buf_bits v = 0;
    unsigned shift = 0;

    if (**at < 128) { // most of them
        unsigned small = *(*at)++;
        return (int)(small >> 1) ^ -(int)(small & 1);
    }
    for (; **at >= 128; shift += 7)
        v |= (buf_bits)(*(*at)++ & 127) << shift;
    v |= (buf_bits) * (*at)++ << shift;
    return (buf_count)(v >> 1 ^ -(v & 1));
}

#endif
