// SPDX-License-Identifier: MIT
// See random.h.
#include "fuzz/random.h"

uint64_t rng = 1;

uint64_t rnd64(void)
{
    uint64_t z = rng += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

uint32_t rnd(uint32_t n)
{
    return (uint32_t)((rnd64() >> 32) * n >> 32);
}

bool chance(uint32_t percent)
{
    return rnd(100) < percent;
}
