// SPDX-License-Identifier: MIT
//
// A pointer chase with one load for each page of 4 KiB, each at another place of its page: first
// over 512 pages, then over 8192. Only address translation differs from a chase over as many lines.
#include <sys/mman.h>

#include "../common.h"

#define PAGE 4096
#define MOST 8192

static char *place(char *memory, uint32_t page)
{
    return memory + (size_t)page * PAGE + page % 64 * 64;
}

static uint64_t chase(char *memory, uint32_t pages, long loads, uint64_t *state)
{
    uint32_t *order = area(pages * sizeof(*order));
    char *at = place(memory, 0);
    uint64_t sum = 0;

    shuffle(order, pages, state);
    for (uint32_t i = 0; i < pages; i++)
        *(char **)place(memory, order[i]) = place(memory, order[(i + 1) % pages]);
    for (long i = 0; i < loads; i++) {
        at = *(char **)at;
        sum = sum * 3 + (uint64_t)(at - memory);
    }
    free(order);
    return sum;
}

int main(int argc, char **argv)
{
    size_t size = (size_t)PAGE * MOST;
    long n = rounds(argc, argv);
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t state = SEED, sum;

    if (memory == MAP_FAILED) {
        perror("mmap");
        return 2;
    }
    // Where this fails there are no large pages.
    madvise(memory, size, MADV_NOHUGEPAGE);
    sum = chase(memory, 512, n * MOST, &state);
    return print_sum(sum ^ chase(memory, MOST, n * MOST, &state));
}
