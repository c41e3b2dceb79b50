// SPDX-License-Identifier: MIT
// What the options of contexts say of functions (--separate-callers and its like): a list of rules
// in the spool, each with a pattern that is held against the names of symbols.
#ifndef QUERN_ENGINE_PATTERNS_H
#define QUERN_ENGINE_PATTERNS_H

#include "engine/base/types.h"

#define PATTERNS_MAX 64

struct patterns {
    u32 callers, recs; // that tell calls of it apart
    u32 group;
    bool skip, toggle;
    bool before, after, zero; // parts that are written; and counts forgotten before it
};

// With the spool mapped.
void patterns_init(void);

// Whether a pattern has to be held against names at all; whether there is a rule of these kinds.
bool patterns_any(void);
bool patterns_has(const char *kinds);
// Which of them match.
u64 patterns_match(const char *name);
// What these say, and those without a pattern.
struct patterns patterns_of(u64 mask);

#endif
