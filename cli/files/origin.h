// SPDX-License-Identifier: MIT
//
// Which profiles were recorded here, by this user: a list of their digests in the folder of the
// caches, with a key that nobody else can read. The profile itself has no mark: it can be copied,
// renamed and packed. docs/design/061-sources.md says why.
#ifndef QUERN_CLI_ORIGIN_H
#define QUERN_CLI_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/files/digest.h"

// Adds a profile that was just written to the list. If that fails (no home, a full disk, somebody
// else's folder), no message is printed, and the profile is not trusted later.
void origin_note(const char *path);

// A query: origin_begin() opens the lists, origin_add() takes the bytes of a profile, origin_end()
// says whether a list has it.
struct origin {
    struct {
        int fd;
        struct digest digest;
    } list[2];
    int lists;
};

void origin_begin(struct origin *o);
void origin_add(struct origin *o, const void *bytes, size_t n);
bool origin_end(struct origin *o);

#endif
