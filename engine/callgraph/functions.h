// SPDX-License-Identifier: MIT
// --calls=yes: where the functions of modules begin, and which code is a linkage table. Read from
// .symtab, .dynsym and .eh_frame_hdr of a module's file, and .symtab of what the distribution has
// put below /usr/lib/debug for its build-id, once, when its first block is translated; the names,
// which the finisher knows, play no part. @holds(translation lock), all of it.
//
// A function goes from one beginning to the next. As symbols/ has it: a symbol with a size is a
// function, and what is left between them is told apart by labels and .eh_frame. A module of which
// nothing is known, and generated code, is one function each.
#ifndef QUERN_ENGINE_FUNCTIONS_H
#define QUERN_ENGINE_FUNCTIONS_H

#include "engine/base/types.h"

struct function {
    u64 start, end; // end: ~0 where no other follows in the mapping
    u32 map;        // index of the spool_map
    bool plt;       // a linkage table, or a part of one
    bool skip;      // the same, where contexts hide it
    u64 rules;      // of rules.h that its names match
};

// That which holds addr. Never fails: what is not mapped is a function of its own.
struct function functions_at(u64 addr);

// What functions of these names, each with its NUL, are called in the profile: a file of memory
// that has as many texts, empty ones where that is the same. Its descriptor, or -errno. Set by who
// may execute something (syscalls/counting.c): process/finisher.h has it.
extern long (*functions_demangle)(const char *names, u64 bytes);

#endif
