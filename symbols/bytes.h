// SPDX-License-Identifier: MIT
//
// Reads the numbers and strings of debug information in memory, in order, never past its end. Used
// by linetab.c and dwp.c.
#ifndef QUERN_SYMBOLS_BYTES_H
#define QUERN_SYMBOLS_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// A read past the end gives 0 and sets `bad`.
struct bytes {
    const unsigned char *p, *end;
    bool bad;
};

static inline uint64_t bytes_get(struct bytes *r, unsigned size)
{
    uint64_t v = 0;

    if ((size_t)(r->end - r->p) < size) {
        r->bad = true;
        r->p = r->end;
        return 0;
    }
    memcpy(&v, r->p, size);
    r->p += size;
    return v;
}

static inline uint64_t bytes_uleb(struct bytes *r)
{
    uint64_t v = 0;

    if (r->p < r->end && *r->p < 0x80)
        return *r->p++;

    for (unsigned shift = 0; r->p < r->end; shift += 7) {
        unsigned char byte = *r->p++;

        if (shift < 64)
            v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return v;
    }
    r->bad = true;
    return 0;
}

static inline int64_t bytes_sleb(struct bytes *r)
{
    uint64_t v = 0;

    for (unsigned shift = 0; r->p < r->end;) {
        unsigned char byte = *r->p++;

        if (shift < 64)
            v |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (!(byte & 0x80)) {
            if ((byte & 0x40) && shift < 64)
                v |= ~UINT64_C(0) << shift;
            return (int64_t)v;
        }
    }
    r->bad = true;
    return 0;
}

static inline const char *bytes_string(struct bytes *r)
{
    const char *s = (const char *)r->p;
    const unsigned char *nul = memchr(r->p, '\0', (size_t)(r->end - r->p));

    if (!nul) {
        r->bad = true;
        r->p = r->end;
        return "";
    }
    r->p = nul + 1;
    return s;
}

#endif
