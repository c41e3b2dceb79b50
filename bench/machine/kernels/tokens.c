// SPDX-License-Identifier: MIT
//
// The words, numbers and signs of a text, each counted in a table: loops of a few turns, branches
// that the text repeats, loads and stores that hit the second level.
#include "../common.h"

#define SIZE 65536
#define BITS 14

static char text[SIZE + 1];
static struct {
    uint32_t hash, count;
} table[1 << BITS];

// One of 400 words, of 1 to 9 letters; some are numbers or signs. Small ones are more frequent.
static int word(char *to, uint32_t which)
{
    uint64_t state = which * 2654435761u + 1;
    int length = 1 + draw(&state) % 9;

    if (which % 11 == 0) {
        *to = "+-*/(){};"[which % 9];
        return 1;
    }
    for (int i = 0; i < length; i++)
        to[i] = (which % 7 == 0 ? '0' : 'a') + draw(&state) % 10;
    return length;
}

int main(int argc, char **argv)
{
    uint64_t state = SEED, sum = 0, signs = 0;

    for (int i = 0; i < SIZE - 12; text[i++] = ' ')
        i += word(text + i, draw(&state) % 20 * (draw(&state) % 20));
    for (long n = rounds(argc, argv); n > 0; n--)
        for (const char *p = text; *p != '\0';) {
            uint32_t h = 5381, at;

            if (*p >= 'a' && *p <= 'z') {
                for (; *p >= 'a' && *p <= 'z'; p++)
                    h = h * 33 + *p;
            } else if (*p >= '0' && *p <= '9') {
                for (h = 0; *p >= '0' && *p <= '9'; p++)
                    h = h * 10 + (*p - '0');
            } else {
                signs += *p++ != ' ';
                continue;
            }
            for (at = h % (1 << BITS); table[at].count != 0 && table[at].hash != h;)
                at = (at + 1) % (1 << BITS);
            table[at].hash = h;
            table[at].count++;
        }
    for (int i = 0; i < 1 << BITS; i++)
        sum = sum * 31 + (table[i].hash ^ table[i].count);
    return print_sum(sum ^ signs << 40);
}
