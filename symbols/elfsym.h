// SPDX-License-Identifier: MIT
//
// The function symbols of a module, sorted by address, from any number of symbol tables; for
// addresses without one, labels without a type or size, then the function starts of .eh_frame_hdr.
// Used by learn.c only.
#ifndef QUERN_SYMBOLS_ELFSYM_H
#define QUERN_SYMBOLS_ELFSYM_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elfsym {
    uint64_t start, end;
    uint64_t max_end; // of this symbol and all before it
    const char *name; // in the string table of its ELF file; NULL: a range of .eh_frame
    uint32_t number;  // of the shown name; 0: not looked up yet (by the caller)
    bool weak_range;  // no size or no type: extends to the next symbol; sized ones win
};

struct elfsym_table {
    struct elfsym *sym;
    size_t count, room;
    size_t last; // hint: the symbol found last
};

// Adds the function symbols of the tables of one type (SHT_SYMTAB or SHT_DYNSYM). True if there
// were any. The Elf must outlive the table.
bool elfsym_add(struct elfsym_table *t, Elf *elf, unsigned section_type);
// One function; the name must outlive the table.
void elfsym_add_one(struct elfsym_table *t, uint64_t start, uint64_t size, const char *name);
// Adds the ranges of .eh_frame_hdr that no symbol covers, without PLTs. Call elfsym_sort before and
// after.
void elfsym_add_eh_frame(struct elfsym_table *t, Elf *elf);
void elfsym_sort(struct elfsym_table *t);
// NULL: no symbol covers the address.
struct elfsym *elfsym_find(struct elfsym_table *t, uint64_t address);
// The first address above this one where elfsym_find may give another answer.
uint64_t elfsym_next_change(const struct elfsym_table *t, uint64_t address);
void elfsym_fini(struct elfsym_table *t);

#endif
