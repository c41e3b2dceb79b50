// SPDX-License-Identifier: MIT
//
// Code that changes later code of the same block by stores without an operand in memory:
// maskmovdqu, and clzero where the processor has it. The changed code must be executed, not the
// code before.
//
// about: tiny-cache flush replay-flush
#include <cpuid.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "check.h"

static uint8_t *code;

// `first` is run with rdi = rax = code + 64, which is "return 1"; code + 128 is "return 7".
static int run(const char *first, size_t n)
{
    static const uint8_t nops[16] = { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
                                      0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90 };
    static const uint8_t mask[16] = { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
                                      0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80 };
    int result = 0;

    memset(code, 0x90, 4096);
    memcpy(code, first, n);
    memcpy(code + 64, "\xb8\x01\0\0\0\xc3", 6);
    memcpy(code + 128, "\xb8\x07\0\0\0\xc3", 6);
    __asm__ volatile("movdqu %[nops], %%xmm0\n\t"
                     "movdqu %[mask], %%xmm1\n\t"
                     "call *%[code]"
                     : "=a"(result)
                     : [code] "r"(code), [nops] "m"(nops), [mask] "m"(mask), "a"(code + 64),
                       "D"(code + 64)
                     : "xmm0", "xmm1", "memory", "cc");
    return result;
}

int main(void)
{
    uint32_t a, b, c, d;

    code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(code != MAP_FAILED);
    for (int round = 0; round < 3; round++) {
        CHECK(run("", 0) == 1);
        CHECK(run("\x66\x0f\xf7\xc1", 4) == 7); // maskmovdqu %xmm1, %xmm0
        if (__get_cpuid(0x80000008, &a, &b, &c, &d) && (b & 1))
            CHECK(run("\x0f\x01\xfc", 3) == 7); // zeroes are add %al, (%rax)
    }
    return check_failed;
}
