// SPDX-License-Identifier: MIT
//
// Names of generated code: what compilers at run time write for perf. /tmp/perf-PID.map (node, the
// JVM, LuaJIT, .NET) has a line for each function: where it begins, how long it is, both in
// hexadecimal digits, and its name. jitdump.c reads the other form.
#ifndef QUERN_SYMBOLS_PERFMAP_H
#define QUERN_SYMBOLS_PERFMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct perfmap;

struct perfmap *perfmap_new(void); // NULL: no memory
void perfmap_free(struct perfmap *m);

// A file that this user owns, for reading; NULL: it is none, or there is none, or it was written
// before `since`, ns since 1970: by another process, of the same number.
FILE *perfmap_open(const char *path, uint64_t since);

// Adds what such a file says. Lines that say nothing are passed over.
void perfmap_read(struct perfmap *m, const char *path, uint64_t since);

// ---- For jitdump.c ----

// A function. False: there is no room for its name.
bool perfmap_add(struct perfmap *m, uint64_t start, uint64_t size, const char *name, size_t len);
// What was added as being at `from` is at `to` from now on, too.
void perfmap_move(struct perfmap *m, uint64_t from, uint64_t to, uint64_t size);

// ---- Asking ----

bool perfmap_is_empty(const struct perfmap *m);

// The name of the function at an address, *len characters; NULL: none. Of several the one that was
// added last: addresses are used again. All is added before the first question.
const char *perfmap_find(struct perfmap *m, uint64_t addr, size_t *len);

#endif
