// SPDX-License-Identifier: MIT
//
// Blocks of allocators over time, by object of the data, from the "desc:" lines of a data.out
// (docs/format.md).
#ifndef QUERN_CLI_LIFETIMES_H
#define QUERN_CLI_LIFETIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "quern/profile.h"

// ORDER lifetimes_count: the columns
enum lifetimes_count {
    LIFETIMES_ALL,
    LIFETIMES_BYTES,
    LIFETIMES_GONE,
    LIFETIMES_GONE_BYTES,
    LIFETIMES_PEAK,
    LIFETIMES_PEAK_BYTES,
    LIFETIMES_MISSED,
    LIFETIMES_MISSED_BYTES,
    LIFETIMES_COLD,
    LIFETIMES_COUNTS
};

extern const char *const lifetimes_names[LIFETIMES_COUNTS];

struct lifetime {
    char *text; // owns the names below
    uint64_t n[LIFETIMES_COUNTS];
    bool lost; // those from LIFETIMES_MISSED on are not known
    const char *object, *file;
};

struct lifetimes {
    struct lifetime *of; // by object and file
    size_t count;
};

// Whether a description is one.
bool lifetimes_are(const char *desc);
// Those of a profile; none if it has several parts.
void lifetimes_read(struct lifetimes *l, const struct quern_profile *p);
// Those of the parts from first to end - 1; none if these are not one.
void lifetimes_read_parts(struct lifetimes *l, const struct quern_profile *p, size_t first,
                          size_t end);
void lifetimes_free(struct lifetimes *l);
// That of a function; NULL: it is no such object.
const struct lifetime *lifetimes_find(const struct lifetimes *l, const struct quern_profile *p,
                                      uint32_t func);
const struct lifetime *lifetimes_named(const struct lifetimes *l, const char *object,
                                       const char *file);
// "300 blocks, 26,400 bytes; at most 6,400 bytes; 12 never missed; 150 misses cold", to be freed.
char *lifetimes_text(const struct lifetime *b);

#endif
