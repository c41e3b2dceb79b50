// SPDX-License-Identifier: MIT
// The options of contexts that select functions (--separate-callers and its like): a list in the
// spool, each with a pattern that is matched against the names of symbols.
#ifndef QUERN_ENGINE_PATTERNS_H
#define QUERN_ENGINE_PATTERNS_H

#include "engine/base/types.h"

#define PATTERNS_MAX 64

struct patterns {
    u32 callers, recs; // callers and levels that distinguish its contexts
    u32 group;
    bool skip, toggle;
    bool before, after, zero; // dump before or after it; clear the counts before it
};

// After the spool is mapped.
void patterns_init(void);

// Whether any pattern has to be matched against names; whether there is an option of these kinds.
bool patterns_any(void);
bool patterns_has(const char *kinds);
// The mask of the patterns that match.
u64 patterns_match(const char *name);
// The combined options of the patterns in `mask`, and of options without a pattern.
struct patterns patterns_of(u64 mask);

#endif
