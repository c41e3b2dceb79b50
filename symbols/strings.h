// SPDX-License-Identifier: MIT
//
// Interned strings of symbols/: each text is stored once and has a number. Number 0 is "???".
// Pointers stay valid when more are added.
#ifndef QUERN_SYMBOLS_STRINGS_H
#define QUERN_SYMBOLS_STRINGS_H

#include <stddef.h>
#include <stdint.h>

#include "share/table.h"

struct strings {
    char **text; // by number
    uint32_t count, room;
    struct table table;
};

bool strings_init(struct strings *s); // false: no memory
void strings_fini(struct strings *s);
// The number of a text; 0 ("???") also when memory is out.
uint32_t strings_add(struct strings *s, const char *text, size_t len);

#endif
