// SPDX-License-Identifier: MIT
//
// Packages of split debug information (.dwp), for a libdw that does not read them (before elfutils
// 0.191): finds a unit by its id and has libdw read that one alone. Used by split.c only.
#ifndef QUERN_SYMBOLS_DWP_H
#define QUERN_SYMBOLS_DWP_H

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

struct dwp;

// Reads the index of an open file, which stays the caller's and must stay open. NULL: no memory, or
// it is no package; *damage says what is wrong then.
struct dwp *dwp_new(int fd, const char **damage);
void dwp_free(struct dwp *p);

// What a unit of a package has from its program: of .debug_addr and .debug_ranges what its skeleton
// says it has of them, from there to their ends.
struct dwp_skeleton {
    uint64_t id, low_pc;
    const unsigned char *addr, *ranges;
    size_t addr_size, ranges_size;
};

enum dwp_answer { DWP_FOUND, DWP_ABSENT, DWP_DAMAGED };

// The unit with the skeleton's id, as an ordinary unit, which lives until the next call. That has
// no line table: its files are the skeleton's.
enum dwp_answer dwp_unit(struct dwp *p, const struct dwp_skeleton *s, Dwarf_Die *unit,
                         const char **damage);

#endif
