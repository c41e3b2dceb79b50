// SPDX-License-Identifier: MIT
// The engine's own memory: a region at ENGINE_HEAP_BASE that grows upwards in steps and never
// moves: equal runs place everything at equal addresses. heap.c has its own leaf lock; callers need
// none. Not for signal handlers.
#ifndef QUERN_ENGINE_HEAP_H
#define QUERN_ENGINE_HEAP_H

#include "engine/base/types.h"

// Zeroed and 16-aligned; from 32 KiB on page-aligned. Never NULL: without memory it calls
// engine_die().
void *heap_alloc(u64 bytes);

// p from heap_alloc(bytes), with the same number of bytes; NULL is ignored.
void heap_free(void *p, u64 bytes);

// A table that grows: `old`, of *capacity bytes from here, of which `used` are in use, or a larger
// copy of it that has space for `more`.
void *heap_grown(void *old, u64 used, u64 more, u64 *capacity);

// Zeroed, page-aligned, rounded up to pages; heap_free releases it with the same number of bytes,
// if that is 32 KiB or more.
void *heap_pages(u64 bytes);

// The same in large pages if they fill some, for tables that are read here and there: otherwise
// each look costs a walk of the host's page tables. Must never be freed.
void *heap_large(u64 bytes);

// Zeroed pages that future children of fork share. NULL: no memory. Must never be freed.
void *heap_shared(u64 bytes);

// Makes pages of heap_pages() shared, zeroed. False: they are unchanged.
bool heap_share(void *p, u64 bytes);

// Replaces all shared memory by private memory, zeroed, at the same addresses: later writes of this
// process and of others are not shared. No other thread runs.
void heap_unshare(void);

// Before the client sets a limit on its memory: maps 16 MiB more for the engine, which may not be
// able to lift the limit again.
void heap_reserve(void);

// A process that shares this memory was killed, perhaps while it held the lock: it is free, and
// what it guards is as that process left it. No other thread runs.
void heap_forget_lock(void);

// A copy of s in memory of heap_alloc(strlen(s) + 1).
char *heap_strdup(const char *s);

#endif
