// SPDX-License-Identifier: MIT
//
// Numbers in bytes, as docs/report-format.md defines them, read with a bound. After the end, or
// after a number that is too long, `bad` is set and every further read gives 0. So a caller checks
// once, at the end.
#ifndef QUERN_REPORT_CORE_BYTES_H
#define QUERN_REPORT_CORE_BYTES_H

#include "report/core/base.h"

struct bytes {
    const uint8_t *at, *end;
    bool bad;
};

static inline struct bytes bytes_of(const void *at, size_t size)
{
    return (struct bytes){ at, (const uint8_t *)at + size, false };
}

static inline void bytes_fail(struct bytes *b)
{
    b->bad = true;
    b->at = b->end;
}

static inline size_t bytes_left(const struct bytes *b)
{
    return (size_t)(b->end - b->at);
}

static inline core_bits bytes_wide(struct bytes *b)
{
    core_bits v = 0;

    for (unsigned shift = 0; b->at < b->end; shift += 7) {
        uint8_t byte = *b->at++;
        if (shift == 126 && byte > 3)
            break;
        v |= (core_bits)(byte & 127) << shift;
        if (byte < 128)
            return v;
        if (shift == 126)
            break;
    }
    bytes_fail(b);
    return 0;
}

// u
static inline uint64_t bytes_u(struct bytes *b)
{
    uint64_t v = 0;

    for (unsigned shift = 0; b->at < b->end; shift += 7) {
        uint8_t byte = *b->at++;
        if (shift == 63 && byte > 1)
            break;
        v |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return v;
    }
    bytes_fail(b);
    return 0;
}

// u of a number below 2^32 - 1
static inline uint32_t bytes_u32(struct bytes *b)
{
    uint64_t v = bytes_u(b);

    if (v < UINT32_MAX)
        return (uint32_t)v;
    bytes_fail(b);
    return 0;
}

// "None or n" of at most `limit` things: CORE_NONE or n.
static inline uint32_t bytes_ref(struct bytes *b, uint32_t limit)
{
    uint32_t v = bytes_u32(b);

    if (v <= limit)
        return v - 1;
    bytes_fail(b);
    return CORE_NONE;
}

static inline int64_t bytes_s(struct bytes *b)
{
    uint64_t v = bytes_u(b);

    return (int64_t)(v >> 1 ^ -(v & 1));
}

static inline core_count bytes_z(struct bytes *b)
{
    core_bits v = bytes_wide(b);

    return (core_count)(v >> 1 ^ -(v & 1));
}

// The next n bytes as something to read.
static inline struct bytes bytes_sub(struct bytes *b, uint64_t n)
{
    struct bytes sub = { b->at, b->at, false };

    if (n > bytes_left(b)) {
        bytes_fail(b);
        sub.at = sub.end = b->end;
        sub.bad = true;
        return sub;
    }
    b->at += n;
    sub.end = b->at;
    return sub;
}

// A text or a column: its length, then so many bytes.
static inline struct bytes bytes_text(struct bytes *b)
{
    return bytes_sub(b, bytes_u(b));
}

// Skips n numbers.
static inline void bytes_skip(struct bytes *b, uint64_t n)
{
    while (n > 0 && b->at < b->end)
        n -= *b->at++ < 128;
    if (n > 0)
        bytes_fail(b);
}

// ---- Counts: a mode, then a column ----

enum { COUNTS_ZERO, COUNTS_PLAIN, COUNTS_SIGNED };

struct counts {
    struct bytes b;
    unsigned mode;
};

static inline struct counts bytes_counts(struct bytes *b)
{
    struct counts c = { .b = { b->end, b->end, false } };

    if (b->at == b->end) {
        bytes_fail(b);
        return c;
    }
    c.mode = *b->at++;
    if (c.mode > COUNTS_SIGNED)
        bytes_fail(b);
    else if (c.mode != COUNTS_ZERO)
        c.b = bytes_text(b);
    return c;
}

static inline core_count counts_next(struct counts *c)
{
    if (c->mode == COUNTS_ZERO)
        return 0;
    if (c->b.at < c->b.end && *c->b.at < 128) { // one byte: most of them
        unsigned v = *c->b.at++;
        return c->mode == COUNTS_PLAIN ? (core_count)v : (core_count)(int)(v >> 1 ^ -(v & 1));
    }
    return c->mode == COUNTS_PLAIN ? (core_count)bytes_wide(&c->b) : bytes_z(&c->b);
}

// The next count if it fits 56 bits, as nearly all do; else false, and it is not consumed.
static inline bool counts_narrow(struct counts *c, int64_t *v)
{
    const uint8_t *at = c->b.at;
    uint64_t bits = 0;

    for (unsigned shift = 0; at < c->b.end && shift < 56; shift += 7) {
        uint8_t byte = *at++;
        bits |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) {
            c->b.at = at;
            *v = c->mode == COUNTS_PLAIN ? (int64_t)bits : (int64_t)(bits >> 1 ^ -(bits & 1));
            return true;
        }
    }
    return false;
}

static inline void counts_skip(struct counts *c, uint64_t n)
{
    if (c->mode != COUNTS_ZERO)
        bytes_skip(&c->b, n);
}

#endif
