// SPDX-License-Identifier: MIT
//
// The summing table behind merging, subtracting, rewriting names and writing in sorted order:
// all of them are "add the records of a profile to a table, folded in some way, then take the table
// out sorted". For the files of profile/ only.
#ifndef QUERN_PROFILE_MERGE_H
#define QUERN_PROFILE_MERGE_H

#include "profile/model/model.h"

#define FOLD_OBJECT 1u  // all objects become none
#define FOLD_LINE   2u  // lines become 0
#define FOLD_ADDR   4u  // addresses and basic blocks become 0
#define FOLD_CALLS  8u  // calls are left out
#define FOLD_JUMPS  16u // jumps are left out
#define FOLD_FILE   32u // Cachegrind's view: a function belongs to the file of the line
#define FOLD_NO_BB  64u // basic blocks become 0

struct fold {
    unsigned flags;
    int sign; // +1 or -1
    int part; // only this part; -1: all
    const struct quern_rewrite *file, *func;
};

// 0 or -errno; on -EINVAL (different events) err says which.
int merger_add(struct quern_merger *m, const struct quern_profile *p, const char *name,
               const struct fold *fold, struct quern_error *err);
// As quern_merger_take, into a new part of an existing profile with the same events.
int merger_take_into(struct quern_merger *m, struct quern_profile *out);
// A sorted, summed copy; every part for itself unless `combine`.
struct quern_profile *profile_canonical(const struct quern_profile *p, unsigned flags, int combine,
                                        struct quern_error *err);

#endif
