// SPDX-License-Identifier: MIT
// Calls of the helpers' stubs (codecache/stubs.def) from translated code.
#ifndef QUERN_ENGINE_HELPERCALL_H
#define QUERN_ENGINE_HELPERCALL_H

#include "engine/codecache/helperdesc.h"
#include "engine/emit/tb.h"

// Calls a stub on the engine's stack. A jump and the descriptor follow (helpercall_back,
// helperdesc.h).
void helpercall_emit(struct tb *b, u64 stub);
// The jump after the call, to `back`, and `size` bytes of a descriptor.
void helpercall_back(struct tb *b, u64 back, const void *desc, u32 size);

void helpercall_data(struct tb *b, const void *desc, u32 size);

// Stores the descriptor in h_desc, for stubs that preserve the flags.
void helpercall_describe(struct tb *b, u32 low, u32 high);

#endif
