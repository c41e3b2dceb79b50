// SPDX-License-Identifier: MIT
//
// The source of the first packages for dwp.c: nested functions, with ranges apart; variables with
// members.
struct pair {
    struct pair *next;
    int key[3];
    union {
        int i;
        char c[4];
    };
};

struct pair pairs[8];
static long grid[4][2];

static inline __attribute__((always_inline)) int twice(int x)
{
    if (__builtin_expect(x == 12345, 0))
        __builtin_trap();
    return x * 2;
}

static inline __attribute__((always_inline)) int four(int x)
{
    return twice(twice(x));
}

int some(int x);
int some(int x)
{
    int sum = 0;

    for (int i = 0; i < x; i++)
        sum += four(i) ^ sum ^ pairs[i].key[1] ^ (int)grid[i][1]++;
    return sum;
}
