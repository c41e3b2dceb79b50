// SPDX-License-Identifier: MIT
//
// The symbols of .gnu_debugdata ("minidebuginfo"): a small xz-compressed ELF file with the local
// functions, inside a stripped one. Used by learn.c only.
#ifndef QUERN_SYMBOLS_MINIDEBUG_H
#define QUERN_SYMBOLS_MINIDEBUG_H

#include "symbols/elfsym.h"
#include "symbols/strings.h"

// Adds the functions that libdwfl finds in the file at path; stores names in strings.
void minidebug_add(struct elfsym_table *t, struct strings *strings, const char *path);

#endif
