// SPDX-License-Identifier: MIT
//
// Self costs of functions by source file. The reader fills them while it reads if asked to
// (quern_read_opts.rows), which saves a walk over all records; else that walk makes them.
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
    uint64_t records; // of the profile when its reader had filled the rows
};

// The mask of the first n counts.
static inline uint64_t self_present(size_t n)
{
    return n < 64 ? ((uint64_t)1 << n) - 1 : UINT64_MAX;
}

// The row; a new one is zero. QUERN_NONE: no memory.
uint32_t self_find(struct self_rows *t, uint32_t func, uint32_t file);
// Adds counts to the row of a profile that stores rows. Drops the rows if they cannot be right any
// more, or without memory: then a walk makes them when they are asked for.
void self_keep(struct quern_profile *p, uint32_t func, uint32_t file, uint64_t present,
               const quern_count *v, size_t n);
void self_drop(struct quern_profile *p);

#endif
