// SPDX-License-Identifier: MIT
//
// Where goes what is written of a spool that was left.
#ifndef QUERN_FINISH_RECOVER_NAMES_H
#define QUERN_FINISH_RECOVER_NAMES_H

#include "finish/profile/profile.h"
#include "finish/recover/recover_spool.h"

struct recover_names {
    struct output_files files;
    // For people, without control characters: the profile's name, and where the run was told to
    // write it; NULL: there.
    char *shown, *wanted;
};

// The names of what is written for a spool, in whose folder the process is: `given`, which is
// absolute or "-", or beside it. 0, or -1 with a sentence in err. To be freed in any case.
int recover_names(const struct spool_file *s, const struct recover_spool *r, const char *given,
                  struct recover_names *out, char *err, size_t err_size);
void recover_names_free(struct recover_names *names);

#endif
