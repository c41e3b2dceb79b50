// SPDX-License-Identifier: MIT
//
// Calls through pointers, of eight functions: kind after kind in runs, in a pattern of 24, and at
// random.
#include "../common.h"

#define N     4096
#define KINDS 8

// clang-format off
static uint64_t add(uint64_t x) { return x + 17; }
static uint64_t mix(uint64_t x) { return x ^ x >> 7; }
static uint64_t twice(uint64_t x) { return x * 2 + 1; }
static uint64_t turn(uint64_t x) { return x << 9 | x >> 55; }
static uint64_t less(uint64_t x) { return x - (x >> 3); }
static uint64_t flip(uint64_t x) { return ~x; }
static uint64_t times(uint64_t x) { return x * 0x9e3779b97f4a7c15; }
static uint64_t low(uint64_t x) { return x + (x & 255); }
// clang-format on

static uint64_t (*const kind[KINDS])(uint64_t) = { add, mix, twice, turn, less, flip, times, low };
static uint64_t (*runs[N])(uint64_t), (*pattern[N])(uint64_t), (*chance[N])(uint64_t);

static uint64_t all(uint64_t (*const *calls)(uint64_t), uint64_t x)
{
    for (int i = 0; i < N; i++)
        x = calls[i](x);
    return x;
}

int main(int argc, char **argv)
{
    uint64_t state = SEED, x = 1, seen[24];

    for (int i = 0; i < 24; i++)
        seen[i] = draw(&state) % KINDS;
    for (int i = 0; i < N; i++) {
        runs[i] = kind[i * KINDS / N];
        pattern[i] = kind[seen[i % 24]];
    }
    for (long n = rounds(argc, argv); n > 0; n--) {
        for (int i = 0; i < N; i++)
            chance[i] = kind[draw(&state) % KINDS];
        for (int i = 0; i < 3; i++)
            x = all(pattern, all(runs, x));
        x = all(chance, x);
    }
    return print_sum(x);
}
