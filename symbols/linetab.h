// SPDX-License-Identifier: MIT
//
// A reader of DWARF 5 line tables that needs only .debug_line and its strings: since version 5 a
// line program names its own folder and files. libdw first inflates all of .debug_info, which costs
// more than all other work at the end of a short run (libc's debug file: 52 ms; this reader: 12
// ms). libdw reads older and very large tables (lines.c). Used by learn.c only.
#ifndef QUERN_SYMBOLS_LINETAB_H
#define QUERN_SYMBOLS_LINETAB_H

#include <libelf.h>
#include <stdint.h>

#include "symbols/lines.h"
#include "symbols/strings.h"

struct linetab;

// NULL: no .debug_line, or not all of it is of version 5, or it is damaged or larger than
// LINETAB_SIZE_MAX.
struct linetab *linetab_new(Elf *elf, struct strings *strings);
void linetab_free(struct linetab *t);
// The size of the line programs: the cost of running all of them.
size_t linetab_size(const struct linetab *t);
void linetab_find(struct linetab *t, uint64_t address, struct lines_row *out);

#endif
