// SPDX-License-Identifier: MIT
// The client's calls on descriptors and file names.
#ifndef QUERN_ENGINE_FILES_H
#define QUERN_ENGINE_FILES_H

#include "engine/thread/thread.h"

// Handles call number nr (true; or does not return, when it is made through the gate), or leaves it
// to the gate.
bool files_call(struct thread *t, u32 nr);

// After call number nr was made through the gate: its result in regs[0].
void files_done(struct thread *t, u32 nr);

#endif
