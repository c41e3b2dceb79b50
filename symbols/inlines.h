// SPDX-License-Identifier: MIT
//
// The bodies of inlined functions, of one unit of debug information: read when an address of the
// unit is first asked for, and kept. Used by lines.c only.
#ifndef QUERN_SYMBOLS_INLINES_H
#define QUERN_SYMBOLS_INLINES_H

#include <elfutils/libdw.h>
#include <stdint.h>

#include "symbols/strings.h"
#include "symbols/symbols.h"

struct inlines;

// What lines.c knows of names and files of a unit.
struct inlines_names {
    void *ctx;
    // scope: "a::b" around a function of C++ that has no mangled name (those that no other file can
    // call, as g++ describes them), else NULL
    uint32_t (*name)(void *ctx, Dwarf_Die *die, const char *scope);
    // That which an attribute of the die, or of what it is a copy of, numbers.
    uint32_t (*file)(void *ctx, Dwarf_Die *die, unsigned attribute);
};

// NULL: no memory.
struct inlines *inlines_new(Dwarf_Die *unit, const struct inlines_names *names);
void inlines_free(struct inlines *u);

// The innermost body that has the address; NULL: none.
const struct symbols_body *inlines_find(const struct inlines *u, uint64_t address);

#endif
