// SPDX-License-Identifier: MIT
//
// Names of generated code: the file that compilers at run time (node, the JVM, LuaJIT, .NET) write
// for perf, /tmp/perf-PID.map, a line for each function: where it begins, how long it is, both in
// hexadecimal digits, and its name.
#ifndef QUERN_SYMBOLS_PERFMAP_H
#define QUERN_SYMBOLS_PERFMAP_H

#include <stddef.h>
#include <stdint.h>

struct perfmap;

// NULL: there is none, or it belongs to another user, or memory is out. Lines that say nothing are
// passed over.
struct perfmap *perfmap_read(const char *path);
void perfmap_free(struct perfmap *m);

// The name of the function at an address, *len characters; NULL: none. Of several the one that was
// written last: addresses are used again.
const char *perfmap_find(const struct perfmap *m, uint64_t addr, size_t *len);

#endif
