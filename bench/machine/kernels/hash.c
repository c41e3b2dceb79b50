// SPDX-License-Identifier: MIT
//
// Keys put into a hash table of 8 MiB with linear probing: random loads that do not depend on each
// other, but on branches that cannot be predicted.
#include <string.h>

#include "../common.h"

#define BITS 20
#define KEYS 500000

static uint64_t table[1 << BITS];

int main(int argc, char **argv)
{
    uint64_t state = SEED, found = 0, probes = 0;

    for (long n = rounds(argc, argv); n > 0; n--) {
        memset(table, 0, sizeof(table));
        for (int i = 0; i < KEYS; i++) {
            uint64_t key = (draw(&state) >> 20) % (KEYS / 2) + 1;
            uint64_t at = key * 0x9e3779b97f4a7c15 >> (64 - BITS);

            while (table[at] != 0 && table[at] != key) {
                at = (at + 1) % (1 << BITS);
                probes++;
            }
            found += table[at] != 0;
            table[at] = key;
        }
    }
    return print_sum(found << 32 ^ probes);
}
