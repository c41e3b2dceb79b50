// SPDX-License-Identifier: MIT
//
// 30,000 keys looked up at random: in a binary tree, or (AFTER) in a hash table.
#include "../common.h"

#define N    30000
#define BITS 16

struct node {
    uint64_t key, value;
    struct node *less, *more;
};

static struct node node[N];
#if AFTER
static struct node *table[1 << BITS];
#else
static struct node *root;
#endif

static struct node **find(uint64_t key)
{
#if AFTER
    uint64_t at = key * 0x9e3779b97f4a7c15 >> (64 - BITS);

    while (table[at] != NULL && table[at]->key != key)
        at = (at + 1) % (1 << BITS);
    return &table[at];
#else
    struct node **at = &root;

    while (*at != NULL && (*at)->key != key)
        at = key < (*at)->key ? &(*at)->less : &(*at)->more;
    return at;
#endif
}

int main(int argc, char **argv)
{
    uint64_t state = SEED, sum = 0;

    for (int i = 0; i < N; i++) {
        node[i].key = draw(&state);
        node[i].value = i;
        *find(node[i].key) = &node[i];
    }
    for (long n = rounds(argc, argv) * N; n > 0; n--) {
        uint64_t key = node[draw(&state) % N].key;

        sum = sum * 31 + (*find(key))->value;
    }
    return print_sum(sum);
}
