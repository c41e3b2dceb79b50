// SPDX-License-Identifier: MIT
//
// Mappings, the stack and what the kernel puts on it, by raw system calls.
//
// D1 has 64 lines. Each range is read or written once, and has more lines or others were used
// since, so each of its lines misses D1 once. A line that is mapped again at an address of LL hits
// there.
//
// anonymous: 64 KiB, written, unmapped; other maps the same address: of another call.
//~ 0 1024 mmap: anonymous
//= 0 512 0 0 mmap: other
// moved: 128 lines are written, the mapping moves, and all 256 lines of it are written.
//~ 0 384 mmap: moved
// file: this program's own file, 32 lines from its second page on.
//~ 32 0 file
// break: 64 lines.
//= 0 64 0 64 break, outside of blocks
// argv[1] is 40 lines long, and where it begins within a line is the kernel's affair.
//~ 39 0 argv, environment, auxiliary vector
//! --data-callers=1
//: 2560
#include "tests/data/bare.h"

enum { MMAP = 9, MUNMAP = 11, BRK = 12, MREMAP = 25, OPEN = 2 };

// As in a C library: the mapping is its caller's.
NOINLINE static char *map(void *at, long bytes)
{
    return (char *)call6(MMAP, (long)at, bytes, 3, at ? 0x32 : 0x22, -1, 0);
}

NOINLINE static char *anonymous(void)
{
    char *p = map(0, 65536);

    write_lines(p, 65536);
    call6(MUNMAP, (long)p, 65536, 0, 0, 0, 0);
    return p;
}

NOINLINE static void other(void *at)
{
    write_lines(map(at, 32768), 32768);
}

NOINLINE static void moved(void)
{
    char *p = map(0, 16384);

    write_lines(p, 8192);
    write_lines((char *)call6(MREMAP, (long)p, 16384, 16384, 3, (long)p + (1 << 24), 0), 16384);
}

NOINLINE static void file(void)
{
    long fd = call6(OPEN, (long)"/proc/self/exe", 0, 0, 0, 0, 0);

    read_lines((char *)call6(MMAP, 0, 4096, 1, 2, fd, 4096), 32 * LINE);
}

NOINLINE static void grown(void)
{
    long now = call6(BRK, 0, 0, 0, 0, 0, 0), from = (now + 4095) & -4096;

    call6(BRK, from + 4096, 0, 0, 0, 0, 0);
    write_lines((char *)from, 64 * LINE);
}

int run(long argc, char **argv)
{
    char *p = anonymous();

    other(p);
    moved();
    file();
    grown();
    if (argc > 1)
        read_lines(argv[1], 40 * LINE);
    return 0;
}
