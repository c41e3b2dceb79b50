// SPDX-License-Identifier: MIT
// Translations that are kept between runs of a program (--translation-cache): what the translator
// has made, fragments with their code, what their records mean, and the spool's blocks, as it lies
// in memory. The next run with the same engine, options and processor has it where it was, at the
// same addresses and with the same numbers, but for the counts.
//
// Nothing of that is executed yet. The fragments of a mapping are a group; where the first of it
// would be translated, the whole group becomes alive, if there is a mapping of that extent and the
// code in it is the same, byte for byte.
#ifndef QUERN_ENGINE_PCACHE_H
#define QUERN_ENGINE_PCACHE_H

#include "engine/base/types.h"

// Reads what there is. With all else made that is made at the start, and nothing translated.
// `program` tells it from others, and this engine too; `steady`: whether the kernel places nothing
// at random.
void pcache_init(u64 program, bool steady);

// Nothing is translated at pc yet: whether something may be now. @holds(translation lock)
bool pcache_revive(u64 pc);

// Writes what is worth it. The process ends, or executes another program: no thread runs, and
// nobody replays.
void pcache_save(void);

// Nothing is written any more: who would trust it has more rights than this process.
void pcache_never(void);

#endif
