// SPDX-License-Identifier: MIT
// A process gets a spool of its own: a forked child one with the counts so far, what is executed
// one without. Called by process/fork.c and process/exec.c.
#ifndef QUERN_ENGINE_COPY_H
#define QUERN_ENGINE_COPY_H

#include "engine/base/types.h"

// In a forked child (memory not shared with the parent), before anything is counted: a spool file
// of its own with the counts so far, mapped where the parent's was. parent_pid is the process that
// forked; shares_fds: it has its descriptors in common with the child. Where no file can be made
// (limits, a full disk) the child goes on without one, as it would natively, with a warning.
void copy_fork_child(s32 parent_pid, bool shares_fds);

// In the parent, around the fork: waits (at most 3 s) until the child has copied the counts, so
// that nothing the parent executes behind the fork is in them. `before` is what copy_fork_before()
// returned.
u32 copy_fork_before(void);
void copy_fork_wait(u32 before);

// A new spool file for what this process is about to execute: the options and strings of this one,
// no counts. argv are addresses of the strings of the new command line, ended by 0. The descriptor,
// close-on-exec, or -errno; the file's path in path.
int copy_for_exec(const char *program, const u64 *argv, char *path, u64 path_size);

// A copy with the counts so far, with the world stopped, for a finisher: a part of the profile that
// goes to `output` (as --callgrind-out-file has it), with one "desc:" line more. The descriptor,
// close-on-exec, or -errno; the file's path in path.
int copy_for_dump(const char *output, const char *desc, char *path, u64 path_size);

// The signals that the program of such a spool starts with blocked. 0 or -errno.
long copy_set_start_mask(int fd, u64 mask);

#endif
