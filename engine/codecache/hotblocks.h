// SPDX-License-Identifier: MIT
// Hot blocks: which blocks are executed often, and in which sequence, where fragments record
// nothing. Each fragment has a second entry (fragment_entry()) that writes its number to the
// thread's buffer (stubs.S); the first entry costs nothing. From time to time (thread/sampler.h)
// the fragments that have been executed most are watched: entered by the second entry, until they
// have been seen often enough. translate/superblock.c reads the buffer when it is full.
#ifndef QUERN_ENGINE_HOTBLOCKS_H
#define QUERN_ENGINE_HOTBLOCKS_H

#include "engine/codecache/fragment.h"
#include "engine/thread/thread.h"

// Call it with the options read. All functions here: @holds(translation lock)
void hotblocks_init(struct fragment *const *by_index);
// f is the fragment with the next index; nothing leads to it yet.
void hotblocks_published(struct fragment *f);

// Empties t's buffer; t is quiet, or the caller.
void hotblocks_begin(struct thread *t);
// If t's buffer is full: its n entries, each 8 times the index of a fragment; else NULL.
const u32 *hotblocks_full(const struct thread *t, u32 *n);

// Watches the fragments that t has executed most, of those with an index below `n`.
void hotblocks_most(struct thread *t, u32 n);
// f has been seen k times more; often enough, and it is not watched any more.
void hotblocks_seen(struct fragment *f, u32 k);

#endif
