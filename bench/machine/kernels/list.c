// SPDX-License-Identifier: MIT
//
// A pointer chase: each load waits for the one before it. KIB is the size of the list; a node is
// a cache line, and the nodes are linked in random order.
#include "../common.h"

struct node {
    struct node *next;
    uint64_t value[7];
};

int main(int argc, char **argv)
{
    long n = rounds(argc, argv);
    uint32_t nodes = KIB * 1024 / sizeof(struct node), *order = area(nodes * sizeof(*order));
    struct node *list = area(nodes * sizeof(*list)), *at = list;
    uint64_t state = SEED, sum = 0;

    shuffle(order, nodes, &state);
    for (uint32_t i = 0; i < nodes; i++) {
        list[order[i]].next = &list[order[(i + 1) % nodes]];
        list[order[i]].value[0] = i;
    }
    for (long i = 0; i < n * nodes; i++) {
        sum = sum * 3 + at->value[0];
        at = at->next;
    }
    return print_sum(sum);
}
