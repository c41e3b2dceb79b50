// SPDX-License-Identifier: MIT
//
// heap.h says what for.
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
    MMAP_FROM = 32 << 20, // the C library takes no more
    AT_LEAST = 2 << 20,   // of a file; a large page costs what a few dozen small ones do
    AT_MOST = 1 << 30,
    TOP_PAD = 1 << 20,
};

void heap_prepare(size_t bytes)
{
    // What lies between the heap that there is and the first large page, and stays unused: on the
    // average half of such a page, 256 small ones.
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
    // Behind the filler the C library has noted how much is free: that page is touched.
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

    // The records take about half of the text, names and sums less; two buffers of 2 MB.
    if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= AT_LEAST)
        heap_prepare((size_t)st.st_size + 2 * HUGE_PAGE);
}
