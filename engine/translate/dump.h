// SPDX-License-Identifier: MIT
// For --dump-code: what was translated, which the finisher disassembles (struct spool_code of
// share/spool.h).
#ifndef QUERN_ENGINE_DUMP_H
#define QUERN_ENGINE_DUMP_H

#include "engine/translate/tb.h"

// Whether it is asked for. With the stubs in the code cache.
bool dump_init(void);

void dump_block(const struct tb *b);
// A stub that was made while running.
void dump_stub(const char *name, u64 hpc, u64 size);

#endif
