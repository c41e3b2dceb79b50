// SPDX-License-Identifier: MIT
//
// Aligns two versions of a text: which line of one is which line of the other.
#ifndef QUERN_CLI_ALIGN_H
#define QUERN_CLI_ALIGN_H

#include <stddef.h>
#include <stdint.h>

// Lines are numbers below `ids`; equal lines have equal numbers. to[i] becomes the line of b that
// equals line i of a, + 1, or 0. Ascending. Ends the process when there is no memory.
void align_lines(const uint32_t *a, size_t a_count, const uint32_t *b, size_t b_count, size_t ids,
                 size_t *to);

#endif
