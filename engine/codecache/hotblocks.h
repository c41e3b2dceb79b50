// SPDX-License-Identifier: MIT
// Which blocks are executed often, and one behind the other, where fragments record nothing. Each
// has a second way in (fragment_entry()), by which its number is written to the thread's buffer
// (stubs.S); the first one costs nothing. From time to time (thread/sampler.h) those are watched that
// have been executed most, until they have been seen often enough. What the buffer says when it is
// full is for translate/superblock.c.
#ifndef QUERN_ENGINE_HOTBLOCKS_H
#define QUERN_ENGINE_HOTBLOCKS_H

#include "engine/codecache/fragment.h"
#include "engine/thread/thread.h"

// With the options read; where fragments are found by number. All of these with the translation
// lock held.
void hotblocks_init(struct fragment *const *by_number);
// The next number's fragment, to which nothing leads yet.
void hotblocks_published(struct fragment *f);

// Empties t's buffer; t is quiet, or the caller.
void hotblocks_begin(struct thread *t);
// What it holds if it is full, n times the number of a fragment, 8 times that; else NULL.
const u32 *hotblocks_full(const struct thread *t, u32 *n);

// The fragments that t has executed most are watched, those below `n`.
void hotblocks_most(struct thread *t, u32 n);
// f has been seen k times more: often enough, it is not watched any more.
void hotblocks_seen(struct fragment *f, u32 k);

#endif
