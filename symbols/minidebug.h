// SPDX-License-Identifier: MIT
//
// The symbols of .gnu_debugdata ("minidebuginfo"): a small xz-compressed ELF file inside a stripped
// one, which holds the local functions. Used by learn.c only.
#ifndef QUERN_SYMBOLS_MINIDEBUG_H
#define QUERN_SYMBOLS_MINIDEBUG_H

#include "symbols/elfsym.h"
#include "symbols/strings.h"

// Adds the functions that libdwfl finds in the file at path; names are kept in strings.
void minidebug_add(struct elfsym_table *t, struct strings *strings, const char *path);

#endif
