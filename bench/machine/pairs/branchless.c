// SPDX-License-Identifier: MIT
//
// The numbers below a limit that changes, copied to the front: with a branch that cannot be
// predicted, or (AFTER) by storing each and advancing by the result of the comparison.
#include "../common.h"

#define N 65536

static uint32_t from[N], to[N + 1];

int main(int argc, char **argv)
{
    uint64_t state = SEED, sum = 0;

    for (int i = 0; i < N; i++)
        from[i] = draw(&state) >> 33;
    for (long n = rounds(argc, argv); n > 0; n--) {
        uint32_t limit = (1u << 30) + (n * 7919 & 0xffffff);
        int kept = 0;

        for (int i = 0; i < N; i++) {
#if AFTER
            to[kept] = from[i];
            kept += from[i] < limit;
#else
            if (from[i] < limit)
                to[kept++] = from[i];
#endif
        }
        sum = sum * 31 + kept + to[kept / 2];
    }
    return print_sum(sum);
}
