// SPDX-License-Identifier: MIT
// Calls of the helpers' stubs (codecache/stubs.def) from translated code.
#ifndef QUERN_ENGINE_HELPER_H
#define QUERN_ENGINE_HELPER_H

#include "engine/count/desc.h"
#include "engine/emit/tb.h"

// Calls a stub on the engine's stack. A jump and the descriptor follow (helper_back, desc.h).
void helper_call(struct tb *b, u64 stub);
// The jump behind the call, to `back`, and `size` bytes of a descriptor.
void helper_back(struct tb *b, u64 back, const void *desc, u32 size);

void helper_data(struct tb *b, const void *desc, u32 size);

// What a stub that keeps the flags finds in h_desc.
void helper_describe(struct tb *b, u32 low, u32 high);

#endif
