// SPDX-License-Identifier: MIT
// --calls=yes: where the functions of modules start, and which code is a linkage table. Read once,
// when a module's first block is translated, from .symtab, .dynsym and .eh_frame_hdr of its file,
// and from .symtab of the file below /usr/lib/debug with its build-id. Names, which the finisher
// knows, do not matter. @holds(translation lock), all of it.
//
// A function extends to the start of the next one. As in symbols/: a symbol with a size is a
// function; labels and .eh_frame divide the rest. A module without symbols, and generated code, is
// one function each.
#ifndef QUERN_ENGINE_FUNCTIONS_H
#define QUERN_ENGINE_FUNCTIONS_H

#include "engine/base/types.h"

struct function {
    u64 start, end; // end: ~0 if no other follows in the mapping
    u32 map;        // index of the spool_map
    bool plt;       // a linkage table, or a part of it
    bool skip;      // the same, if contexts hide it
    u64 rules;      // the patterns that its names match (patterns.h)
    u32 mark;       // what functions_mark() says of the first of its names for which it is not 0
};

// The function that contains addr. Never fails: unmapped memory is a function of its own.
struct function functions_at(u64 addr);

// Where the functions of a mapping start, all that functions_at() goes by without patterns and
// marks: *n offsets, sorted, the highest bit set in a linkage table.
const u32 *functions_starts(u32 map, u32 *n);

// A number for the name of a symbol, as it is in the file; 0: none. NULL: no names are read for it.
extern u32 (*functions_mark)(const char *name);

// Demangles names as in the profile. names: each with its NUL. Returns the descriptor of a memory
// file with as many texts, empty where the name is the same, or -errno. Set by syscalls/counting.c,
// which may execute a program; process/finisher.h has it.
extern long (*functions_demangle)(const char *names, u64 bytes);

#endif
