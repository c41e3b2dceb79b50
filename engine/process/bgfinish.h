// SPDX-License-Identifier: MIT
// The background finisher. A process that forks repeatedly (a shell, a test suite, a server) gets a
// companion process that runs the finisher for its children and their descendants that have ended.
// So a child ends before its profile is written, and the next one runs meanwhile. All profiles are
// written when the owner (the process that started the background finisher) ends, executes another
// program, or waits for children of all kinds.
//
// The background finisher shares the owner's memory and nothing else: no descriptor, no signal, no
// process group, no thread. The replayer does the same (replay/replayer.h).
#ifndef QUERN_ENGINE_BGFINISH_H
#define QUERN_ENGINE_BGFINISH_H

#include "engine/base/types.h"

// The process is about to fork. The second fork starts the background finisher, if there are two
// processors and no option forbids it.
void bgfinish_before_fork(void);

// The child of a fork has no background finisher of its own and may use its parent's.
void bgfinish_fork_child(void);

// A child ends, its spool is marked. True: the spool will be finished, the child only has to exit.
// False: there is no background finisher, or it has too much to do, or it does not see this child's
// files as the child does.
bool bgfinish_takes(void);

// Waits until everything handed over is finished and the background finisher is gone. Only in the
// owner; does nothing in other processes.
void bgfinish_stop(void);

// This process is about to give up rights: stops its background finisher as bgfinish_stop() does,
// and leaves the family of processes. Its children may form a new family after bgfinish_allow().
// Called before heap_unshare(), while no other thread runs.
void bgfinish_leave(void);
void bgfinish_allow(void);

#endif
