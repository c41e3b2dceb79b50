// SPDX-License-Identifier: MIT
// The engine's own file descriptors: the spool, the log and those that the end of the process
// needs, moved out of the client's way, close-on-exec. syscalls/descriptors.c asks fds_is_ours()
// and lets the kernel return EBADF; files.c gives up a number by fds_evict() when the client wants
// that number.
#ifndef QUERN_ENGINE_FDS_H
#define QUERN_ENGINE_FDS_H

#include "engine/base/types.h"

// Moves both to high numbers; from then on engine_log_fd and fds_spool() are the new numbers. A
// log_fd of 2 is copied, not moved: the client keeps its standard error. -1 or a closed descriptor
// means /dev/null.
void fds_init(int spool_fd, int log_fd);

int fds_spool(void);

// Does that descriptor still refer to the spool? A process that shares the descriptors may have
// closed it (spooler_fd() opens it again). fds_adopt_spool() replaces it: fd is the spool, opened
// again. Returns the new descriptor, or -errno; fd is closed.
bool fds_spool_is_there(void);
int fds_adopt_spool(int fd);

// The same for the log: if it is closed and standard error has changed, too, messages are dropped.
void fds_check_log(void);

bool fds_is_ours(int fd);

// The lowest and the highest of them, for the unsigned comparison in the gate (stubs.S); the number
// of digits of the lowest.
extern u32 fds_window[3];

// sys_open for short use by the engine. Works even if the client has used up its descriptors.
int fds_open(const char *path, int flags, u32 mode);
// In a child with descriptors of its own: fd gets the number `to`, which may be above the client's
// limit. The limit stays raised. -errno.
long fds_replace(int fd, int to);

// The client is about to use the number fd (dup2, dup3): if it is ours, moves ours elsewhere. 0, or
// -errno, with which dup2 fails.
int fds_evict(int fd);

// Our descriptors' numbers in ascending order. Returns how many there are.
#define FDS_MAX 5
u32 fds_sorted(u32 numbers[FDS_MAX]);

// Closes every descriptor from 3 on but ours, in this process only.
void fds_close_others(void);

// Opens the finisher's program and the root folder: a client may go where neither can be reached by
// name. After fds_init(); does without what cannot be opened.
void fds_keep_finisher(const char *path);

// The program's descriptor (O_PATH), or -1.
int fds_finisher(void);

// Returns to the root folder of the start, if the client has changed it and this process may go
// back.
void fds_go_to_root(void);

// The client gives up rights: if it has changed its root folder, closes our descriptor of the old
// one, which would always lead out.
void fds_leave_root(void);

// A child that borrows the memory and has its own descriptors may make ours move. The parent's
// numbers do not change: they are saved and restored.
struct fds_saved {
    struct {
        int fd;
        u64 dev, ino;
    } own[FDS_MAX];
};
void fds_save(struct fds_saved *to);
void fds_restore(const struct fds_saved *from);

// After fork, if no descriptor is left for a new spool: closes the parent's, which stays mapped.
void fds_drop_spool(void);

// Replaces the spool's descriptor by another open file (after fork) and closes fd. shared: the
// parent shares the descriptors, so the replaced one stays open.
void fds_replace_spool(int fd, bool shared);

// Messages go to fd from now on, which is moved as in fds_init(). If no descriptor is left, they
// still go to the old one.
void fds_replace_log(int fd);

// The file of --trace-refs: fds_set_trace() moves it from fd. fds_trace() returns its descriptor;
// -1: there is none, or the client has closed it. fds_leave_trace() drops it; shared: another
// process uses it, too, so it stays open.
void fds_set_trace(int fd);
int fds_trace(void);
void fds_leave_trace(bool shared);

// Right before the exec of a finisher or of the engine: spool and log survive it. With false, after
// that exec has failed: they are close-on-exec again.
void fds_keep_over_exec(bool keep);
void fds_keep_log_over_exec(bool keep); // only the log

#endif
