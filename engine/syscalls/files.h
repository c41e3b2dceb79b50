// SPDX-License-Identifier: MIT
// The client's calls on descriptors and file names.
#ifndef QUERN_ENGINE_FILES_H
#define QUERN_ENGINE_FILES_H

#include "engine/codecache/gate.h"

// Marks in the gate's table the calls that look up a name. After descriptors_init().
void files_init(u8 table[GATE_CALLS]);

// Does the name that call number nr looks up lead to a descriptor of the engine? Natively there is
// none: -ENOENT.
bool files_names_ours(u32 nr, const u64 args[6]);

// For 32-bit calls, which have their arguments in the same order. True: call number nr, which names
// the program or copies a descriptor, was handled, with the result in *ret.
bool files_answers(u32 nr, const u64 args[6], long *ret);

// Handles call number nr (true; does not return if the call is made through the gate), or leaves it
// to the gate.
bool files_call(struct thread *t, u32 nr);

// After call number nr was made through the gate: its result in regs[0].
void files_done(struct thread *t, u32 nr);

#endif
