// SPDX-License-Identifier: MIT
//
// The bodies of inlined functions, of one unit of debug information: read on the first query for an
// address of the unit, and kept in memory. Used by lines.c only.
#ifndef QUERN_SYMBOLS_INLINES_H
#define QUERN_SYMBOLS_INLINES_H

#include <elfutils/libdw.h>
#include <stdint.h>

#include "symbols/strings.h"
#include "symbols/symbols.h"

struct inlines;

// Callbacks into lines.c for names and files of a unit.
struct inlines_names {
    void *ctx;
    // scope: "a::b" around a C++ function without a mangled name (g++ gives none to one that no
    // other file can call), else NULL
    uint32_t (*name)(void *ctx, Dwarf_Die *die, const char *scope);
    // The file whose number an attribute of the die, or of its origin, gives.
    uint32_t (*file)(void *ctx, Dwarf_Die *die, unsigned attribute);
};

// NULL: no memory.
struct inlines *inlines_new(Dwarf_Die *unit, const struct inlines_names *names);
void inlines_free(struct inlines *u);

// The innermost body that contains the address; NULL: none.
const struct symbols_body *inlines_find(const struct inlines *u, uint64_t address);

#endif
