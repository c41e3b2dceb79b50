// SPDX-License-Identifier: MIT
// The engine's side of the spool (share/spool.h): mapping it, appending records, giving counters to
// threads.
//
// The areas of the file are mapped at SPOOLER_BASE + their offset, piece by piece as they fill:
// under a small RLIMIT_AS a run uses only the address space that it needs. Appends take spooler.c's
// leaf lock. Not for signal handlers, except functions marked @signal-safe.
#ifndef QUERN_ENGINE_SPOOLER_H
#define QUERN_ENGINE_SPOOLER_H

#include "engine/base/layout.h"
#include "engine/base/types.h"
#include "share/spool.h"

extern struct spool_header *spool;

// Maps the spool in fd after checking that it is of this build and unused. Otherwise dies with a
// message.
void spooler_map(int fd);

// Removes the file of a spool that is not mapped yet, in a process that cannot start.
void spooler_forget(int fd);

// The spool's descriptor, opened again if it was closed; -errno if that is impossible.
int spooler_fd(void);

// The text at an offset of the text area, as spool->s_* hold it; "" for 0.
const char *spooler_string(u32 offset);

// Appends a string, or finds the same string appended before; its offset. 0 (the empty string) when
// the area is full.
u32 spooler_text(const char *s);

// Appends a mapping, or finds an equal record; its index. The last index again when the area is
// full.
u32 spooler_map_record(u64 start, u64 end, u64 offset, u64 dev, u64 ino, const char *path,
                       u32 flags, u64 mtime, u64 ctime);
const struct spool_map *spooler_map_at(u32 index);
// How often that was called: other mappings may be at the same addresses since.
extern u64 spooler_maps_named;

// Appends a block with its n instructions and gives it n_counters counters, the first one's index
// in *first_counter. The counters are mapped for every thread when this returns. Dies when the
// spool is full.
struct spool_block *spooler_block_append(u64 pc, u32 map, u32 flags, u32 hash,
                                         const struct spool_insn *insns, u32 n, u32 n_counters,
                                         u32 *first_counter);

// Where the first block is, with room for `bytes` of blocks; NULL: there is none.
void *spooler_blocks_room(u64 bytes);

// The `bytes` there are another run's blocks now, with the counters up to `counters`: that run
// began with the same blocks as this one has now. Dies when the spool is full.
void spooler_blocks_take(u64 bytes, u64 counters);

// Offset of a block in its area divided by 8, as spool_partial has it.
u32 spooler_block_index(const struct spool_block *block);
struct spool_block *spooler_block_at(u32 index);

// Counts one partial execution: instructions 0..insn-1 of the block at index ran, the block's own
// counter was not incremented. Merges with an earlier record of the same pair. When the area is
// full the count is dropped, with a warning the first time. @signal-safe
void spooler_partial(u32 block, u32 insn, u32 slot, u32 context);

// Maps the counters of a thread slot at its area's TA_COUNTERS and grows the file. A slot that was
// used before keeps its counts. 0 or -errno; -EEXIST: the kernel has mapped something else there.
int spooler_thread_slot(u32 slot);

// --calls=yes: appends an edge with its counters, n_counters of them, mapped for every thread when
// this returns. e->counter is filled in. Dies when the spool is full.
struct spool_edge *spooler_edge_append(const struct spool_edge *e, u32 n_counters);
struct spool_edge *spooler_edge_at(u32 index);
// Where the first edge is, with room for n; NULL: there is none.
struct spool_edge *spooler_edges_room(u32 n);
// The n edges there are another run's, all dormant; this run has none yet. spooler_blocks_take()
// takes their counters.
void spooler_edges_take(u32 n);
// Allocates n counters that belong to no record; the first one's index.
u32 spooler_counters(u32 n);
// Maps the first `bytes` of a slot's open calls (for SPOOL_THREADS_MAX, of the saved call stacks).
// The end of a slot is never mapped: code that writes on without a check faults before the next
// slot. 0 or -errno.
#define SPOOLER_STACK_GUARD 0x10000ul
#define SPOOLER_STACK_PIECE 0x8000ul // the mapped size is a multiple of this
long spooler_stack_reach(u32 slot, u64 bytes);

// --data=yes: maps the objects and their counts, at DATA_BASE. Dies if that is impossible.
void spooler_data_map(void);

// Whether a slot's counters are mapped.
bool spooler_slot_in_use(u32 slot);

// Is this address in a mapping of the spool? A SIGBUS there means that the file system is full: the
// signal handler prints that and dies. @signal-safe
bool spooler_owns(u64 addr);

// Is this a forked child without a spool (copy.h)? Its counts are dropped.
bool spooler_is_lost(void);

// Removes the spool file: the process's image goes away and its counts are dropped, as for a forked
// child that execs.
void spooler_drop(void);

// Prints where the counts are that are in no profile.
void spooler_say_held(void);

#endif
