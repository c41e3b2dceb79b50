// SPDX-License-Identifier: MIT
//
// What is used of the lines that are fetched, by object of the data, from the "desc:" lines of a
// data.out (docs/format.md).
#ifndef QUERN_CLI_LINEUSE_H
#define QUERN_CLI_LINEUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "quern/profile.h"

struct lineuse {
    char *text;            // owns the names below
    uint64_t lines, bytes; // that were followed; that were referenced of these
    const char *object, *file;
};

struct lineuses {
    struct lineuse *of; // by object and file
    size_t count;
    uint64_t one_in, line; // of so many lines one was followed; bytes of a line
};

// Whether a description is about this.
bool lineuse_are(const char *desc);
// That of a profile; none if it has several parts.
void lineuse_read(struct lineuses *l, const struct quern_profile *p);
void lineuse_free(struct lineuses *l);
// That of a function, which is an object; NULL: none of its lines was followed.
const struct lineuse *lineuse_find(const struct lineuses *l, const struct quern_profile *p,
                                   uint32_t func);
const struct lineuse *lineuse_named(const struct lineuses *l, const char *object, const char *file);
// "8", "12.5": bytes of a line on average, to be freed. Rounded to a tenth.
char *lineuse_average(const struct lineuse *u);
// "8 of 64 bytes of each line used, by a sample of 1,280 lines", to be freed.
char *lineuse_text(const struct lineuses *l, const struct lineuse *u);

#endif
