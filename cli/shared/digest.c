// SPDX-License-Identifier: MIT
//
// The finisher digests each profile that it writes: SipHash alone took 33 us for the 90 KB of
// /bin/true's, 1.5 % of it (bench in docs/design/061-sources.md).
#include "cli/shared/digest.h"

#include <string.h>

void digest_begin(struct digest *d, struct siphash_key key)
{
    for (size_t i = 0; i < DIGEST_BLOCK / 8; i += 2) {
        struct siphash s;
        uint64_t number = i;

        siphash_begin(&s, key);
        siphash_add(&s, &number, sizeof(number));
        struct siphash_value v = siphash_end(&s);
        memcpy(d->key + i, v.v, sizeof(v.v));
    }
    siphash_begin(&d->blocks, key);
    d->fill = 0;
    d->size = 0;
}

static void add_block(struct digest *d, const unsigned char *at)
{
    unsigned __int128 sum = 0;

    for (size_t i = 0; i < DIGEST_BLOCK / 8; i += 2) {
        uint64_t a, b;

        memcpy(&a, at + i * 8, 8);
        memcpy(&b, at + i * 8 + 8, 8);
        sum += (unsigned __int128)(a + d->key[i]) * (b + d->key[i + 1]);
    }
    siphash_add(&d->blocks, &sum, sizeof(sum));
}

void digest_add(struct digest *d, const void *bytes, size_t n)
{
    const unsigned char *at = bytes;

    d->size += n;
    while (n > 0) {
        if (d->fill == 0 && n >= DIGEST_BLOCK) {
            add_block(d, at);
            at += DIGEST_BLOCK;
            n -= DIGEST_BLOCK;
            continue;
        }
        size_t some = DIGEST_BLOCK - d->fill < n ? DIGEST_BLOCK - d->fill : n;
        memcpy(d->block + d->fill, at, some);
        d->fill += some;
        at += some;
        n -= some;
        if (d->fill == DIGEST_BLOCK) {
            add_block(d, d->block);
            d->fill = 0;
        }
    }
}

struct siphash_value digest_end(struct digest *d)
{
    // What is missing at the end is zeros; the size tells them from zeros that are there.
    if (d->fill > 0) {
        memset(d->block + d->fill, 0, DIGEST_BLOCK - d->fill);
        add_block(d, d->block);
    }
    siphash_add(&d->blocks, &d->size, sizeof(d->size));
    return siphash_end(&d->blocks);
}
