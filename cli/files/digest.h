// SPDX-License-Identifier: MIT
//
// A digest of many bytes with a secret key, at several bytes in a cycle: XXH3 of xxHash, 128 bits,
// with a secret of its own. Not a cryptographic code: it is enough that whoever has neither the key
// nor a digest, and cannot test one, can only guess. For a user's own list of files (origin.c), not
// for what others see. Pure arithmetic.
#ifndef QUERN_CLI_DIGEST_H
#define QUERN_CLI_DIGEST_H

#include <stddef.h>

// xxHash as a header alone: the quick finisher is static and links no library for it.
#define XXH_INLINE_ALL
#include <xxhash.h>

struct digest_key {
    unsigned char bytes[192]; // XXH3_SECRET_DEFAULT_SIZE: as many as the library's own secret
};

struct digest {
    XXH3_state_t state;
    struct digest_key key; // the state points here: a digest must not be moved or copied
};

struct digest_value {
    unsigned char bytes[16];
};

void digest_begin(struct digest *d, const struct digest_key *key);
void digest_add(struct digest *d, const void *bytes, size_t n);
struct digest_value digest_end(const struct digest *d);

#endif
