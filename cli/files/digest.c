// SPDX-License-Identifier: MIT
//
// The finisher digests each profile that it writes (origin.c). docs/design/061-sources.md compares
// the cost of several digests.
#include "cli/files/digest.h"

#include <string.h>

_Static_assert(sizeof(struct digest_key) >= XXH3_SECRET_SIZE_MIN, "what XXH3 asks for");

void digest_begin(struct digest *d, const struct digest_key *key)
{
    d->key = *key;
    XXH3_INITSTATE(&d->state);
    XXH3_128bits_reset_withSecret(&d->state, d->key.bytes, sizeof(d->key.bytes));
}

void digest_add(struct digest *d, const void *bytes, size_t n)
{
    XXH3_128bits_update(&d->state, bytes, n);
}

// In the library's own order of bytes, which is the same everywhere.
struct digest_value digest_end(const struct digest *d)
{
    XXH128_canonical_t canonical;
    struct digest_value v;

    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&d->state));
    memcpy(v.bytes, canonical.digest, sizeof(v.bytes));
    return v;
}
