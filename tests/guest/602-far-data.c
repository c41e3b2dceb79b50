// SPDX-License-Identifier: MIT
//
// RIP-relative data at every distance from the code cache, read and written while a timer
// interrupts: the block is then finished in a copy elsewhere, and the copy must reach the same
// operands (once it did not reach data between 1.84 and 2 GiB below the cache). 12,000 rounds at
// each of 40 places, of ten additions each.
//
// varies: a timer interrupts it

#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "check.h"

#define ROUNDS 12000

static volatile int ticks;

static void tick(int sig)
{
    (void)sig;
    ticks++;
}

int main(void)
{
    struct sigaction sa = { 0 };
    struct itimerval often = { { 0, 100 }, { 0, 100 } };
    uintptr_t here =
        (uintptr_t)__builtin_frame_address(0) & ~(uintptr_t)0xffffff; // the stack: above the cache
    int places = 0;

    sa.sa_handler = tick;
    sa.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &sa, NULL);
    for (uintptr_t back = 0x78000000; back < 0xa0000000; back += 0x1000000) {
        uint8_t *p = mmap((void *)(here - back), 8192, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        uint64_t sum = 0;
        size_t n = 0;

        if (p == MAP_FAILED)
            continue;
        places++;
        for (int i = 0; i < 10; i++) {
            int32_t d = 4096 - (int32_t)(n + 8);

            memcpy(p + n, "\x48\x83\x05", 3); // addq $1, data(%rip)
            memcpy(p + n + 3, &d, 4);
            p[n + 7] = 1;
            n += 8;
        }
        p[n] = 0xc3;
        CHECK(mprotect(p, 4096, PROT_READ | PROT_EXEC) == 0);
        setitimer(ITIMER_REAL, &often, NULL);
        for (int i = 0; i < ROUNDS; i++)
            ((void (*)(void))(uintptr_t)p)();
        setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
        memcpy(&sum, p + 4096, 8);
        CHECK(sum == 10 * ROUNDS);
        munmap(p, 8192);
    }
    CHECK(places > 20);
    return check_failed;
}
