// SPDX-License-Identifier: MIT
//
// The functions of a unit whose debug information is split from the program (-gsplit-dwarf): in its
// .dwo file, which libdw finds, or in a package of these (.dwp). Used by lines.c only.
#ifndef QUERN_SYMBOLS_SPLIT_H
#define QUERN_SYMBOLS_SPLIT_H

#include <elfutils/libdw.h>
#include <libelf.h>
#include <stdbool.h>

#include "symbols/lacks.h"

struct split;

// elf: the file at path with the skeletons, already open in a Dwarf; program: whose debug
// information it is. Both paths and lacks must outlive the result. NULL: no memory.
struct split *split_new(Elf *elf, const char *program, const char *path, struct lacks *lacks);
void split_free(struct split *s);

// The unit of a skeleton, valid until the next call. False: not a skeleton, or no unit found.
bool split_unit(struct split *s, Dwarf_Die *skeleton, Dwarf_Die *unit);

#endif
