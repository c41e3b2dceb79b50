// SPDX-License-Identifier: MIT
//
// Numbers in 7 bits a byte, low ones first, the top bit set in all bytes but the last: the elements
// of the record stream. Only this file knows the encoding; readers encode with the inline parts.
//
// put_*: write at o, where the caller has made space, and return the byte after the number.
// get_*: read at i, where a complete number must be, and return the byte after it.
#ifndef QUERN_PROFILE_VARINT_H
#define QUERN_PROFILE_VARINT_H

#include <stddef.h>
#include <stdint.h>

#include "quern/profile.h"

#define VARINT_MAX      10 // bytes of a 64-bit number at most
#define VARINT_WIDE_MAX 19 // of a 128-bit one

static inline uint8_t *put_varint(uint8_t *o, uint64_t v)
{
    while (v >= 0x80) {
        *o++ = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    *o++ = (uint8_t)v;
    return o;
}

static inline const uint8_t *get_varint(const uint8_t *i, uint64_t *v)
{
    uint64_t x = *i++, shift = 7;

    if (__builtin_expect(x < 0x80, 1)) {
        *v = x;
        return i;
    }
    x &= 0x7f;
    for (;; shift += 7) {
        uint64_t b = *i++;
        x |= (b & 0x7f) << shift;
        if (b < 0x80)
            break;
    }
    *v = x;
    return i;
}

static inline const uint8_t *get_varint32(const uint8_t *i, uint32_t *v)
{
    uint64_t x;

    i = get_varint(i, &x);
    *v = (uint32_t)x;
    return i;
}

// Skips n numbers of any width.
static inline const uint8_t *skip_varints(const uint8_t *i, size_t n)
{
    for (; n > 0; i++)
        n -= *i < 0x80;
    return i;
}

// Difference of two positions, wrapping on purpose: positions are 64 bits, so any difference is.
// The sign is the lowest bit ("zigzag"), so small differences are short in both directions.
static inline uint8_t *put_delta(uint8_t *o, uint64_t now, uint64_t before)
{
    uint64_t d = now - before;

    return put_varint(o, d << 1 ^ (0 - (d >> 63)));
}

// *pos is the position before and becomes the current one.
static inline const uint8_t *get_delta(const uint8_t *i, uint64_t *pos)
{
    uint64_t z;

    i = get_varint(i, &z);
    *pos += z >> 1 ^ (0 - (z & 1));
    return i;
}

// A signed number of 128 bits, zigzag.
static inline uint8_t *put_varint_wide(uint8_t *o, quern_count v)
{
    unsigned __int128 z = (unsigned __int128)v << 1 ^ (unsigned __int128)(v >> 127);

    while (z >= 0x80) {
        *o++ = (uint8_t)(z | 0x80);
        z >>= 7;
    }
    *o++ = (uint8_t)z;
    return o;
}

static inline const uint8_t *get_varint_wide(const uint8_t *i, quern_count *v)
{
    unsigned __int128 z = 0;

    for (unsigned shift = 0;; shift += 7) {
        uint8_t b = *i++;
        z |= (unsigned __int128)(b & 0x7f) << shift;
        if (b < 0x80)
            break;
    }
    *v = (quern_count)(z >> 1 ^ (0 - (z & 1)));
    return i;
}

#endif
