// SPDX-License-Identifier: MIT
//
// Names of generated code in the files that compilers at run time write for `perf
// inject`, jit-PID.dump ("jitdump": node --perf-prof, .NET, agents of the JVM, LLVM).
#ifndef QUERN_SYMBOLS_JITDUMP_H
#define QUERN_SYMBOLS_JITDUMP_H

#include "symbols/perfmap.h"

// Whether a file is called so: who writes one maps it, executable, for others to find it.
bool jitdump_is_name(const char *path);

// Adds what the file says. What is damaged, or was not written to its end, ends it.
void jitdump_read(struct perfmap *m, FILE *f);

#endif
