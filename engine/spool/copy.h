// SPDX-License-Identifier: MIT
// A process gets a spool of its own: a forked child one with the counts so far, what is executed
// one without. Called by process/fork.c and process/exec.c.
#ifndef QUERN_ENGINE_COPY_H
#define QUERN_ENGINE_COPY_H

#include "engine/base/types.h"
#include "share/spool.h"

// A spool for a child that is about to be forked. On the stack of both.
struct copy_fork {
    struct spool_header h; // as it was before the fork
    u64 size;
    int fd;     // -1: the child makes its own
    u32 before; // copies that children have made themselves
    char path[4096];
};

// In the parent before the fork, all other threads stopped: makes the file with the counts so far.
// What is to be copied is in the parent's page table, not in the child's: a page that a child
// touches costs up to 12 us, and there are two or three hundred. shares_fds: the child will have
// its descriptors in common with the parent; then, with --no-early-copy, and where no file can be
// made, the child has to do it.
void copy_fork_before(struct copy_fork *c, bool shares_fds);
// Behind it in the parent. forked: there is a child. Waits (at most 3 s) for one that copies the
// counts itself, so that nothing the parent executes behind the fork is in them.
void copy_fork_parent(struct copy_fork *c, bool forked);
// In the child (memory not shared with the parent), before anything is counted: its spool file is
// mapped where the parent's was. parent_pid is the process that forked. Where no file can be made
// (limits, a full disk) the child goes on without one, as it would natively, with a warning.
void copy_fork_child(struct copy_fork *c, s32 parent_pid, bool shares_fds);

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
