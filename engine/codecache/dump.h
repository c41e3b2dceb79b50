// SPDX-License-Identifier: MIT
// --dump-code: the contents of the code cache, which the finisher disassembles (struct spool_code
// of share/spool.h).
#ifndef QUERN_ENGINE_DUMP_H
#define QUERN_ENGINE_DUMP_H

#include "engine/x86/insn.h"
#include "share/spool.h"

// Whether --dump-code is given. Call it when the stubs are in the code cache.
bool dump_init(void);

// A fragment, when it is made.
struct dump {
    u64 pc, hpc;
    const struct insn *insn;
    const struct spool_code_part *part;
    u32 bytes, insns, parts;
};
void dump_fragment(const struct dump *d);

// A stub generated at run time.
void dump_stub(const char *name, u64 hpc, u64 size);

#endif
