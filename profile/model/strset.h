// SPDX-License-Identifier: MIT
//
// Interned strings: the same text always has the same number. Text is in chunks that never move, so
// pointers stay valid until strset_fini(). The lowest layer of libquern: knows no file, no profile.
#ifndef QUERN_PROFILE_STRSET_H
#define QUERN_PROFILE_STRSET_H

#include <stddef.h>
#include <stdint.h>

#include "share/table.h"

struct strset {
    const char **text; // by number; NUL-terminated
    uint32_t *len;     // by number
    uint32_t *hash;    // by number: stored so that growing the table reads no text
    struct table table;
    uint32_t count, cap;
    char *chunk; // chunk being filled; its first word links to the one before
    size_t used, size;
};

// The number of the text; UINT32_MAX when memory ran out or the text is 4 GB or longer.
uint32_t strset_add(struct strset *s, const char *text, size_t len);
// Frees the contents of the set, which is empty then, but not the set itself.
void strset_fini(struct strset *s);

#endif
