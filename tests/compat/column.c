// SPDX-License-Identifier: MIT
// Walks down columns: cycles of 2 to 40 lines that lie in one set of a cache, each a miss where a
// set has fewer ways, again and again without a miss of another set between. Strides are those of
// caches of 4, 16 and 64 sets of 64 bytes.

enum { LINES = 40, ROUNDS = 8 };

static volatile _Alignas(4096) unsigned char memory[LINES * 4096];

void run(void);

static __attribute__((noinline)) unsigned down(unsigned stride, unsigned lines)
{
    unsigned sum = 0;

    for (unsigned round = 0; round < ROUNDS; round++)
        for (unsigned i = 0; i < lines; i++)
            sum += memory[i * stride];
    return sum;
}

void run(void)
{
    static const unsigned strides[] = { 256, 1024, 4096 };
    volatile unsigned sum = 0;

    for (unsigned s = 0; s < 3; s++)
        for (unsigned lines = 2; lines <= LINES; lines++)
            sum += down(strides[s], lines);
}
