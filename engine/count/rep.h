// SPDX-License-Identifier: MIT
// String instructions with a rep prefix: their references, from the registers before and after.
#ifndef QUERN_ENGINE_REP_H
#define QUERN_ENGINE_REP_H

#include "engine/thread/thread.h"

// A helper (helpers.h); also called after the instruction faults. h_addr: its address; h_desc: its
// first counter and struct helperdesc_rep; rep_rcx, rep_rsi, rep_rdi: the registers before it;
// h_save: those after it, as HELPER_FLAGS of stubs.S saves them.
void rep_simulate(struct thread *t);

// The same in a fragment that records: stores the execution in REP_RECORD_SLOTS words, from word
// h_desc_low of the record on. rep_replay() simulates it later. what: struct helperdesc_rep; first:
// the first counter.
#define REP_RECORD_SLOTS 6
void rep_record(struct thread *t);
void rep_replay(struct thread *t, const u64 *slot, u64 pc, u32 what, u32 first);

#endif
