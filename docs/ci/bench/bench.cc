// SPDX-License-Identifier: MIT
//
// Two benchmarks, as an example of bench.h.
#include "bench.h"

#include <algorithm>
#include <cstdint>
#include <vector>

// How often the word is hashed.
#ifndef ROUNDS
#define ROUNDS 1000
#endif

static std::vector<uint32_t> numbers(size_t n)
{
    std::vector<uint32_t> v(n);
    uint32_t x = 1;

    for (auto &e : v)
        e = x = x * 1664525 + 1013904223; // the same on every machine
    return v;
}

BENCH(sort)
{
    auto v = numbers(1000);

    std::sort(v.begin(), v.end());
    bench::keep(v);
}

BENCH(hash)
{
    uint32_t h = 2166136261;

    for (int i = 0; i < ROUNDS; i++)
        for (char c : "a word to be hashed")
            h = (h ^ (unsigned char)c) * 16777619;
    bench::keep(h);
}

BENCH_MAIN
