// SPDX-License-Identifier: MIT
//
// A profile of the data (quern run --data=yes, docs/format.md): its objects, the places in each,
// and the lines of the code that miss in them; also of two such profiles, side by side. Read by
// `quern report` and by advice.c.
#ifndef QUERN_CLI_OBJECTS_H
#define QUERN_CLI_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/profiles/fields.h"
#include "cli/profiles/lifetimes.h"
#include "quern/profile.h"

// A place of an object with misses, or a line of the code that misses in it.
struct objects_row {
    uint32_t object; // a function of `p`
    uint32_t func;   // the one that misses; QUERN_NONE: a place of the object
    uint32_t file;   // of the line: a string of `p`
    uint64_t line, addr;
    uint64_t calls[2]; // how often it misses: of the code only
    uint64_t begin;    // line of the object, of its allocation or definition: of the code only
    size_t at;         // of its counts: those of the profile, then those of the base
};

struct objects {
    struct quern_profile *p; // the profile and its base, as parts
    size_t events;           // recorded ones
    bool base;
    quern_count *counts;
    // By object; of each its places, then the lines of the code, by function, file, line.
    struct objects_row *row;
    size_t rows;
    quern_count *total;          // of all places: those of the profile, then those of the base
    struct fields fields;        // of both
    struct lifetimes blocks[2];  // of the profile, of the base
};

// Whether a profile is one of the data.
bool objects_are(const struct quern_profile *p);
// Is there a regular file? One that is found by its name must not be a pipe that never ends.
bool objects_file(const char *path);
// Takes both apart; `base` may be NULL. Neither is needed any longer. Objects and functions of both
// are the same if object file, file and name are, else if file and name are, as for the code. Ends
// the process with a message if their events differ.
void objects_read(struct objects *o, const struct quern_profile *p, const char *path,
                  const struct quern_profile *base, const char *base_path);
void objects_free(struct objects *o);
// The counts of a row in the profile (0) or the base (1): `events` of them.
const quern_count *objects_counts(const struct objects *o, const struct objects_row *row, int side);
// What counts weigh: all D1 misses; of a profile without these the first event.
quern_count objects_weight(const struct objects *o, const quern_count *counts);
// The field that a row of places is; NULL: it has no name.
const struct field *objects_field(const struct objects *o, const struct objects_row *row);
const char *objects_name(const struct objects *o, uint32_t func);

#endif
