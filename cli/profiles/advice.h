// SPDX-License-Identifier: MIT
//
// What could be done about data that misses, in one sentence with its numbers: only where the
// profiles show it. advice.c says what has to be true.
#ifndef QUERN_CLI_ADVICE_H
#define QUERN_CLI_ADVICE_H

#include "cli/profiles/lineuse.h"
#include "cli/profiles/objects.h"
#include "cli/profiles/sharing.h"
#include "cli/profiles/walks.h"
#include "quern/profile.h"

struct advice {
    char *text;                    // a sentence
    const struct objects_row *row; // the line and the object that it is about; NULL: it has no row
};

struct advices {
    struct advice *advice; // about walks, most misses first; use of lines; sharing
    size_t count;
};

// From the first side of a profile of the data, its walks, what is used of lines, what threads
// share, and the profile of the code of the same run. None where the profiles are not of the same
// run: the sums of their misses differ.
void advice_find(struct advices *a, const struct objects *o, const struct walks *w,
                 const struct lineuses *use, const struct sharing *shared,
                 const struct quern_profile *code);
void advice_free(struct advices *a);

#endif
