// SPDX-License-Identifier: MIT
//
// Source file and line of an address, from the line tables of one debug file (libdw). Tables are
// read unit by unit, when an address of the unit is asked for. Used by learn.c only.
#ifndef QUERN_SYMBOLS_LINES_H
#define QUERN_SYMBOLS_LINES_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "symbols/strings.h"
#include "symbols/symbols.h"

struct lines;

// Takes an Elf with .debug_line, that of the file at path, which the program has its debug
// information in (or is itself); NULL when libdw cannot read it. The Elf and the name of the
// program stay the caller's and must outlive the result.
struct lines *lines_new(Elf *elf, const char *program, const char *path, struct strings *strings);
void lines_free(struct lines *l);

// What was looked for and is not there, so that names and inlined calls are missing: a sentence
// that was not handed out yet, which lives until the next call. NULL: none.
const char *lines_lack(struct lines *l);

struct lines_row {
    uint64_t start, end; // the answer holds for this range; also for "no line"
    uint32_t file, line; // 0, 0: no line
};
// `named`: a function symbol has the address, so it is worth while to look for its unit in more
// than .debug_aranges.
void lines_find(struct lines *l, uint64_t address, bool named, struct lines_row *out);
size_t lines_inlined(struct lines *l, uint64_t address, struct symbols_frame *out, size_t max,
                     char *(*readable)(const char *name));
const struct symbols_body *lines_body(struct lines *l, uint64_t address,
                                      char *(*readable)(const char *name));

#endif
