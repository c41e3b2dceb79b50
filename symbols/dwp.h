// SPDX-License-Identifier: MIT
//
// Packages of split debug information (.dwp), for a libdw that cannot read them (before elfutils
// 0.191): finds a unit by its id and lets libdw read only that. Used by split.c only.
#ifndef QUERN_SYMBOLS_DWP_H
#define QUERN_SYMBOLS_DWP_H

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

struct dwp;

// Reads the index of an open file, which the caller keeps open. NULL: no memory, or not a package;
// then *damage says what is wrong.
struct dwp *dwp_new(int fd, const char **damage);
void dwp_free(struct dwp *p);

// What a unit of a package uses of its program: .debug_addr and .debug_ranges from the skeleton's
// offset to their ends.
struct dwp_skeleton {
    uint64_t id, low_pc;
    const unsigned char *addr, *ranges;
    size_t addr_size, ranges_size;
};

enum dwp_answer { DWP_FOUND, DWP_ABSENT, DWP_DAMAGED };

// The unit with the skeleton's id, as an ordinary unit, valid until the next call. It has no line
// table: its files are the skeleton's.
enum dwp_answer dwp_unit(struct dwp *p, const struct dwp_skeleton *s, Dwarf_Die *unit,
                         const char **damage);

#endif
