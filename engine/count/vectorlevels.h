// SPDX-License-Identifier: MIT
//
// levels_ref_later() by AVX2, where L2 and LL are as processors of today have them. For replays
// only, as vector.h.
#ifndef QUERN_ENGINE_VECTORLEVELS_H
#define QUERN_ENGINE_VECTORLEVELS_H

#include "engine/count/levels.h"

// A reference; size: with LL_FETCH, and what vectorlevels_ask() has said, if it was asked; regions:
// the rest of that.
typedef void vectorlevels_one(struct thread *t, u64 addr, u32 size, u32 counter, u32 regions);

// What simulates a thread's references, or NULL: the levels are others, or there are no vectors
// (--no-vectors). @signal-safe
vectorlevels_one *vectorlevels_for(const struct thread *t);

// TLBs, streams and regions do not depend on the other levels, so two processors may simulate them.
// Asks all of a reference; returns bits for its size.
bool vectorlevels_ask_first(const struct thread *t);
// Where the rest of what is asked of them is kept, LEVELS_PENDING words of the thread's; NULL: no
// regions are asked.
u32 *vectorlevels_regions(const struct thread *t);
u32 vectorlevels_ask(const struct thread *t, u64 addr, u32 size, u32 counter, u32 *regions);

#endif
