// SPDX-License-Identifier: MIT
// Random numbers for the generators of programs: splitmix64. Each program has one sequence, which
// it sets to its seed. Not for secrets.
#ifndef QUERN_FUZZ_RANDOM_H
#define QUERN_FUZZ_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

extern uint64_t rng;

uint64_t rnd64(void);

// Below n.
uint32_t rnd(uint32_t n);

bool chance(uint32_t percent);

#endif
