// SPDX-License-Identifier: MIT
//
// What the kernels and pairs of the machine's bench share: random numbers, the only argument, and
// the checksum that is their only output. Included by nothing else; must not depend on the machine.
#ifndef BENCH_MACHINE_COMMON_H
#define BENCH_MACHINE_COMMON_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// xorshift64 (Marsaglia, 2003), triple 13, 7, 17.
static inline uint64_t draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

#define SEED 88172645463325252u

static inline long rounds(int argc, char **argv)
{
    long n = argc == 2 ? atol(argv[1]) : 0;

    if (n < 1) {
        fprintf(stderr, "usage: %s ROUNDS\n", argv[0]);
        exit(2);
    }
    return n;
}

static inline void *area(size_t size)
{
    void *p = aligned_alloc(4096, (size + 4095) / 4096 * 4096);

    if (p == NULL) {
        fprintf(stderr, "no memory for %zu bytes\n", size);
        exit(2);
    }
    return p;
}

// The numbers 0 to n - 1 in random order.
static inline void shuffle(uint32_t *p, uint32_t n, uint64_t *state)
{
    for (uint32_t i = 0; i < n; i++)
        p[i] = i;
    for (uint32_t i = n - 1; i > 0; i--) {
        uint32_t j = draw(state) % (i + 1), t = p[i];

        p[i] = p[j];
        p[j] = t;
    }
}

static inline int print_sum(uint64_t sum)
{
    printf("%016llx\n", (unsigned long long)sum);
    return 0;
}

#endif
