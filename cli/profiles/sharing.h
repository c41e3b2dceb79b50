// SPDX-License-Identifier: MIT
//
// Lines that threads share, from the "desc:" lines of a data.out (docs/format.md).
#ifndef QUERN_CLI_SHARING_H
#define QUERN_CLI_SHARING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "quern/profile.h"

// One of two references, either of which has invalidated the line for the other.
struct sharing_side {
    const char *object, *object_file;
    const char *field; // "counters[3].hits", "+24", or ""
    bool writes;
    const char *function, *file; // of the code
    uint64_t line;
};

struct sharing_pair {
    char *text; // owns the names
    bool is_true;
    uint64_t invalidations, most;
    struct sharing_side side[2];
};

struct sharing {
    struct sharing_pair *pair; // those with most first
    size_t count;
    bool serialized; // else the counts depend on timing
};

// Whether a description is about sharing.
bool sharing_are(const char *desc);
// That of a profile; none if it has several parts.
void sharing_read(struct sharing *s, const struct quern_profile *p);
void sharing_free(struct sharing *s);
// Whether a pair has to do with a function of the profile, which is an object.
bool sharing_has(const struct sharing_pair *pair, const struct quern_profile *p, uint32_t func);
// "1,998 invalidations, at most 2,000; false: c.a written by f (a.c:12), c.b read by g (a.c:31)";
// to be freed.
char *sharing_text(const struct sharing *s, const struct sharing_pair *pair);
// Its parts: "1,998 invalidations, at most 2,000; false" and "c.a written by f (a.c:12)"; to be
// freed.
char *sharing_counts(const struct sharing *s, const struct sharing_pair *pair);
char *sharing_side_text(const struct sharing_side *side);
// The name of a side's place: "counters[0]", "heap: f (a.c:5) +8"; to be freed.
char *sharing_place(const struct sharing_side *side);

#endif
