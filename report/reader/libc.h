// SPDX-License-Identifier: MIT
//
// What wasi-libc lacks of the C library, included before every file that is compiled for the page.
#ifndef QUERN_REPORT_READER_LIBC_H
#define QUERN_REPORT_READER_LIBC_H

#include <stddef.h>

void qsort_r(void *base, size_t n, size_t size, int (*compare)(const void *, const void *, void *),
             void *of);

#endif
