// SPDX-License-Identifier: MIT
//
// The type of what an allocator's call returns, where the code at the call says so without doubt.
// Used by lines.c only.
#ifndef QUERN_SYMBOLS_BLOCKTYPE_H
#define QUERN_SYMBOLS_BLOCKTYPE_H

#include <elfutils/libdw.h>
#include <stdbool.h>

#include "symbols/symbols.h"

struct blocktype {
    Dwarf_Die type;
    char name[256]; // as in "node"
};

// Of the call at b->site, which is in the unit. Its blocks may be one of the type, or many; or, if
// it ends in an array without a bound, more. False: none is certain.
bool blocktype_find(Dwarf_Die *unit, const struct symbols_block *b, struct blocktype *out);

#endif
