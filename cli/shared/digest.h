// SPDX-License-Identifier: MIT
//
// A digest of many bytes with a secret key, at several bytes in a cycle: NH of UMAC (Black, Halevi,
// Krawczyk, Krovetz, Rogaway, 1999; RFC 4418) over each block, SipHash over what that makes of the
// blocks. Who has neither the key nor a digest finds other bytes with the same one with a chance of
// 2^-64 for each attempt. Pure arithmetic.
#ifndef QUERN_CLI_DIGEST_H
#define QUERN_CLI_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include "cli/shared/siphash.h"

enum { DIGEST_BLOCK = 1024 };

struct digest {
    struct siphash blocks;
    uint64_t key[DIGEST_BLOCK / 8];
    unsigned char block[DIGEST_BLOCK];
    size_t fill; // of it
    uint64_t size;
};

void digest_begin(struct digest *d, struct siphash_key key);
void digest_add(struct digest *d, const void *bytes, size_t n);
struct siphash_value digest_end(struct digest *d);

#endif
