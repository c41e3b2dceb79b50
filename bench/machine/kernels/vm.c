// SPDX-License-Identifier: MIT
//
// An interpreter of a machine with a stack: one jump by table for each of its instructions, in a
// loop of 512 with a branch of its own.
#include "../common.h"

#define LENGTH 512

static unsigned char code[LENGTH];

int main(int argc, char **argv)
{
    long n = rounds(argc, argv) * 100000;
    uint64_t state = SEED, stack[16] = { 1, 2, 3 }, *top = stack + 3, acc = 1;
    int pc = 0;

    for (int i = 0; i < LENGTH - 1; i++)
        code[i] = draw(&state) % 9;
    code[LENGTH - 1] = 9;
    while (n-- > 0)
        switch (code[pc++]) {
        case 0: acc += top[0]; break;
        case 1: acc ^= top[-1]; break;
        case 2: top[0] = acc; break;
        case 3: acc = acc * 3 + 1; break;
        case 4: acc = acc >> 3 | acc << 61; break;
        case 5: pc += (acc & 1) != 0 && pc < LENGTH - 12; break;
        case 6: top[-1] -= acc; break;
        case 7: acc = -acc; break;
        case 8: top[-2] += acc & 255; break;
        default: pc = 0;
        }
    return print_sum(acc);
}
