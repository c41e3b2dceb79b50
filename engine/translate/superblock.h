// SPDX-License-Identifier: MIT
// Superblocks: client blocks that are often executed in sequence become one fragment, with one
// record. A thread's full buffer, the list of what it executed, selects them.
#ifndef QUERN_ENGINE_SUPERBLOCK_H
#define QUERN_ENGINE_SUPERBLOCK_H

#include "engine/thread/thread.h"

// Call it with the options read, before anything is translated. Sets recordbuf_on_full.
void superblock_init(void);

// If t's buffer of entered fragments (codecache/hotblocks.h) is full: makes superblocks of them,
// and empties it. Takes the translation lock.
void superblock_watched(struct thread *t);
// t has run for a while (thread/sampler.h): watches what it executes most. Takes the lock.
void superblock_sample(struct thread *t);

#endif
