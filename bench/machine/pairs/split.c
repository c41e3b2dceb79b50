// SPDX-License-Identifier: MIT
//
// Particles whose positions are advanced: each in one structure of 128 bytes with much that this
// loop does not use, or (AFTER) the two fields that it uses in arrays of their own.
#include "../common.h"

#define N 60000

#if AFTER
static int64_t place[N], speed[N];
#    define PLACE(i) place[i]
#    define SPEED(i) speed[i]
#else
static struct {
    int64_t place, speed;
    char name[112];
} particle[N];
#    define PLACE(i) particle[i].place
#    define SPEED(i) particle[i].speed
#endif

int main(int argc, char **argv)
{
    uint64_t state = SEED, sum = 0;

    for (int i = 0; i < N; i++) {
        PLACE(i) = draw(&state) >> 40;
        SPEED(i) = draw(&state) % 100;
    }
    for (long n = rounds(argc, argv); n > 0; n--)
        for (int i = 0; i < N; i++) {
            PLACE(i) += SPEED(i);
            sum += PLACE(i) & 1023;
        }
    return print_sum(sum);
}
