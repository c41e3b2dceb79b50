// SPDX-License-Identifier: MIT
//
// SipHash-2-4 with 128 bits (Aumasson, Bernstein, 2012): what it makes of some bytes nobody can
// foretell, or find other bytes for, who does not have the key. Pure arithmetic.
#ifndef QUERN_CLI_SIPHASH_H
#define QUERN_CLI_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

struct siphash {
    uint64_t v[4];
    uint64_t word; // the bytes of the last word that is not full, the first one lowest
    uint64_t size; // of all bytes
};

struct siphash_key {
    uint64_t k[2];
};

struct siphash_value {
    uint64_t v[2];
};

void siphash_begin(struct siphash *s, struct siphash_key key);
void siphash_add(struct siphash *s, const void *bytes, size_t n);
struct siphash_value siphash_end(struct siphash *s);

#endif
