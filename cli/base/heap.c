// SPDX-License-Identifier: MIT
//
// What heap.h declares.
#include "cli/base/heap.h"

#include <limits.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    HUGE_PAGE = 2 << 20,
    MMAP_FROM = 32 << 20, // the largest value that the C library accepts
    AT_LEAST = 2 << 20,   // size of a file; a large page costs as much as a few dozen small ones
    AT_MOST = 1 << 30,
    TOP_PAD = 1 << 20,
};

void heap_prepare(size_t bytes)
{
    // The gap between the present heap and the first large page, never used: on average half of
    // such a page, 256 small ones.
    static void *filler;
    static size_t prepared;
    uintptr_t begin, end;

    if (bytes <= prepared)
        return;
    prepared = bytes;
    free(filler);
    mallopt(M_MMAP_THRESHOLD, MMAP_FROM);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_TOP_PAD, (int)(bytes < AT_MOST ? bytes : AT_MOST) + 2 * HUGE_PAGE);
    filler = malloc(TOP_PAD);
    mallopt(M_TOP_PAD, TOP_PAD);
    if (!filler)
        return;
    // The C library keeps the size of the free memory right behind the filler: that page is
    // touched already.
    begin = ((uintptr_t)filler + TOP_PAD + HUGE_PAGE) & ~(uintptr_t)(HUGE_PAGE - 1);
    end = (uintptr_t)sbrk(0) & ~(uintptr_t)(HUGE_PAGE - 1);
    if (begin >= end || madvise((void *)begin, end - begin, MADV_HUGEPAGE) != 0) {
        free(filler);
        filler = NULL;
    } else {
        filler = realloc(filler, begin - (uintptr_t)filler);
    }
}

void heap_prepare_for(const char *path)
{
    struct stat st;

    // Records take about half as much as the text, names and sums less; two buffers take 2 MB each.
    if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= AT_LEAST)
        heap_prepare((size_t)st.st_size + 2 * HUGE_PAGE);
}
