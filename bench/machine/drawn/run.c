// SPDX-License-Identifier: MIT
//
// Usage: drawn ROUNDS RUNS
//
// Runs each loop of drawn.s for so many rounds, so many times, and prints the cycles of a round, of
// the least run: by the time-stamp counter, and a chain of multiplications of three cycles each.
// Compiled and called by table.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <x86intrin.h>

typedef void loop_code(void *page, void *other, uint64_t rounds);

extern loop_code *const loops[];
extern const uint64_t count;

static uint8_t pages[8192] __attribute__((aligned(4096)));

// Cycles of a tick of the time-stamp counter.
static double cycles_of_tick(void)
{
    uint64_t least = UINT64_MAX, x = 3;

    for (int run = 0; run < 200; run++) {
        uint64_t from = __rdtsc(), ticks;

        for (int i = 0; i < 1000; i++)
            __asm__ volatile("imul %0, %0\n\timul %0, %0\n\timul %0, %0\n\timul %0, %0" : "+r"(x));
        ticks = __rdtsc() - from;
        least = ticks < least ? ticks : least;
    }
    return 4 * 3 * 1000.0 / (double)least;
}

int main(int argc, char **argv)
{
    uint64_t rounds = argc == 3 ? strtoull(argv[1], NULL, 10) : 0;
    unsigned long runs = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    double cycles;

    if (!rounds || !runs) {
        fputs("usage: drawn ROUNDS RUNS\n", stderr);
        return 2;
    }
    cycles = cycles_of_tick();
    for (uint64_t i = 0; i < count; i++) {
        uint64_t least = UINT64_MAX;

        for (unsigned long run = 0; run < runs; run++) {
            uint64_t from = __rdtsc(), ticks;

            loops[i](pages, pages + sizeof(pages) / 2, rounds);
            ticks = __rdtsc() - from;
            least = ticks < least ? ticks : least;
        }
        printf("%.3f\n", (double)least * cycles / (double)rounds);
    }
    return 0;
}
