// SPDX-License-Identifier: MIT
//
// Walks through objects of the data, from the "desc:" lines of a data.out (docs/format.md).
#ifndef QUERN_CLI_WALKS_H
#define QUERN_CLI_WALKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "quern/profile.h"

struct walk {
    char *how; // "stride 5600 by pointers"
    uint64_t count, steps;
    const char *object;
    const char *function, *file; // of the line that walks; NULL: all lines
    uint64_t line;
};

struct walks {
    struct walk *walk;
    size_t count;
    const struct walk **by_place; // by object, function, file, line; those of objects first
};

// Whether a description is one.
bool walks_are(const char *desc);
// Those of a profile. None if it has several parts, whose shares cannot be summed.
void walks_read(struct walks *w, const struct quern_profile *p);
void walks_free(struct walks *w);
// That of an object of that name; NULL: there is none.
const struct walk *walks_of_object(const struct walks *w, const char *object);
// That of a line of a function through an object; NULL: there is none.
const struct walk *walks_at(const struct walks *w, const char *object, const char *function,
                            const char *file, uint64_t line);
// Those of a line, the one with the most steps first: *n of them in an array to be freed, or NULL.
const struct walk **walks_of_line(const struct walks *w, const char *file, uint64_t line,
                                  size_t *n);
// "stride 5,600, 99 %", to be freed.
char *walks_text(const struct walk *walk);

#endif
