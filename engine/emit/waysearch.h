// SPDX-License-Identifier: MIT
// Stubs that search a set of I1 or D1 behind its first way, made when they are first asked for.
#ifndef QUERN_ENGINE_WAYSEARCH_H
#define QUERN_ENGINE_WAYSEARCH_H

#include "engine/base/types.h"

// set, tag: registers that hold the set's offset and the tag; both survive.
u64 waysearch_d1(u32 set, u32 tag);
// rax: offset of the set, rcx: line id. 0: there is none, call STUB_I1_ANY.
u64 waysearch_i1(void);

#endif
