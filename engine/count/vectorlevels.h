// SPDX-License-Identifier: MIT
//
// levels_ref_later() by AVX2, where L2 and LL are as processors of today have them. For replays
// only, as vector.h.
#ifndef QUERN_ENGINE_VECTORLEVELS_H
#define QUERN_ENGINE_VECTORLEVELS_H

#include "engine/count/levels.h"

// What simulates a thread's references, or NULL: the levels are others, or there are no vectors
// (--no-vectors). @signal-safe
levels_one *vectorlevels_for(const struct thread *t);

#endif
