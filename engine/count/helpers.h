// SPDX-License-Identifier: MIT
// The helpers that translated code calls, through their stubs (stubs.def), when an inline check
// does not settle a reference. They run with signals open. They must not use string instructions
// (the client's direction flag may be set; objects_miss() clears it), take no lock but LL's and
// that of the objects of the data, and touch no client memory.
// Their arguments are in t->h_* and after the return address (helperdesc.h).
#ifndef QUERN_ENGINE_HELPERS_H
#define QUERN_ENGINE_HELPERS_H

#include "engine/thread/thread.h"

#define HELPERS_VEC_MAX 64 // elements of struct helperdesc_vec at most

// h_addr: tag of a line that was not in D1 and is now.
void helpers_d1_miss(struct thread *t, const u8 *ret);
// h_addr: tag of the last line referenced; h_desc_low: offset of the first line's set.
void helpers_d1_slow(struct thread *t, const u8 *ret);
// h_addr: address.
void helpers_d1_any(struct thread *t, const u8 *ret);
// The last line of the instruction was not in I1 and is now.
void helpers_i1_miss(struct thread *t, const u8 *ret);
void helpers_i1_any(struct thread *t, const u8 *ret);
void helpers_bc(struct thread *t, const u8 *ret);
// h_addr: target; h_desc: counter and index.
void helpers_bi(struct thread *t);
// h_addr: address of the first element, or base of a gather; h_desc: first counter and struct
// helperdesc_vec.
void helpers_vec(struct thread *t);
// The same in a fragment that records: word h_desc_low of the record gets a mask of the elements
// that are referenced and, in its upper half, their size; the words after it get their addresses.
// helpers_replay_vec() simulates them later. what: struct helperdesc_vec; first: the first counter.
void helpers_record_vec(struct thread *t);
void helpers_replay_vec(struct thread *t, const u64 *slot, u32 what, u32 first);

#endif
