// SPDX-License-Identifier: MIT
// The engine's own memory: a region at ENGINE_HEAP_BASE that grows upwards in steps and never
// moves, so that the same run places everything at the same addresses. heap.c has a leaf lock of
// its own; callers need none. Not for signal handlers.
#ifndef QUERN_ENGINE_HEAP_H
#define QUERN_ENGINE_HEAP_H

#include "engine/base/types.h"

// Zeroed and 16-aligned; from 32 KiB on page-aligned. Never NULL: when the kernel gives no more,
// engine_die.
void *heap_alloc(u64 bytes);

// p as heap_alloc(bytes) returned it, with the same number of bytes; NULL is ignored.
void heap_free(void *p, u64 bytes);

// Zeroed, page-aligned, rounded up to pages; given back by heap_free with the same number of bytes,
// if that is 32 KiB or more.
void *heap_pages(u64 bytes);

// Zeroed pages that are the same in children of fork from now on. NULL: there are none to be had.
// Never to be freed.
void *heap_shared(u64 bytes);

// Makes pages of heap_pages() such memory, zeroed. False: they are as they were.
bool heap_share(void *p, u64 bytes);

// From here on it is this process's alone, zeroed, in the same place: what others, or this process
// from now on, write there reaches nobody. No other thread runs.
void heap_unshare(void);

// Before the client sets a limit on its memory: maps 16 MiB more, so that the engine can go on
// where it may not lift the limit again.
void heap_ahead(void);

// A copy of s in memory of heap_alloc(strlen(s) + 1).
char *heap_strdup(const char *s);

#endif
