// SPDX-License-Identifier: MIT
//
// A profile whose records are folded: what differs only in what is left out is summed.
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
    // One part after another: where the part before ended, and then where this one does. Records
    // come part by part, so all parts together are read once. NULL: from the beginning to the end.
    struct walk *at;
};

// A sorted, summed copy of the profile, to be freed; every part for itself unless `combine`. NULL:
// errno and *err say why.
struct quern_profile *fold_sorted(const struct quern_profile *p, unsigned flags, bool combine,
                                  struct quern_error *err);

#endif
