// SPDX-License-Identifier: MIT
//
// Names of generated code, as JIT compilers write them for perf. /tmp/perf-PID.map (node, the JVM,
// LuaJIT, .NET) has a line for each function: its start and size, both hexadecimal, and its name.
// jitdump.c reads the other form.
#ifndef QUERN_SYMBOLS_PERFMAP_H
#define QUERN_SYMBOLS_PERFMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct perfmap;

struct perfmap *perfmap_new(void); // NULL: no memory
void perfmap_free(struct perfmap *m);

// Opens a file that this user owns, for reading. NULL: it is not such a file, does not exist, or
// was written before `since`, ns since 1970: by another process with the same id.
FILE *perfmap_open(const char *path, uint64_t since);

// Adds what such a file says. Skips lines without a function.
void perfmap_read(struct perfmap *m, const char *path, uint64_t since);

// ---- For jitdump.c ----

// Adds a function. False: no memory for its name.
bool perfmap_add(struct perfmap *m, uint64_t start, uint64_t size, const char *name, size_t len);
// What was added at `from` is from now on at `to`, too.
void perfmap_move(struct perfmap *m, uint64_t from, uint64_t to, uint64_t size);

// ---- Look-up ----

bool perfmap_is_empty(const struct perfmap *m);

// The name of the function at an address, *len characters; NULL: none. Of several the one added
// last: addresses are reused. Add everything before the first look-up.
const char *perfmap_find(struct perfmap *m, uint64_t addr, size_t *len);

#endif
