// SPDX-License-Identifier: MIT
//
// Processors as data, for unit tests of code that reads CPUID: the leaves that are read, with the
// answers of each processor, and XCR0 as Linux sets it there. Leaves that are not listed are 0.
// Included once by a test, in place of cli/run/run_machine.c.
#ifndef QUERN_TESTS_MACHINES_H
#define QUERN_TESTS_MACHINES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "cli/run/run.h"

struct processor {
    uint64_t xcr0;
    struct spool_cpuid leaf[24]; // leaf, subleaf, eax to edx
};

// clang-format off

// AMD Phenom II X6 1055T, family 10h: SSE4a and no SSSE3; its caches are in the old leaves alone:
// 64 KiB of 2 ways twice, 512 KiB of 16 ways, 12 * 512 KiB of 48 ways (code 11).
static const struct processor thuban = { 0, {
    { 0, 0, 6, 0x68747541, 0x444d4163, 0x69746e65 },
    { 1, 0, 0x00100fa0, 0x00060800, 0x00802009, 0x178bfbff },
    { 0x80000000, 0, 0x8000001b, 0x68747541, 0x444d4163, 0x69746e65 },
    { 0x80000001, 0, 0x00100fa0, 0x100000a1, 0x000837ff, 0xefd3fbff },
    { 0x80000005, 0, 0xff30ff10, 0xff30ff20, 0x40020140, 0x40020140 },
    { 0x80000006, 0, 0x20800000, 0x42004200, 0x02008140, 0x0030b140 },
    { 0x80000008, 0, 0x00003030, 0, 0x00003005, 0 },
} };

// AMD Ryzen 9 5950X, family 19h (Zen 3): AVX2, no AVX-512. Leaf 4 is reserved; in its place there
// is 0x8000001d, of the caches that one core can use: 32 KiB of 8 ways twice, 512 KiB of 8, 32 MiB
// of 16.
static const struct processor vermeer = { 0x207, {
    { 0, 0, 0x10, 0x68747541, 0x444d4163, 0x69746e65 },
    { 1, 0, 0x00a20f10, 0x1d200800, 0x7ed8320b, 0x178bfbff },
    { 7, 0, 0, 0x219c97a9, 0x0040069c, 0x00000010 },
    { 0xd, 0, 0x207, 0x988, 0x988, 0 },
    { 0xd, 1, 0xf, 0x348, 0x1800, 0 },
    { 0xd, 2, 0x100, 0x240, 0, 0 },
    { 0xd, 9, 8, 0x980, 0, 0 },
    { 0x80000000, 0, 0x80000023, 0x68747541, 0x444d4163, 0x69746e65 },
    { 0x80000001, 0, 0x00a20f10, 0x20000000, 0x75c237ff, 0x2fd3fbff },
    { 0x80000005, 0, 0xff40ff40, 0xff40ff40, 0x20080140, 0x20080140 },
    { 0x80000006, 0, 0x48002200, 0x68004200, 0x02006140, 0x02009140 },
    { 0x80000008, 0, 0x00003030, 0x111ef657, 0x0000501f, 0x00010000 },
    { 0x8000001d, 0, 0x00004121, 0x01c0003f, 0x0000003f, 0 },
    { 0x8000001d, 1, 0x00004122, 0x01c0003f, 0x0000003f, 0 },
    { 0x8000001d, 2, 0x00004143, 0x01c0003f, 0x000003ff, 2 },
    { 0x8000001d, 3, 0x0003c163, 0x03c0003f, 0x00007fff, 1 },
} };

// AMD Ryzen 9 7950X, family 19h (Zen 4): AVX-512, whose states are at 832, 896 and 1408 (APM volume
// 2, 11.5.2): consecutive, without space for MPX.
static const struct processor raphael = { 0x2e7, {
    { 0, 0, 0x10, 0x68747541, 0x444d4163, 0x69746e65 },
    { 1, 0, 0x00a60f12, 0x00200800, 0x7ed8320b, 0x178bfbff },
    { 7, 0, 1, 0xf1bf97a9, 0x00405fce, 0x10000010 },
    { 7, 1, 0x20, 0, 0, 0 },
    { 0xd, 0, 0x2e7, 0x988, 0x988, 0 },
    { 0xd, 1, 0xf, 0x988, 0x1800, 0 },
    { 0xd, 2, 0x100, 0x240, 0, 0 },
    { 0xd, 5, 0x40, 0x340, 0, 0 },
    { 0xd, 6, 0x200, 0x380, 0, 0 },
    { 0xd, 7, 0x400, 0x580, 0, 0 },
    { 0xd, 9, 8, 0x980, 0, 0 },
    { 0x80000000, 0, 0x80000028, 0x68747541, 0x444d4163, 0x69746e65 },
    { 0x80000001, 0, 0x00a60f12, 0x00000000, 0x75c237ff, 0x2fd3fbff },
    { 0x80000005, 0, 0xff48ff40, 0xff48ff40, 0x20080140, 0x20080140 },
    { 0x80000006, 0, 0x5c002200, 0x6c004200, 0x04006140, 0x00809140 },
    { 0x80000008, 0, 0x00003030, 0x791ef257, 0x0000501f, 0x00010000 },
    { 0x8000001d, 0, 0x00004121, 0x01c0003f, 0x0000003f, 0 },
    { 0x8000001d, 1, 0x00004122, 0x01c0003f, 0x0000003f, 0 },
    { 0x8000001d, 2, 0x00004143, 0x01c0003f, 0x000007ff, 2 },
    { 0x8000001d, 3, 0x0003c163, 0x03c0003f, 0x00007fff, 9 },
} };

// Intel Xeon of family 6, model 207: AVX-512, whose states are at 1088, 1152 and 1664. The caches
// are 48 KiB of 12 ways, 32 KiB of 8, 2 MiB of 16 and 300 MiB of 20.
static const struct processor emerald = { 0x602e7, {
    { 0, 0, 0x20, 0x756e6547, 0x6c65746e, 0x49656e69 },
    { 1, 0, 0x000c06f2, 0x00020800, 0xfffa3203, 0x1f8bfbff },
    { 2, 0, 0x00feff01, 0x000000f0, 0, 0 },
    { 4, 0, 0x04000121, 0x02c0003f, 0x0000003f, 0 },
    { 4, 1, 0x04000122, 0x01c0003f, 0x0000003f, 0 },
    { 4, 2, 0x04000143, 0x03c0003f, 0x000007ff, 0 },
    { 4, 3, 0x04004163, 0x04c0003f, 0x0003bfff, 4 },
    { 7, 0, 2, 0xf1bf27eb, 0x1b415fde, 0xbfd14410 },
    { 7, 1, 0x1c30, 0, 0, 0 },
    { 0xd, 0, 0x602e7, 0x2b00, 0x2b00, 0 },
    { 0xd, 1, 0x1f, 0x2a00, 0x1800, 0 },
    { 0xd, 2, 0x100, 0x240, 0, 0 },
    { 0xd, 5, 0x40, 0x440, 0, 0 },
    { 0xd, 6, 0x200, 0x480, 0, 0 },
    { 0xd, 7, 0x400, 0x680, 0, 0 },
    { 0xd, 9, 8, 0xa80, 0, 0 },
    { 0x80000000, 0, 0x80000008, 0, 0, 0 },
    { 0x80000001, 0, 0, 0, 0x00000121, 0x2c100800 },
    { 0x80000006, 0, 0, 0, 0x08007040, 0 },
    { 0x80000008, 0, 0x002e392e, 0x0100d200, 0, 0 },
} };
// clang-format on

static const struct processor *machine;

void run_machine_cpuid(uint32_t leaf, uint32_t sub, uint32_t r[4])
{
    memset(r, 0, 4 * sizeof(*r));
    for (size_t i = 0; i < sizeof(machine->leaf) / sizeof(*machine->leaf); i++) {
        const struct spool_cpuid *l = &machine->leaf[i];

        if (l->leaf == leaf && l->sub == sub) {
            memcpy(r, (uint32_t[]){ l->a, l->b, l->c, l->d }, 4 * sizeof(*r));
            return;
        }
    }
}

uint64_t run_machine_xcr0(void)
{
    return machine->xcr0;
}

#endif
