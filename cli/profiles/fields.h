// SPDX-License-Identifier: MIT
//
// Fields of objects of the data: the names of the rows of a data.out, from its "desc:" lines
// (docs/format.md), and the rows of each object.
#ifndef QUERN_CLI_FIELDS_H
#define QUERN_CLI_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "quern/profile.h"

struct field {
    uint64_t addr;      // of the row
    char *path;         // "nodes[].left"
    const char *at;     // "FILE:LINE" of its declaration; ":0": unknown
    const char *object; // name and file of the function that the object is
    const char *file;
    bool inferred; // from the code that allocates a block
};

struct fields {
    struct field *field; // by object, file and addr
    size_t count;
    bool data; // it is a profile of the data
};

// Whether a description is one.
bool fields_are(const char *desc);
// Those of a profile; of several parts, too.
void fields_read(struct fields *f, const struct quern_profile *p);
void fields_free(struct fields *f);
// The name of the row of an object at addr; NULL: it has none.
const struct field *fields_find(const struct fields *f, const struct quern_profile *p,
                                uint32_t func, uint64_t addr);

// "nodes[].left", "node.left (inferred)", to be freed.
char *fields_name(const struct field *f);

// The costs of a function at one address, all parts summed.
struct fields_row {
    uint32_t func;
    uint64_t addr;
    quern_count *counts;
};
// All of them, by function and address: *n, for fields_rows_free(). None if it is no profile of the
// data.
struct fields_row *fields_rows(const struct fields *f, const struct quern_profile *p, size_t *n);
void fields_rows_free(struct fields_row *rows, size_t n);
// "nodes[].left (list.c:12)", "node.left (list.c:12, inferred)", or "+96", to be freed.
char *fields_text(const struct fields *f, const struct quern_profile *p,
                  const struct fields_row *row);

#endif
