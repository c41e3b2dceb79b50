// SPDX-License-Identifier: MIT
//
// The pipeline for a spool that was left behind.
#ifndef QUERN_FINISH_RECOVER_H
#define QUERN_FINISH_RECOVER_H

#include <stdbool.h>

struct recover_how {
    bool keep, quiet;
    const char *output; // as given
    char *absolute;     // the same, from any current folder; NULL: beside the spool
    const char *given_cache;
    char *cache; // the folder; NULL: none
};

// Writes the profile of a spool and removes the spool. given: the user named the spool, so it is
// never skipped silently. Returns 0, or -1 after a message.
int recover_file(const char *path, const struct recover_how *how, bool given);

#endif
