// SPDX-License-Identifier: MIT
//
// Walks: by rows and by columns, backward, over structs, over lists, here and there.
//
// D1 has 64 lines, 4 for each of 16 sets, of 64 bytes. Before each walk evict() replaces all of
// them. Each walk visits a line once, or again after at least four others of its set: each visit of
// a new line misses. A walk of n misses has n - 1 steps.
//
// rows: 512 lines of 8 numbers each: 511 steps to the next line.
//> sequential 511 511 rows > static: table
// columns: 128 rows of 65 lines, so 8 rows share a set, and each of the 10 columns misses 128
// times. 127 steps in each column, 9 from one column to the next.
//> stride 4160 1270 1279 columns > static: matrix
// backward: 200 lines, by numbers from the end: each miss is at the last one of its line.
//> backward 199 199 backward > static: table
// fields: 100 structs of 160 bytes.
//> stride 160 99 99 fields > static: table
// small: 512 structs of 24 bytes, in 192 lines. Steps of 48 and of 72 bytes, each to the next line.
//> sequential 191 191 small > static: table
// in_order: a list of 100 nodes of 128 bytes, one behind the other.
//> stride 128 by pointers 99 99 in_order > static: nodes
// The other lists are linked 0 99 1 98 2 ...: steps of 99, -98, 97, -96, ... 1 nodes, all
// different. The last ones are found once each, as any step is: one of 99 is regular.
//> pointer chase 98 99 shuffled > static: nodes
// found: the same, with a condition, so the loop has two blocks.
//> pointer chase 98 99 found > static: nodes
// indexed: the same nodes by their numbers: 99 to 32 are 68 steps of 4 KiB and more. Of the others
// one is the regular one.
//> random 68 99 indexed > static: nodes
// by_array: the same by pointers from an array, which is read line by line: the load of the pointer
// misses 13 times, which is less than half.
//> random 68 99 by_array > static: nodes
//> sequential 12 12 by_array > static: array
// by_table: the same, but each pointer in a line of its own: the load of the pointer always misses.
//> pointer chase 98 99 by_table > static: nodes
//> sequential 99 99 by_table > static: apart
// close: 0 29 1 28 ... of nodes: steps of 29 to 1 nodes, below 4 KiB; one is the regular one.
//> near 28 29 close > static: nodes
// lcg: 1,000 lines of 4,096 by x = (1229 x + 1) mod 4096, from 0 on, which repeats none. 30 of the
// 999 steps are of less than 64 lines, the first one is to the next line, no other is that or
// frequent.
//> random 969 999 lcg > static: matrix
#include "tests/data/bare.h"

#define NODES 100

struct node {
    struct node *next;
    long key, pad[14];
};

static char clear[64 * LINE] __attribute__((aligned(LINE)));
static long table[512 * 8] __attribute__((aligned(LINE)));
static char matrix[128 * 4160] __attribute__((aligned(LINE)));
static struct node nodes[NODES] __attribute__((aligned(LINE)));
static struct node *array[104] __attribute__((aligned(LINE)));
static struct node *apart[NODES * 8] __attribute__((aligned(LINE)));
static volatile long sink;

NOINLINE static void evict(void)
{
    read_lines(clear, sizeof(clear));
}

// The k-th of n that are visited from both ends in turn.
static inline long turn(long k, long n)
{
    return k % 2 ? n - 1 - k / 2 : k / 2;
}

NOINLINE static void rows(const volatile long *p)
{
    for (long i = 0; i < 512 * 8; i++)
        (void)p[i];
}

NOINLINE static void columns(const volatile char *p)
{
    for (long column = 0; column < 10; column++)
        for (long row = 0; row < 128; row++)
            (void)p[row * 4160 + column * 8];
}

NOINLINE static void backward(const volatile long *p)
{
    for (long i = 200 * 8; i-- > 0;)
        (void)p[i];
}

NOINLINE static void fields(const volatile char *p)
{
    for (long i = 0; i < 100; i++)
        (void)p[i * 160];
}

NOINLINE static void small(const volatile char *p)
{
    for (long i = 0; i < 512; i++)
        (void)p[i * 24];
}

NOINLINE static void in_order(const struct node *p)
{
    long n = 0;

    for (; p; p = p->next)
        n++;
    sink = n;
}

NOINLINE static void shuffled(const struct node *p)
{
    long n = 0;

    for (; p; p = p->next)
        n += p->key;
    sink = n;
}

NOINLINE static long found(const struct node *p, long key)
{
    while (p && p->key != key)
        p = p->next;
    return p != 0;
}

NOINLINE static void indexed(const volatile struct node *p)
{
    for (long k = 0; k < NODES; k++)
        (void)p[turn(k, NODES)].key;
}

NOINLINE static void by_array(struct node *volatile *p)
{
    for (long k = 0; k < NODES; k++)
        (void)((volatile struct node *)p[k])->key;
}

NOINLINE static void by_table(struct node *volatile *p)
{
    for (long k = 0; k < NODES; k++)
        (void)((volatile struct node *)p[k * 8])->key;
}

NOINLINE static void close(const volatile struct node *p)
{
    for (long k = 0; k < 30; k++)
        (void)p[turn(k, 30)].key;
}

NOINLINE static void lcg(const volatile char *p)
{
    unsigned x = 0;

    for (long i = 0; i < 1000; i++) {
        (void)p[(unsigned long)x * LINE];
        x = (x * 1229 + 1) % 4096;
    }
}

NOINLINE static void link_nodes(long turns)
{
    for (long k = 0; k < NODES; k++) {
        struct node *n = &nodes[turns ? turn(k, NODES) : k];

        n->next = k + 1 == NODES ? 0 : &nodes[turns ? turn(k + 1, NODES) : k + 1];
        array[k] = apart[k * 8] = n;
    }
}

int run(long argc, char **argv)
{
    (void)argc, (void)argv;
    link_nodes(0);
    evict();
    rows(table);
    evict();
    columns(matrix);
    evict();
    backward(table);
    evict();
    fields((char *)table);
    evict();
    small((char *)table);
    evict();
    in_order(nodes);
    link_nodes(1);
    evict();
    shuffled(nodes);
    evict();
    sink = found(nodes, 1);
    evict();
    indexed(nodes);
    evict();
    by_array(array);
    evict();
    by_table(apart);
    evict();
    close(nodes);
    evict();
    lcg(matrix);
    return 0;
}
