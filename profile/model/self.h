// SPDX-License-Identifier: MIT
//
// Self costs of functions by source file. The reader fills them while it reads when it is asked to
// (quern_read_opts.rows), which saves a walk over all records; else they are made by that walk.
#ifndef QUERN_PROFILE_SELF_H
#define QUERN_PROFILE_SELF_H

#include "profile/model/model.h"

struct self_rows {
    struct self_row {
        uint32_t func, file;
        uint64_t present;
    } * row;
    quern_count *counts; // `events` for each row
    struct table table;
    uint32_t count, cap;
    size_t events;
    uint64_t records; // of the profile when its reader had filled them
};

// The first n counts are set.
static inline uint64_t self_present(size_t n)
{
    return n < 64 ? ((uint64_t)1 << n) - 1 : UINT64_MAX;
}

// The row, new and zero perhaps. QUERN_NONE: no memory.
uint32_t self_find(struct self_rows *t, uint32_t func, uint32_t file);
// Adds counts to the row of a profile that keeps rows. One that cannot be right any more, or finds
// no memory, keeps them no longer: they are walked for when somebody asks.
void self_keep(struct quern_profile *p, uint32_t func, uint32_t file, uint64_t present,
               const quern_count *v, size_t n);
void self_drop(struct quern_profile *p);

#endif
