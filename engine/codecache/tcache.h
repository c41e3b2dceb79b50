// SPDX-License-Identifier: MIT
// The code cache: fragments by client address, by client page and by host address. translate/ fills
// it, the dispatcher runs it. Functions are called with the translation lock held unless noted.
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
// How often all fragments were dropped, in this process and the processes it was forked from.
u32 tcache_flushes(void);
// The index that the next fragment gets.
u32 tcache_next_index(void);

// Makes the code at region_space() a fragment that look-ups find. Returns what they find: its first
// version, if that leads to it.
struct fragment *tcache_publish(const struct draft *d);

// Makes room for n fragments that look-ups find.
void tcache_expect(u32 n);
// Adds a dead fragment (pack.h) as the next one: it can be revived. Nothing is copied.
void tcache_take(struct fragment *f);
// How many pages of client code it is made from.
u32 tcache_pages(const struct fragment *f);
// Look-ups find f again, and its exits are listed by their targets, which have been taken before.
void tcache_revive(struct fragment *f);

struct fragment *tcache_lookup(u64 pc);
struct fragment *tcache_by_index(u32 index);
// The fragment at a host address; dies when there is none. Without the lock. @signal-safe
struct fragment *tcache_at(u64 hpc);

// Makes one fragment unreachable, and its other versions.
void tcache_kill(struct fragment *f);

// The check of f's bytes has failed, and no other version is linked to it: look-ups fail until one
// more is published. If `keep` is false or there are enough versions, all are killed instead.
void tcache_changed(struct fragment *f, bool keep);

// The client's bytes in [start, end) are gone or may change: every fragment made from them becomes
// unreachable. Threads in such a fragment leave it at its next exit. Takes the lock.
void tcache_invalidate(u64 start, u64 end);

// Drops every fragment. The caller has stopped the world or is the only thread. Takes the lock.
void tcache_flush_all(void);

// After fork, in the child.
void tcache_fork_child(void);

#endif
