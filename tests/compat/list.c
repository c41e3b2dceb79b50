// SPDX-License-Identifier: MIT
//
// Memory that misses: a list in random order over 256 KiB, a hash table, strides of every power of
// two.
#include <stdint.h>

int run(void);

#define NODES 4096
static struct node {
    uint32_t next, value;
    uint64_t pad[7];
} node[NODES];
static uint32_t slots[1 << 14];
static uint8_t block[1 << 18];

__attribute__((noinline)) static uint32_t walk(uint32_t from, int steps)
{
    uint32_t sum = 0;

    while (steps--) {
        sum += node[from].value;
        from = node[from].next;
    }
    return sum;
}

__attribute__((noinline)) static int insert(uint32_t key)
{
    uint32_t i = key * 2654435761u >> 18;

    while (slots[i] && slots[i] != key)
        i = (i + 1) & ((1 << 14) - 1);
    if (slots[i] == key)
        return 0;
    slots[i] = key;
    return 1;
}

__attribute__((noinline)) static unsigned strides(void)
{
    unsigned sum = 0;

    for (unsigned s = 1; s < sizeof(block) / 4; s *= 2)
        for (unsigned i = 0; i < 200; i++) {
            unsigned at = i * s & (sizeof(block) - 1);

            sum += block[at];
            block[at ^ 64] = (uint8_t)i;
        }
    return sum;
}

int run(void)
{
    uint32_t at = 0, new = 0;

    // A full cycle: x -> 5x + 3 modulo a power of two visits every node.
    for (uint32_t i = 0; i < NODES; i++) {
        node[at].value = i;
        node[at].next = (5 * at + 3) % NODES;
        at = node[at].next;
    }
    if (walk(0, 2 * NODES) != (uint32_t)NODES * (NODES - 1))
        return 1;
    for (uint32_t i = 1; i <= 6000; i++)
        new += (uint32_t)insert(i * 7919 % 5003 + 1);
    if (new != 5003)
        return 2;
    return strides() == 0;
}
