// SPDX-License-Identifier: MIT
//
// Which member of a variable is at an offset, from the types of debug information. Used by lines.c
// only.
#ifndef QUERN_SYMBOLS_FIELDS_H
#define QUERN_SYMBOLS_FIELDS_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/symbols.h"

struct fields {
    struct symbols_field *field; // by `local`, then by start
    size_t count;
    size_t open; // those without an answer; of these, inner ones
    size_t open_inner;
    // The file whose number an attribute of the die gives.
    uint32_t (*file)(void *ctx, Dwarf_Die *die, unsigned attribute);
    void *ctx;
};

// Answers the questions about variables of a unit: those of the whole program; with `deep` those
// inside of functions, too, which takes a walk through all of the unit.
void fields_unit(struct fields *f, Dwarf_Die *unit, bool deep);

// Answers a question about blocks of `least` to `most` bytes, of one or more of a type.
void fields_block(const struct fields *f, struct symbols_field *q, const char *name,
                  const Dwarf_Die *type, uint64_t least, uint64_t most);

// The type behind typedefs and qualifiers. False: there is none.
bool fields_peel(Dwarf_Die *type);
bool fields_size(Dwarf_Die type, uint64_t *size);
// The elements of an array of one dimension. False: it is none.
bool fields_element(Dwarf_Die *array, Dwarf_Die *element);
// Whether it is a structure that ends in an array without a bound.
bool fields_is_open(Dwarf_Die type);

#endif
