// SPDX-License-Identifier: MIT
// String instructions with a rep prefix: what they did, from the registers before and after.
#ifndef QUERN_ENGINE_REP_H
#define QUERN_ENGINE_REP_H

#include "engine/thread/thread.h"

// A helper (prof.h), and called after a fault of the instruction. h_addr: its address; h_desc: its
// first counter and struct helperdesc_rep; rep_rcx, rep_rsi, rep_rdi: the registers before it; h_save:
// those behind it, as HELPER_FLAGS of stubs.S saves them.
void rep_simulate(struct thread *t);

// The same in a fragment that records: notes the execution in REP_LOG_SLOTS words, from the
// h_desc_low'th of the record on; and what is done with these later. what: struct helperdesc_rep; first:
// the first counter.
#define REP_LOG_SLOTS 6
void rep_log(struct thread *t);
void rep_replay(struct thread *t, const u64 *slot, u64 pc, u32 what, u32 first);

#endif
