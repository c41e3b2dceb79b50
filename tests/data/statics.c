// SPDX-License-Identifier: MIT
//
// Symbols, the rest of a section, and two objects in one line.
//
// D1 has 64 lines, LL 4096. `table` has 256 lines: each of the three passes misses all of them in
// D1, and the first one in LL. `small` has 16 lines, which stay in D1 during its passes. first and
// second are in one line: the first of them that is read misses. .bss has 100 lines that no symbol
// has.
//
//= 768 0 256 0 static: table
//= 0 16 0 16 static: small
//= 1 0 1 0 static: second
//= 0 100 0 100 section: .bss
#include "tests/data/bare.h"

static char table[256 * LINE] __attribute__((aligned(LINE))) = { 1 };
static char small[16 * LINE] __attribute__((aligned(LINE)));
static struct {
    char first, second;
} unused_name __attribute__((unused));
extern char first, second;

__asm__(".data\n"
        ".balign 64\n"
        ".globl first, second\n"
        ".type first, @object\n"
        ".size first, 8\n"
        "first: .quad 1\n"
        ".type second, @object\n"
        ".size second, 8\n"
        "second: .quad 2\n"
        ".balign 64\n"
        ".bss\n"
        ".balign 64\n"
        "nameless: .fill 6400\n"
        ".text\n");

int run(long argc, char **argv)
{
    extern char nameless[];

    (void)argc, (void)argv;
    for (int pass = 0; pass < 3; pass++)
        read_lines(table, sizeof(table));
    for (int pass = 0; pass < 3; pass++)
        write_lines(small, sizeof(small));
    (void)*(volatile char *)&second;
    (void)*(volatile char *)&first;
    write_lines(nameless, 6400);
    return 0;
}
