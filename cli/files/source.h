// SPDX-License-Identifier: MIT
//
// Source files of a profile: where they are, what is in them line by line, and which line of an old
// version is which of the new one. What a profile names is opened by cli/files/trust.h.
#ifndef QUERN_CLI_SOURCE_H
#define QUERN_CLI_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "cli/options/options.h"

struct source {
    char *path; // NULL: not found
    char *text;
    size_t size;
    size_t *start; // of each line; one more
    uint32_t lines;
    bool changed; // after the profile was written
    bool refused; // not found where a stranger's profile may send its reader
};

// The file of this name: as the profile calls it; then below each folder, whole and without its
// first folders. `written` is when the profile was. To be freed with source_put().
struct source source_get(const struct option_list *include, struct timespec written,
                         const char *name);
// For commands that look in other places: is there a file of this path, and what is in it? As
// trust_open(), or trust_open_given(); no path: it could not be read.
bool source_is_there(const char *path, bool given);
struct source source_read(const char *path, bool given, struct timespec written);
void source_put(struct source *s);

// By line of the old version, from 0: the line of the new one that it is, from 1, or 0. Ascending;
// to be freed.
size_t *source_align(const struct source *old, const struct source *now);

#endif
