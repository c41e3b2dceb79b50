// SPDX-License-Identifier: MIT
//
// A program that uses features beyond --cpu loses no state: the upper halves of vector registers
// survive a handler that clears them, although frames of the emulated processor have no space
// for them. (The warning is on standard error.)
// needs: avx2
// case:
// case: --cpu=x86-64
// case: --cpu=x86-64-v2
// case: --reproducible=yes
// about: reproducible
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static volatile int depth;

static void handler(int sig)
{
    __asm__ volatile("vpxor %%ymm3, %%ymm3, %%ymm3; vzeroall" : : : "memory");
    if (++depth < 3)
        raise(sig);
}

int main(void)
{
    static const uint64_t want[4] = { 1, 2, 3, 0x123456789abcdef0 };
    uint64_t got[4];
    pid_t self = getpid();

    signal(SIGUSR1, handler);
    __asm__ volatile("vmovdqu %1, %%ymm3\n\t"
                     "syscall\n\t" // kill: the handler runs before what follows
                     "vmovdqu %%ymm3, %0"
                     : "=m"(got)
                     : "m"(want), "a"(62), "D"((long)self), "S"(10l)
                     : "rcx", "r11", "memory");
    CHECK(depth == 3);
    CHECK(!memcmp(got, want, sizeof(got)));
    return check_failed;
}
