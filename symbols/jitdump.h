// SPDX-License-Identifier: MIT
//
// Names of generated code in the files that JIT compilers write for `perf inject`, jit-PID.dump
// ("jitdump": node --perf-prof, .NET, agents of the JVM, LLVM).
#ifndef QUERN_SYMBOLS_JITDUMP_H
#define QUERN_SYMBOLS_JITDUMP_H

#include "symbols/perfmap.h"

// Whether a file has such a name: its writer maps it, executable, so that others find it.
bool jitdump_is_name(const char *path);

// Adds what the file says. Stops at a damaged or incomplete record.
void jitdump_read(struct perfmap *m, FILE *f);

#endif
