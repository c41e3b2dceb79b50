// SPDX-License-Identifier: MIT
//
// levels_ref_later() by AVX2, where L2 and LL are as processors of today have them. For replays
// only, as vector.h.
#ifndef QUERN_ENGINE_VECTORLEVELS_H
#define QUERN_ENGINE_VECTORLEVELS_H

#include "engine/count/levels.h"

// A reference; size: with LL_FETCH, and what vectorlevels_ask() has said, if it was asked.
typedef void vectorlevels_one(struct thread *t, u64 addr, u32 size, u32 counter);

// What simulates a thread's references, or NULL: the levels are others, or there are no vectors
// (--no-vectors). @signal-safe
vectorlevels_one *vectorlevels_for(const struct thread *t);

// TLBs and streams do not depend on the other levels, so two processors may simulate them. Asks
// both of a reference; returns bits for its size.
bool vectorlevels_ask_first(const struct thread *t);
u32 vectorlevels_ask(const struct thread *t, u64 addr, u32 size);

#endif
