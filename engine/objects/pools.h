// SPDX-License-Identifier: MIT
// Pools of the program's own allocators, by client requests (VALGRIND_CREATE_MEMPOOL and others): a
// block of a pool is one of alloc.h, and ends with its pool. Without --data=yes they do nothing.
#ifndef QUERN_ENGINE_POOLS_H
#define QUERN_ENGINE_POOLS_H

#include "engine/thread/thread.h"

// A pool is known by an address of the program's. at: where the request is.
void pools_create(u64 pool);
void pools_destroy(struct thread *t, u64 pool);
void pools_alloc(struct thread *t, u64 at, u64 pool, u64 start, u64 bytes);
void pools_free(struct thread *t, u64 pool, u64 start);
// What is outside of [start, start + bytes) is freed.
void pools_trim(struct thread *t, u64 pool, u64 start, u64 bytes);
// It has another address now.
void pools_move(u64 pool, u64 to);
// The block at `from` is at `to` now, and as large.
void pools_change(struct thread *t, u64 at, u64 pool, u64 from, u64 to, u64 bytes);

#endif
