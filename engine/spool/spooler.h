// SPDX-License-Identifier: MIT
// The engine's side of the spool (share/spool.h): mapping it, appending records, giving counters to
// threads, a copy for a forked child, and the end: handing the process over to the finisher.
//
// The areas of the file lie at SPOOLER_BASE + their offset and are mapped piece by piece as they
// fill, so that a run under a small RLIMIT_AS pays for what it uses. Appends take spooler.c's own
// leaf lock. Not for signal handlers, unless it says so.
#ifndef QUERN_ENGINE_SPOOLER_H
#define QUERN_ENGINE_SPOOLER_H

#include "engine/thread/thread.h"
#include "share/spool.h"

// Between the engine's heap and the thread areas (thread.h).
#define SPOOLER_BASE 0x7ed100000000

extern struct spool_header *spool;

// Maps the spool in fd after checking that it is of this build and that nobody has used it. Dies
// with a sentence when it cannot be used.
void spooler_map(int fd);

// The text at an offset of the text area, as spool->s_* hold it; "" for 0.
const char *spooler_string(u32 offset);

// Appends a string, or finds the same string appended before; its offset. 0 (the empty string) when
// the area is full.
u32 spooler_text(const char *s);

// Appends a mapping; its index. The last index again when the area is full.
u32 spooler_map_record(u64 start, u64 end, u64 offset, u64 dev, u64 ino, const char *path,
                       u32 flags, u64 mtime);

// Appends a block with its n instructions and gives it n_counters counters, the first one's index
// in *first_counter. The counters are mapped for every thread when this returns. Dies when the
// spool is full.
struct spool_block *spooler_block_append(u64 pc, u32 map, u32 flags, u32 hash,
                                         const struct spool_insn *insns, u32 n, u32 n_counters,
                                         u32 *first_counter);

// Offset of a block in its area divided by 8, as spool_partial has it.
u32 spooler_block_index(const struct spool_block *block);
struct spool_block *spooler_block_at(u32 index);

// Counts one partial execution: instructions 0..insn-1 of the block at index ran, the block's own
// counter was not incremented. Merges with an earlier record of the same pair. When the area is
// full the count is dropped, with a warning the first time. @signal-safe
void spooler_partial(u32 block, u32 insn);

// Maps the counters of a thread slot at its area's TA_COUNTERS, growing the file; again for a slot
// used before: its counts go on. 0 or -errno.
int spooler_thread_slot(u32 slot);

// Is this address in a mapping of the spool? A SIGBUS there means that the file system is full;
// signal.c says so and dies. @signal-safe
bool spooler_owns(u64 addr);

// In a forked child (memory not shared with the parent), before anything is counted: a spool file
// of its own with the counts so far, mapped where the parent's was. parent_pid is the process that
// forked; shares_fds: it has its descriptors in common with the child. Where no file can be made
// (limits, a full disk) the child goes on without one, as it would natively, with a warning.
void spooler_fork_child(s32 parent_pid, bool shares_fds);

// Is this such a child without a spool? Nothing it counts is seen by anybody.
bool spooler_is_lost(void);

// In the parent, around the fork: waits (at most 3 s) until the child has copied the counts, so that nothing the parent
// executes behind the fork is in them. `before` is what spooler_fork_before() returned.
u32 spooler_fork_before(void);
void spooler_fork_wait(u32 before);

// A new spool file for what this process is about to execute: the options and strings of this one,
// no counts. argv are addresses of the strings of the new command line, ended by 0. The descriptor,
// close-on-exec, or -errno; the file's path in path.
int spooler_new_for_exec(const char *program, const u64 *argv, char *path, u64 path_size);

// The signals that the program of such a spool starts with blocked. 0 or -errno.
long spooler_set_start_mask(int fd, u64 mask);

// Around fork: the last lock taken.
void spooler_fork_take(void);
void spooler_fork_drop(void);

// The process's image goes away and what it counted is dropped, as for a forked child that execs:
// removes the spool file.
void spooler_drop(void);

// ---- finish.c ----

// The process ends: kind is an enum spool_end, code the exit status or signal. Marks the spool
// ended and execs the finisher in this process, with the environment of the start. All other
// threads are gone or stopped for good (exec ends them). When the finisher cannot be executed: a
// sentence, the spool stays, and the process ends as the client would have.
_Noreturn void spooler_finish(u32 kind, s32 code);

// Writes the profile of what was counted so far as that of a process that ended so, by a finisher in
// a child process that is waited for: before the profiled process execs natively, and where the
// process itself must be there to the end. 0, or -errno when the profile was not written; the spool
// is there still then. No other thread counts meanwhile.
int spooler_finish_in_child(u32 kind, s32 code);

// Copies the environment for the finisher; launch.c calls it with the client's initial environment.
void spooler_save_environment(char *const *envp);

// The environment that spooler_save_environment saved.
char *const *spooler_environment(void);

#endif
