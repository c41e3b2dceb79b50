// SPDX-License-Identifier: MIT
//
// Source file and line of an address, from the line tables of one debug file (libdw). Reads tables
// unit by unit, on the first query for an address of the unit. Used by learn.c only.
#ifndef QUERN_SYMBOLS_LINES_H
#define QUERN_SYMBOLS_LINES_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "symbols/strings.h"
#include "symbols/symbols.h"

struct lines;

// Takes an Elf with .debug_line: that of the file at path, which is the program or has its debug
// information. NULL if libdw cannot read it. The caller keeps the Elf and the name of the program
// until lines_free().
struct lines *lines_new(Elf *elf, const char *program, const char *path, struct strings *strings);
void lines_free(struct lines *l);

// Missing debug information, without which names and inlined calls are missing: the next message
// that was not returned yet, valid until the next call. NULL: none.
const char *lines_lack(struct lines *l);

struct lines_row {
    uint64_t start, end; // the answer is the same in this range; also for "no line"
    uint32_t file, line; // 0, 0: no line
};
// `named`: a function symbol covers the address, so a search for its unit beyond .debug_aranges is
// worth its cost.
void lines_find(struct lines *l, uint64_t address, bool named, struct lines_row *out);
size_t lines_inlined(struct lines *l, uint64_t address, struct symbols_frame *out, size_t max,
                     char *(*readable)(const char *name));
const struct symbols_body *lines_body(struct lines *l, uint64_t address,
                                      char *(*readable)(const char *name));
// See symbols_fields() and symbols_block().
void lines_fields(struct lines *l, struct symbols_field *field, size_t n);
void lines_block(struct lines *l, struct symbols_block *b);

#endif
