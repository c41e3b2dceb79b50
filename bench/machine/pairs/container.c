// SPDX-License-Identifier: MIT
//
// 50,000 numbers summed and changed: in a list whose nodes are where an allocator of long use has
// put them, or (AFTER) in an array.
#include "../common.h"

#define N 50000

struct node {
    struct node *next;
    uint64_t value;
};

static struct node node[N], *first;
static uint64_t array[N];
static uint32_t order[N];

static uint64_t sum_up(uint64_t salt)
{
    uint64_t sum = 0;

#if AFTER
    for (int i = 0; i < N; i++)
        sum += array[i] ^= salt;
#else
    for (struct node *at = first; at != NULL; at = at->next)
        sum += at->value ^= salt;
#endif
    return sum;
}

int main(int argc, char **argv)
{
    uint64_t state = SEED, sum = 0;

    shuffle(order, N, &state);
    for (int i = 0; i < N; i++) {
        array[i] = draw(&state);
        node[order[i]].value = array[i];
        node[order[i]].next = i + 1 < N ? &node[order[i + 1]] : NULL;
    }
    first = &node[order[0]];
    for (long n = rounds(argc, argv); n > 0; n--)
        sum = sum * 31 + sum_up(n);
    return print_sum(sum);
}
