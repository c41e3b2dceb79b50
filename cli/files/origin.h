// SPDX-License-Identifier: MIT
//
// Which profiles were recorded here, by this user: a list of their digests in the folder of the
// caches, with a key that nobody else can read. A profile says nothing of it, so it can be copied,
// renamed and packed; why it is done so is in docs/design/061-sources.md.
#ifndef QUERN_CLI_ORIGIN_H
#define QUERN_CLI_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/files/digest.h"

// Notes a profile that was just written. What cannot be noted (no home, a full disk, somebody
// else's folder) counts as a stranger's later; nothing is said.
void origin_note(const char *path);

// To ask: the lists that there are, then the bytes of a profile, then whether any has them.
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
