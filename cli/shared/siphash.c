// SPDX-License-Identifier: MIT
//
// Words are read as x86-64 has them, the lowest byte first, which is what SipHash says.
#include "cli/shared/siphash.h"

#include <string.h>

static uint64_t rotate(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

static void mix(uint64_t v[4], int rounds)
{
    while (rounds--) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotate(v[1], 13) ^ v[0];
        v[3] = rotate(v[3], 16) ^ v[2];
        v[0] = rotate(v[0], 32) + v[3];
        v[2] += v[1];
        v[1] = rotate(v[1], 17) ^ v[2];
        v[3] = rotate(v[3], 21) ^ v[0];
        v[2] = rotate(v[2], 32);
    }
}

static void take(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    mix(v, 2);
    v[0] ^= word;
}

void siphash_begin(struct siphash *s, struct siphash_key key)
{
    *s = (struct siphash){ .v = {
                               key.k[0] ^ UINT64_C(0x736f6d6570736575),
                               key.k[1] ^ UINT64_C(0x646f72616e646f6d) ^ 0xee,
                               key.k[0] ^ UINT64_C(0x6c7967656e657261),
                               key.k[1] ^ UINT64_C(0x7465646279746573),
                           } };
}

void siphash_add(struct siphash *s, const void *bytes, size_t n)
{
    const unsigned char *at = bytes, *end = at + n;
    uint64_t v[4], word;

    memcpy(v, s->v, sizeof(v)); // in registers
    while (at < end) {
        if (s->size % 8 == 0 && end - at >= 8) {
            memcpy(&word, at, 8);
            take(v, word);
            at += 8;
            s->size += 8;
            continue;
        }
        s->word |= (uint64_t)*at++ << s->size % 8 * 8;
        if (++s->size % 8 == 0) {
            take(v, s->word);
            s->word = 0;
        }
    }
    memcpy(s->v, v, sizeof(v));
}

struct siphash_value siphash_end(struct siphash *s)
{
    struct siphash_value out;

    take(s->v, s->word | s->size << 56);
    for (int i = 0; i < 2; i++) {
        s->v[i ? 1 : 2] ^= i ? 0xdd : 0xee;
        mix(s->v, 4);
        out.v[i] = s->v[0] ^ s->v[1] ^ s->v[2] ^ s->v[3];
    }
    return out;
}
