// SPDX-License-Identifier: MIT
// The engine's own file descriptors: the spool, the log and what the end of the process needs,
// moved out of the client's way, close-on-exec. syscalls/descriptors.c asks fds_is_ours() and has
// the kernel answer EBADF; files.c gives a number up by fds_evict() when the client wants that very
// number.
#ifndef QUERN_ENGINE_FDS_H
#define QUERN_ENGINE_FDS_H

#include "engine/base/types.h"

// Moves both to high numbers; from then on engine_log_fd and fds_spool() are the new
// ones. log_fd may be 2, which is copied, not moved: the client has its standard error still; -1 or
// a closed one stands for /dev/null.
void fds_init(int spool_fd, int log_fd);

int fds_spool(void);

// Is the spool still behind that descriptor? A process that has the descriptors in common with this
// one may have closed it (spooler_fd() opens it again). And its taking the place: fd is the spool,
// opened anew. The new descriptor, or -errno; fd is closed.
bool fds_spool_is_there(void);
int fds_adopt_spool(int fd);

// The same of the log: where it is gone and standard error is not what it was either, messages go
// nowhere.
void fds_check_log(void);

bool fds_is_ours(int fd);

// The lowest and the highest of them, for the gate (stubs.S), which compares without a sign: none
// is above the second. And how many digits the lowest has.
extern u32 fds_window[3];

// sys_open for the engine's own short use, also when the client has used up its descriptors.
int fds_open(const char *path, int flags, u32 mode);

// The client is about to make fd its own (dup2, dup3): if it is ours, moves ours elsewhere. 0 or
// -errno (then dup2 fails with it).
int fds_evict(int fd);

// Our descriptors' numbers in rising order; how many there are.
#define FDS_MAX 5
u32 fds_sorted(u32 numbers[FDS_MAX]);

// Closes every descriptor from 3 on but ours, in this process only.
void fds_close_others(void);

// Keeps a hold of the finisher's program and of the root folder: a client may go where neither can
// be reached by name. After fds_init(); what cannot be had is done without.
void fds_keep_finisher(const char *path);

// The program's descriptor (O_PATH), or -1.
int fds_finisher(void);

// Back to the root folder of the start, where the client has gone to another and this process may
// go back.
void fds_go_to_root(void);

// The client gives up rights: where it has gone to another root folder, ours would be a way out of
// it for good.
void fds_leave_root(void);

// A child that borrows the memory and has descriptors of its own may make ours move: the parent's
// are where they were.
struct fds_saved {
    struct {
        int fd;
        u64 dev, ino;
    } own[FDS_MAX];
};
void fds_save(struct fds_saved *to);
void fds_restore(const struct fds_saved *from);

// After fork, where no descriptor is left for a new spool: closes the parent's, which is mapped.
void fds_drop_spool(void);

// Puts another open file in the place of the spool's descriptor (after fork) and closes fd. shared:
// the descriptors are the parent's, too, and so is the one that is replaced: it stays.
void fds_replace_spool(int fd, bool shared);

// Messages go to fd from now on, which is moved as fds_init() moves the first one; they go on to
// the old one where no descriptor is left.
void fds_replace_log(int fd);

// The file of --trace-refs, moved from fd; its descriptor, -1: there is none, or the client has
// closed it. And none any more: `shared`, it is another process's, too, and stays.
void fds_set_trace(int fd);
int fds_trace(void);
void fds_leave_trace(bool shared);

// Just before the exec of a finisher or of the engine: both survive it. And back, when that exec
// failed.
void fds_keep_over_exec(bool keep);
void fds_keep_log_over_exec(bool keep); // only the log

#endif
