// SPDX-License-Identifier: MIT
//
// Source files of a profile: where they are, their lines, and which line of an old version is which
// of the new one. cli/files/trust.h opens the files that a profile names.
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
    size_t *start; // of each line, and the end of the last
    uint32_t lines;
    bool changed; // after the profile was written
    bool refused; // found only where a profile that is not trusted may not lead
};

// Finds and reads a file: by its name in the profile, then below each folder, with all and without
// the first folders of its path. `written` is the time of the profile. To be freed with
// source_put().
struct source source_get(const struct option_list *include, struct timespec written,
                         const char *name);
// The same search below the folders alone, for commands with an order of their own: with all and
// without the first folders of the name, then by the last ones that it has in common with a file
// further down (sourcetree.h). The path, to be freed, and in *dir, if not NULL, the folder; or
// NULL. `given` as for source_is_there().
char *source_search(const struct option_list *include, const char *name, bool given,
                    const char **dir);
// For commands that search other folders: is there a file with this path, and its text. As
// trust_open(), or trust_open_given(); no path: it could not be read.
bool source_is_there(const char *path, bool given);
struct source source_read(const char *path, bool given, struct timespec written);
void source_put(struct source *s);

// For each line of the old version, from 0: the same line of the new one, from 1, or 0. Ascending;
// to be freed.
size_t *source_align(const struct source *old, const struct source *now);

#endif
