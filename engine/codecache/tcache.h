// SPDX-License-Identifier: MIT
// The code cache: fragments (translated blocks) by client address, by client page and by host
// address. translate/ fills it, the dispatcher runs it. Called with the translation lock held where
// nothing else is said.
#ifndef QUERN_ENGINE_TCACHE_H
#define QUERN_ENGINE_TCACHE_H

#include "engine/codecache/fragment.h"
#include "engine/codecache/stubs.h"
#include "engine/thread/thread.h"

// Reserves the memory (region_init), copies the stubs to its head, and makes the tables. calls: see
// stubs_copy(). Returns 0 or -errno. Once, before anything is translated.
int tcache_init(u64 limit, u32 kib, const void *const calls[STUB_COUNT]);

// The translation lock; fork takes it first and releases it last.
void tcache_lock(void);
// Whether nobody held it. @signal-safe
bool tcache_try_lock(void);
void tcache_unlock(void);

// Makes what a new thread needs in the cache (an escape buffer). Returns 0 or -errno. Takes the
// lock.
int tcache_thread_init(struct thread *t);
void tcache_thread_fini(struct thread *t);

// Whether a fragment of any size is sure to fit.
bool tcache_has_room(void);
// How often all were dropped, in this process and in those that it was forked from.
u32 tcache_flushes(void);
// The index that the next fragment gets.
u32 tcache_next_index(void);

// Makes a fragment that can be found of code that lies at region_room(). Returns what is found:
// another version of it, if that leads to it.
struct fragment *tcache_publish(const struct draft *d);

// The next fragment, which is dead (pack.h): it can be revived. Nothing is copied.
void tcache_take(struct fragment *f);
// How many pages of client code it is made from.
u32 tcache_pages(const struct fragment *f);
// It can be found, and what it is linked to knows that. All that this is linked to have been taken.
void tcache_revive(struct fragment *f);

struct fragment *tcache_lookup(u64 pc);
struct fragment *tcache_by_index(u32 index);
// The fragment at a host address among them; dies when there is none. Without the lock.
// @signal-safe
struct fragment *tcache_at(u64 hpc);

// Makes one fragment unreachable, and its other versions.
void tcache_kill(struct fragment *f);

// The check of f's bytes has failed, and no other version was linked behind it: it cannot be found
// until one more is published, unless `keep` is false or there are enough: then they are killed.
void tcache_changed(struct fragment *f, bool keep);

// The client's bytes in [start, end) are gone or may change: every fragment made from them becomes
// unreachable. Threads that are inside such a fragment leave it at its next exit. Takes the lock.
void tcache_invalidate(u64 start, u64 end);

// Drops every fragment. The caller has stopped the world or is the only thread. Takes the lock.
void tcache_flush_all(void);

// After fork, in the child.
void tcache_fork_child(void);

#endif
