// SPDX-License-Identifier: MIT
//
// Keys looked up in a table of chains, 24 MiB: each lookup waits for a head and a node of the
// chain, or (AFTER) both are prefetched for keys further on.
#include "../common.h"

#define BITS 20
#define KEYS (1 << 19)

struct node {
    uint64_t key, value;
    struct node *next;
    uint64_t pad;
};

static struct node *head[1 << BITS], node[KEYS];
static uint32_t order[KEYS];
static uint64_t wanted[KEYS];

static uint64_t place(uint64_t key)
{
    return key * 0x9e3779b97f4a7c15 >> (64 - BITS);
}

static uint64_t lookup(uint64_t key)
{
    const struct node *at = head[place(key)];

    while (at != NULL && at->key != key)
        at = at->next;
    return at != NULL ? at->value : key % 10007 / 3;
}

int main(int argc, char **argv)
{
    uint64_t state = SEED, sum = 0;

    shuffle(order, KEYS, &state);
    for (int i = 0; i < KEYS; i++) {
        struct node *new = &node[order[i]];

        new->key = draw(&state);
        new->value = i;
        new->next = head[place(new->key)];
        head[place(new->key)] = new;
    }
    for (int i = 0; i < KEYS; i++)
        wanted[i] = draw(&state) % 4 == 0 ? draw(&state) : node[draw(&state) % KEYS].key;
    for (long n = rounds(argc, argv); n > 0; n--)
        for (int i = 0; i < KEYS; i++) {
#if AFTER
            __builtin_prefetch(head[place(wanted[(i + 8) % KEYS])]);
            __builtin_prefetch(&head[place(wanted[(i + 16) % KEYS])]);
#endif
            // A branch on what was found: the processor cannot run far ahead by itself.
            sum = sum * 3 + lookup(wanted[i]);
            if ((sum & 7) == 3)
                sum ^= sum >> 11;
        }
    return print_sum(sum);
}
