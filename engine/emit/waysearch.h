// SPDX-License-Identifier: MIT
// Stubs that search the further ways of a set of I1 or D1, generated on first use.
#ifndef QUERN_ENGINE_WAYSEARCH_H
#define QUERN_ENGINE_WAYSEARCH_H

#include "engine/base/types.h"

// set, tag: registers with the set's offset and the tag; both are preserved.
u64 waysearch_d1(u32 set, u32 tag);
// rax: offset of the set, rcx: line id. 0: no such stub, call STUB_I1_ANY.
u64 waysearch_i1(void);

#endif
