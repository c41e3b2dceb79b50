// SPDX-License-Identifier: MIT
// --data=yes: the objects that misses are counted for, and the counts, in the spool (struct
// spool_data_object, struct spool_data_count). One lock for these, for the maps of addresses and
// for their time: a leaf, which helpers take, too.
#ifndef QUERN_ENGINE_OBJTABLE_H
#define QUERN_ENGINE_OBJTABLE_H

#include "engine/base/types.h"
#include "engine/objects/cells.h"
#include "engine/thread/thread.h"
#include "share/spool.h"

// Maps the spool's part. The object 0 is unknown.
void objtable_init(void);

void objtable_lock(void);
// As ll_is_orphan: its holder may have been killed.
extern bool (*objtable_is_orphan)(void);
bool objtable_try_lock(void);
extern u32 objtable_waiting; // threads that wait for it
// Whether another thread waits for it. @holds(the lock)
static inline bool objtable_is_wanted(void)
{
    return __atomic_load_n(&objtable_waiting, __ATOMIC_RELAXED) != 0;
}
// Drops it, and takes it again when one of them has had it. @holds(the lock)
void objtable_let_others(void);
void objtable_unlock(void);
// Its holder is dead.
void objtable_forget_lock(void);

// The time. @holds(the lock)
u64 objtable_now(void);
// A change of the maps has the next one, which it returns. Without the lock, too.
u64 objtable_tick(void);
u64 objtable_tick_alone(void); // the same, while there is one thread

// Puts the present time into t's record: what t does from here on comes after the changes so far.
// Not with the lock held.
void objtable_stamp(struct thread *t);
extern void (*objtable_record)(struct thread *t, u64 now); // replay/recordbuf.c; NULL: no recording
// A thread begins; it begins to fill the record buffer at `at`; records there are about to be
// simulated.
void objtable_thread_init(struct thread *t);
void objtable_buffer_begins(struct thread *t, u64 at);
void objtable_buffer_replays(struct thread *t, u64 at);

// The object that equals `like` in all but its name and its last counts, which a new one gets from
// it; `name` is the text of a new one's name, or NULL. 0: there is no space. @holds(the lock)
u32 objtable_get(const struct spool_data_object *like, const char *name);
// The number of such an object; 0: there is none that this thread knows of. Without the lock.
u32 objtable_known(const struct spool_data_object *like);
struct spool_data_object *objtable_at(u32 object);
// A text among the names: the same number for the same text, as far as possible. 0: there is no
// space. @holds(the lock)
u32 objtable_name(const char *text);

// Adds a miss, whose entry it returns. NULL: there is no space, and the finisher finds it missing.
// @holds(the lock)
struct spool_data_count *objtable_count(u32 counter, u32 object, u32 l2, u32 ll);
// A pair that has missed lately, with what was found of it. Numbers are plus one, 0: none.
struct objtable_pair {
    u32 counter, object;
    u32 count, walk; // of the entries
    // Of its last miss, for who counts it (cells.h).
    struct cells_kept cell;
};

_Static_assert(sizeof(struct objtable_pair) == 64, "a line of the host's cache");

#define OBJTABLE_PAIRS 4096u
extern struct objtable_pair *objtable_pairs;

static inline u32 objtable_place(u32 counter, u32 object)
{
    return (u32)(((u64)counter << 32 | object) * 0x9e3779b97f4a7c15ul >> 32);
}

static inline struct spool_data_count *objtable_count_at(u32 i)
{
    return (struct spool_data_count *)(DATA_BASE + SPOOL_DATA_COUNTS_OFF) + i;
}

// The one that may be this pair. @holds(the lock)
static inline struct objtable_pair *objtable_pair(u32 counter, u32 object)
{
    return &objtable_pairs[objtable_place(counter, object) % OBJTABLE_PAIRS];
}

static inline bool objtable_is_pair(const struct objtable_pair *p, u32 counter, u32 object)
{
    return p->counter == counter + 1 && p->object == object;
}
// It becomes this pair. False: there is no space for its entry, and it is none.
bool objtable_keep(struct objtable_pair *p, u32 counter, u32 object);
// Adds a miss. Returns the entry of its walk, as objtable_walk().
struct spool_data_count *objtable_add(struct objtable_pair *p, u32 ll);
// Of a pair that is not kept: begins to load what objtable_keep() needs, in two steps.
void objtable_prefetch(u32 counter, u32 object);
void objtable_prefetch_count(u32 counter, u32 object);
// The entry of the walk of these misses. NULL: as c, or there is no space. @holds(the lock)
struct spool_data_count *objtable_walk(struct spool_data_count *c);
// A miss that is counted there belongs to another object, or to the same: as objtable_count().
struct spool_data_count *objtable_move(u32 counter, u32 from, u32 to, u32 l2, u32 ll);
// All counts become 0. The world is stopped.
void objtable_zero(void);

// The calls that are open in t, the innermost first: their sites. `first`: one more before them; 0:
// none.
void objtable_sites(const struct thread *t, u64 first, struct spool_data_object *o);

#endif
