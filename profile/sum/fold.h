// SPDX-License-Identifier: MIT
//
// A profile whose records are folded: those that differ only in omitted fields are summed.
#ifndef QUERN_PROFILE_FOLD_H
#define QUERN_PROFILE_FOLD_H

#include "profile/model/walk.h"

#define FOLD_OBJECT 1u  // all objects become none
#define FOLD_LINE   2u  // lines become 0
#define FOLD_ADDR   4u  // addresses and basic blocks become 0
#define FOLD_CALLS  8u  // calls are left out
#define FOLD_JUMPS  16u // jumps are left out
#define FOLD_FILE   32u // Cachegrind's view: a function belongs to the file of the line

struct fold {
    unsigned flags;
    int sign; // +1 or -1
    int part; // only this part; -1: all
    const struct quern_rewrite *file, *func;
    // For one part after another: where the last part ended; becomes the end of this one. Records
    // are in order of parts, so all parts together are read once. NULL: from the beginning to the
    // end.
    struct walk *at;
};

// A sorted, summed copy of the profile, which the caller frees; each part separately unless
// `combine`. NULL: errno and *err say why.
struct quern_profile *fold_sorted(const struct quern_profile *p, unsigned flags, bool combine,
                                  struct quern_error *err);

#endif
