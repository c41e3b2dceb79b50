// SPDX-License-Identifier: MIT
// A process that forks again and again (a shell, a test suite, a server) has a clerk: a process
// beside it that has the finisher write the profiles of its children that have ended, and of
// theirs. So a child's end does not last until its profile is written, and the next one runs
// meanwhile. All of them are written when the process that has the clerk ends, executes another
// program, or waits for children of all kinds.
//
// The clerk shares that process's memory and nothing else: no descriptor, no signal, no place in
// its process group, and no thread of it; as who replays (replay/replayer.h).
#ifndef QUERN_ENGINE_BGFINISH_H
#define QUERN_ENGINE_BGFINISH_H

#include "engine/base/types.h"

// The process is about to fork; with the second time it gets its clerk, where there are two
// processors and nobody has forbidden it.
void bgfinish_before_fork(void);

// The child of a fork has none of its own, and may hand over to its parent's.
void bgfinish_fork_child(void);

// A child ends, its spool is marked. True: it will be finished, the child need only end. False:
// nobody is there, or has the time, or sees this child's files as it does.
bool bgfinish_takes(void);

// What has been handed over is finished when this returns, and the clerk is gone. Of the process
// whose clerk it is; others have nothing to do.
void bgfinish_stop(void);

// This process is about to give up rights: its clerk goes as by bgfinish_stop(), and it has no more to
// do with the family that it is of. Its children may be a family of their own once bgfinish_allow()
// says so. Before heap_unshare(); no other thread runs.
void bgfinish_leave(void);
void bgfinish_allow(void);

#endif
