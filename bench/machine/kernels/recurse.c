// SPDX-License-Identifier: MIT
//
// Calls and returns: straight down 200 levels and back, which is more than a processor's stack of
// return addresses has, and down a binary tree of 14 levels, which is not.
#include "../common.h"

static uint64_t down(uint64_t depth, uint64_t x);
static uint64_t tree(uint64_t depth, uint64_t x);

static uint64_t down(uint64_t depth, uint64_t x)
{
    if (depth == 0)
        return x;
    // Two places that call, in an order that x decides: a return goes back to either.
    if (x >> depth % 64 & 1)
        return down(depth - 1, x * 5 + 1) + depth;
    return down(depth - 1, x + depth) ^ x;
}

static uint64_t tree(uint64_t depth, uint64_t x)
{
    if (depth == 0)
        return x * x;
    return tree(depth - 1, x * 2) + 3 * tree(depth - 1, x * 2 + 1);
}

int main(int argc, char **argv)
{
    uint64_t sum = 0;

    for (long n = rounds(argc, argv); n > 0; n--) {
        for (uint64_t i = 0; i < 100; i++)
            sum += down(200, i);
        sum ^= tree(14, (uint64_t)n);
    }
    return print_sum(sum);
}
