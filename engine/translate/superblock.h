// SPDX-License-Identifier: MIT
// Superblocks: blocks of the client's that follow each other often become one fragment, with one
// record. Which ones, a thread's full buffer says: it lists what was executed.
#ifndef QUERN_ENGINE_SUPERBLOCK_H
#define QUERN_ENGINE_SUPERBLOCK_H

#include "engine/thread/thread.h"

// With the options read, before anything is translated. Sets recordbuf_seen.
void superblock_init(void);

// If t's buffer is full that says which blocks it has entered (codecache/hotblocks.h): makes
// superblocks of them, and empties it. Takes the translation lock.
void superblock_watched(struct thread *t);
// t has run for a while (thread/sampler.h): what it executes most is watched. Takes the lock.
void superblock_look(struct thread *t);

#endif
