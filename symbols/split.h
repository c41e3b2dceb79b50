// SPDX-License-Identifier: MIT
//
// The functions of a unit whose debug information is split from the program (-gsplit-dwarf): in its
// .dwo file, which libdw finds, or in the package of those (.dwp). Used by lines.c only.
#ifndef QUERN_SYMBOLS_SPLIT_H
#define QUERN_SYMBOLS_SPLIT_H

#include <elfutils/libdw.h>
#include <libelf.h>
#include <stdbool.h>

#include "symbols/lacks.h"

struct split;

// elf: with the skeletons, that of the file at path, open in a Dwarf by now; program: what it is
// the debug information of. Both paths and what lacks must outlive the result. NULL: no memory.
struct split *split_new(Elf *elf, const char *program, const char *path, struct lacks *lacks);
void split_free(struct split *s);

// The unit of a skeleton, which lives until the next call. False: it is no skeleton, or there is
// none.
bool split_unit(struct split *s, Dwarf_Die *skeleton, Dwarf_Die *unit);

#endif
