// SPDX-License-Identifier: MIT
// The stubs between translated code and the engine (stubs.S), copied to the head of the code cache.
#ifndef QUERN_ENGINE_STUBS_H
#define QUERN_ENGINE_STUBS_H

#include "engine/base/types.h"

enum stub {
#define STUB(NAME, label, kind, function) STUB_##NAME,
#include "engine/codecache/stubs.def"
#undef STUB
    STUB_COUNT
};

// Bytes of the copy.
u64 stubs_size(void);

// Copies them to `base` and fills in what they call: calls[s] is the function of stubs.def's row s.
// `recording`: translated code holds t->record_at in r11, and the client's r11 is in its slot.
void stubs_copy(u64 base, const void *const calls[STUB_COUNT], bool recording);

// Reads `recording`; sets it, with the world stopped.
bool stubs_recording(void);
void stubs_record(bool recording);

// Host address in the copy.
u64 stubs_at(enum stub s);
const char *stubs_name(enum stub s);
// Whether a host address is in the copy, in [from, to).
bool stubs_between(u64 hpc, enum stub from, enum stub to);

#endif
