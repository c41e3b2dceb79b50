// SPDX-License-Identifier: MIT
//
// Where the files recovered from a spool are written.
#ifndef QUERN_FINISH_RECOVER_NAMES_H
#define QUERN_FINISH_RECOVER_NAMES_H

#include "finish/profile/profile.h"
#include "finish/recover/recover_spool.h"

struct recover_names {
    struct output_files files;
    // To print, without control characters: the profile's name, and where the run was told to write
    // it (NULL: there).
    char *shown, *wanted;
};

// The names of the files that are written for a spool, with the spool's folder as current folder:
// `given`, which is absolute or "-", or beside the spool. Returns 0, or -1 with a message in err.
// Free `out` in any case.
int recover_names(const struct spool_file *s, const struct recover_spool *r, const char *given,
                  struct recover_names *out, char *err, size_t err_size);
void recover_names_free(struct recover_names *names);

#endif
