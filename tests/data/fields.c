// SPDX-License-Identifier: MIT
//
// Members of statics: of structures in arrays, unions, bit fields, arrays of several dimensions, a
// static of a function; what is in several members; offsets where there is no type.
//
// D1 has 64 lines, 4 for each of 16 sets, LL 4096; all objects together have 2,900 lines. Each loop
// goes through more than 64 lines in order, and references each line once: all references miss D1,
// and the first ones to a line miss LL.
//
// nodes: 512 elements of a line each. left is read, key written, count[1] read, then by one
// instruction in turn count[1] and count[3], and by another one count[1] and left, which have no
// member in common.
//= 2048 512 512 0 static: nodes
//* 512 0 512 0 static: nodes > nodes[].left
//* 0 512 0 0 static: nodes > nodes[].key
//* 1024 0 0 0 static: nodes > nodes[].count[]
//* 512 0 0 0 static: nodes > nodes[]
// rows: 1024 elements of 24 bytes. Of each eighth, which is 3 lines further, one of its v[5] is
// read in turn.
//= 128 0 128 0 static: rows
//* 128 0 128 0 static: rows > rows[].v[]
// cube: 8 x 16 x 64 elements of 4 bytes are 512 lines; .b of the first element of each is read.
//= 512 0 512 0 static: cube
//* 512 0 512 0 static: cube > cube[][][].b
// mixed: 128 elements of a line each; four loops read a float and write an int of a union, read a
// bit field that shares its byte with another one, and a half of what another member is all of.
//= 384 128 128 0 static: mixed
//* 128 128 128 0 static: mixed > mixed[].u.{i|f}
//* 128 0 0 0 static: mixed > mixed[].{a|b}
//* 128 0 0 0 static: mixed > mixed[].inner.{wide|unnamed}
// tally: of two functions; 256 lines of 4 elements each, whose .m or .x is written.
//= 0 256 0 256 static: tally.1
//* 0 256 0 256 static: tally.1 > tally[].m
//= 0 256 0 256 static: tally.0
//* 0 256 0 256 static: tally.0 > tally[].x
// pairs: 4096 elements of 8 bytes. Every 68th byte is read: 32768 / 68 = 481.9, so 482 of the
// lines, by turns a .c and a .x. Then .x of each eighth element: all 512 lines, 30 of them new.
//= 994 0 512 0 static: pairs
//* 482 0 482 0 static: pairs > pairs[]
//* 512 0 30 0 static: pairs > pairs[].x
// raw: a symbol without a type. Offset 1000 is read, and 1003 after 64 other lines; then 5000, and
// 5010 in the same line.
//= 3 0 2 0 static: raw
//* 2 0 1 0 static: raw > +1000
//* 1 0 1 0 static: raw > +4992
#include "tests/data/bare.h"

#define ALIGNED __attribute__((aligned(LINE)))

static struct node {
    struct node *left, *right;
    long key;
    int count[4];
    char rest[24];
} nodes[512] ALIGNED;

static struct {
    int id, v[5];
} rows[1024] ALIGNED;

static struct {
    short a, b;
} cube[8][16][64] ALIGNED;

typedef struct {
    int tag;
    union {
        int i;
        float f;
    } u;
    struct { // 8
        unsigned char a : 3, b : 5;
    };
    union { // 16
        long wide;
        struct {
            int low, high;
        };
    } inner;
    char rest[40];
} mixed_type;
static volatile mixed_type mixed[128] ALIGNED;

static struct {
    char c;
    int x;
} pairs[4096] ALIGNED;

__asm__(".bss\n"
        ".balign 64\n"
        ".type raw, @object\n"
        ".size raw, 8192\n"
        "raw: .fill 8192\n"
        ".text\n");
extern volatile char raw[];

_Static_assert(sizeof(struct node) == LINE && sizeof(mixed_type) == LINE, "a line each");

NOINLINE static void read_nodes(void)
{
    for (int i = 0; i < 512; i++)
        (void)*(struct node *volatile *)&nodes[i].left;
    for (int i = 0; i < 512; i++)
        *(volatile long *)&nodes[i].key = i;
    for (int i = 0; i < 512; i++)
        (void)*(volatile int *)&nodes[i].count[1];
    for (long i = 0; i < 512; i++)
        (void)*(volatile int *)&nodes[i].count[i & 1 ? 1 : 3];
    for (long i = 0; i < 512; i++)
        (void)*(volatile int *)((char *)nodes + i * LINE + (i & 1 ? 28 : 0));
}

NOINLINE static void read_rows(void)
{
    for (int i = 0; i < 1024; i += 8)
        (void)*(volatile int *)&rows[i].v[i / 8 % 5];
}

NOINLINE static void read_cube(void)
{
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 16; j++)
            for (int k = 0; k < 64; k += 16)
                (void)*(volatile short *)&cube[i][j][k].b;
}

NOINLINE static void read_mixed(void)
{
    for (int i = 0; i < 128; i++)
        (void)mixed[i].u.f;
    for (int i = 0; i < 128; i++)
        mixed[i].u.i = i;
    for (int i = 0; i < 128; i++)
        (void)mixed[i].b;
    for (int i = 0; i < 128; i++)
        (void)mixed[i].inner.high;
}

NOINLINE static void first_tally(void)
{
    static struct {
        long n, m;
    } tally[1024] ALIGNED;

    for (int i = 0; i < 1024; i += 4)
        *(volatile long *)&tally[i].m = i;
}

NOINLINE static void second_tally(void)
{
    static struct {
        float z[3], x;
    } tally[1024] ALIGNED;

    for (int i = 0; i < 1024; i += 4)
        *(volatile int *)&tally[i].x = i;
}

NOINLINE static void read_pairs(void)
{
    for (long i = 0; i < (long)sizeof(pairs); i += 68)
        (void)((volatile char *)pairs)[i];
    for (int i = 0; i < 4096; i += 8)
        (void)*(volatile int *)&pairs[i].x;
}

int run(long argc, char **argv)
{
    (void)argc, (void)argv;
    (void)raw[1000];
    read_nodes();
    (void)raw[1003];
    read_rows();
    read_cube();
    read_mixed();
    first_tally();
    second_tally();
    read_pairs();
    (void)raw[5000];
    (void)raw[5010];
    return 0;
}
