// SPDX-License-Identifier: MIT
// The persistent cache (--translation-cache): translations that a program's next run reuses. It
// stores the translator's results as they are in memory: fragments with their code, the
// descriptions of their records, and the spool's blocks. The next run with the same engine, options
// and processor loads them to the same addresses, with the same numbers, except for the counts.
//
// Loaded fragments are not executed yet. The fragments of a mapping are a group. When the first of
// them would be translated, the whole group is revived, if there is a mapping of the same extent
// and its code is the same, byte for byte.
#ifndef QUERN_ENGINE_PCACHE_H
#define QUERN_ENGINE_PCACHE_H

#include "engine/base/types.h"

// Loads the file, if there is one. Call it last at the start, before anything is translated.
// `program` identifies the program and this engine; `steady`: the kernel places nothing at random.
void pcache_init(u64 program, bool steady);

// There is no translation at pc: tries to revive its group. True: there may be one now.
// @holds(translation lock)
bool pcache_revive(u64 pc);

// Writes the file if that is worth it. The process ends, or executes another program: no thread
// runs or replays.
void pcache_save(void);

// Forbids writing: a process with more rights than this one would trust the file.
void pcache_never(void);

#endif
