// SPDX-License-Identifier: MIT
// String instructions with a rep prefix: what they did, from the registers before and after.
#ifndef QUERN_ENGINE_STRINGS_H
#define QUERN_ENGINE_STRINGS_H

#include "engine/thread/thread.h"

// A helper (prof.h), and called after a fault of the instruction. h_addr: its address; h_desc: its
// first counter and struct desc_rep; rep_rcx, rep_rsi, rep_rdi: the registers before it; h_save:
// those behind it, as HELPER_FLAGS of stubs.S saves them.
void strings_rep(struct thread *t);

#endif
