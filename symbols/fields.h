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
    size_t open; // those without an answer
    // The file whose number an attribute of the die gives.
    uint32_t (*file)(void *ctx, Dwarf_Die *die, unsigned attribute);
    void *ctx;
};

// Answers the questions about variables of a unit: those of the whole program; with `deep` those
// inside of functions, too, which takes a walk through all of the unit.
void fields_unit(struct fields *f, Dwarf_Die *unit, bool deep);

#endif
