// SPDX-License-Identifier: MIT
// Makes spools for new processes: for a forked child with the counts so far, for an executed
// program without. Called by process/fork.c and process/exec.c.
#ifndef QUERN_ENGINE_COPY_H
#define QUERN_ENGINE_COPY_H

#include "engine/base/types.h"
#include "share/spool.h"

// A spool for a child that is about to be forked. On the stack of both.
struct copy_fork {
    struct spool_header h; // as it was before the fork
    u64 size;
    int fd;     // -1: the child makes its own
    u32 before; // copies that children had made themselves
    char path[4096];
};

// In the parent before the fork, all other threads stopped: makes the file with the counts so far.
// The pages to copy are in the parent's page table, not in the child's: in a child the first touch
// of a page costs up to 12 us, and there are two or three hundred. shares_fds: the child will share
// its descriptors with the parent. Then, with --no-early-copy, and if no file can be made, the
// child makes the copy.
void copy_fork_before(struct copy_fork *c, bool shares_fds);
// In the parent after the fork. forked: there is a child. Waits (at most 3 s) for a child that
// copies the counts itself: nothing that the parent executes after the fork may be in them.
void copy_fork_parent(struct copy_fork *c, bool forked);
// In the child (memory not shared with the parent), before it counts anything: maps its spool file
// in place of the parent's. parent_pid is the process that forked. If no file can be made (limits,
// a full disk), the child goes on without one, as it would natively, with a warning.
void copy_fork_child(struct copy_fork *c, s32 parent_pid, bool shares_fds);

// In a forked child that executes a program that is not profiled: adds to the number in the spool
// of the process that forked it (n_native), if that is still there. The child's own has no reader.
void copy_note_native(s64 more);

// A new spool file for the program that this process is about to execute: this process's options
// and strings, no counts. argv has the addresses of the new command line's strings, ended by 0.
// Returns the descriptor, close-on-exec, or -errno; the file's path in path.
int copy_for_exec(const char *program, const u64 *argv, char *path, u64 path_size);

// A copy with the counts so far, for a finisher: a part of the profile that goes to `output` (in
// the form of --callgrind-out-file), with one more "desc:" line. The world is stopped. Returns the
// descriptor, close-on-exec, or -errno; the file's path in path.
int copy_for_dump(const char *output, const char *desc, char *path, u64 path_size);

// Sets the signals that the program of such a spool starts with blocked. 0 or -errno.
long copy_set_start_mask(int fd, u64 mask);

#endif
