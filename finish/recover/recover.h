// SPDX-License-Identifier: MIT
//
// The pipeline for a spool that was left.
#ifndef QUERN_FINISH_RECOVER_H
#define QUERN_FINISH_RECOVER_H

#include <stdbool.h>

struct recover_how {
    bool keep, quiet;
    const char *output; // as given
    char *absolute;     // the same, from wherever the work is done; NULL: beside the spool
    const char *given_cache;
    char *cache; // the folder; NULL: nowhere
};

// Writes the profile of a spool and removes that. given: named by the user, so that nothing is
// passed over in silence. 0, or -1 after a message.
int recover_file(const char *path, const struct recover_how *how, bool given);

#endif
