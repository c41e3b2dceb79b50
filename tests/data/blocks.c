// SPDX-License-Identifier: MIT
//
// Types of allocated blocks where the line of the allocation says so, and offsets elsewhere.
//
// D1 has 64 lines, LL 4096. Every block begins a line that was never referenced before; each is
// referenced once in each of its lines that is named here, so each reference misses D1 and LL.
//
// declared: a variable declared in the line, with 128 elements of a line.
//= 0 128 0 128 heap: declared < run
//* 0 128 0 128 heap: declared < run > node[].right (inferred)
// assigned: an element of an array in a static, behind a cast; 128 elements, of which key is read.
//= 128 0 128 0 heap: assigned < run
//* 128 0 128 0 heap: assigned < run > node[].key (inferred)
// single: 100 blocks of one element each. What is assigned is a member of a parameter.
//= 0 100 0 100 heap: single < run
//* 0 100 0 100 heap: single < run > item.next (inferred)
// open: 90 blocks of 128 bytes, of a type of 16 that ends in an array without a bound.
//= 0 90 0 90 heap: open < run
//* 0 90 0 90 heap: open < run > text_type.at[] (inferred)
// get: it returns void *, so its caller's type is not looked for; 80 blocks of 128 bytes, 76 of
// each is written.
//= 0 80 0 80 heap: get < wrapped
//* 0 80 0 80 heap: get < wrapped > +72
// sizes: 70 blocks of 64, 128, ... bytes; offsets in them say nothing.
//= 0 70 0 70 heap: sizes < run
//* 0 70 0 70 heap: sizes < run > +0
// broken: 100 bytes are not whole elements of 64.
//= 0 1 0 1 heap: broken < run
//* 0 1 0 1 heap: broken < run > +64
// passed: what is assigned is not what malloc returns.
//= 0 1 0 1 heap: passed < run
//* 0 1 0 1 heap: passed < run > +8
// large: offsets from 4096 on by line.
//= 0 1 0 1 heap: large < run
//* 0 1 0 1 heap: large < run > +4992
// bytes: of an array of bytes the offset says more than the type.
//= 0 2 0 2 heap: bytes < run
//* 0 2 0 2 heap: bytes < run > +40
//! --data-callers=2
#include "tests/data/bare.h"

typedef unsigned long size_t;

struct node {
    struct node *left, *right;
    long key;
    char rest[40];
};

struct item {
    long value;
    struct item *next;
    char rest[48];
};

typedef struct text {
    long size;
    long used;
    char at[];
} text_type;

struct list {
    struct item *head;
    struct node **tables[2];
};

_Static_assert(sizeof(struct node) == LINE && sizeof(struct item) == LINE, "a line each");

static char pool[4000 * LINE] __attribute__((aligned(LINE)));
static char *given = pool;
static struct node *places[4];
static struct list list = { 0, { places, places } };

void *malloc(size_t bytes);

NOINLINE void *malloc(size_t bytes)
{
    char *p = given;

    given += (bytes + LINE - 1) / LINE * LINE;
    return p;
}

#define WRITE(lvalue) (*(volatile __typeof__(lvalue) *)&(lvalue) = 0)

NOINLINE static void declared(void)
{
    struct node *nodes = malloc(128 * sizeof(*nodes));

    for (int i = 0; i < 128; i++)
        WRITE(nodes[i].right);
}

NOINLINE static void assigned(int k)
{
    list.tables[1][k + 1] = (struct node *)malloc(sizeof(struct node) * 128);
    for (int i = 0; i < 128; i++)
        (void)*(volatile long *)&list.tables[1][k + 1][i].key;
}

NOINLINE static void single(struct list *l)
{
    for (int i = 0; i < 100; i++) {
        if (!(l->head = malloc(sizeof(struct item))))
            return;
        WRITE(l->head->next);
    }
}

NOINLINE static void open(void)
{
    for (int i = 0; i < 90; i++) {
        text_type *t = malloc(128);

        WRITE(t->at[100]);
    }
}

NOINLINE static void *get(size_t bytes)
{
    void *p = malloc(bytes);

    __asm__ volatile("" : "+r"(p));
    return p;
}

NOINLINE static void wrapped(void)
{
    for (int i = 0; i < 80; i++) {
        char *p = get(128);

        WRITE(p[76]);
    }
}

NOINLINE static void sizes(void)
{
    for (int i = 0; i < 70; i++) {
        char *p = malloc(64 * (i + 1ul));

        WRITE(p[64 * i]);
    }
}

NOINLINE static void broken(void)
{
    struct node *p = malloc(100);

    WRITE(((char *)p)[68]);
}

NOINLINE static struct node *second(void *p)
{
    __asm__ volatile("" : "+r"(p));
    return (struct node *)((char *)p + 8);
}

NOINLINE static void passed(void)
{
    struct node *p = second(malloc(64));

    WRITE(*(char *)p);
}

NOINLINE static void large(void)
{
    void *p = malloc(8192);

    WRITE(((char *)p)[5000]);
}

NOINLINE static void bytes(void)
{
    for (int i = 0; i < 2; i++) {
        char *p = malloc(64);

        WRITE(p[41]);
    }
}

int run(long argc, char **argv)
{
    (void)argc, (void)argv;
    declared();
    assigned(1);
    single(&list);
    open();
    wrapped();
    sizes();
    broken();
    passed();
    large();
    bytes();
    return 0;
}
