// SPDX-License-Identifier: MIT
// A cache of decoded instructions. The form of an instruction is its bytes without displacement and
// immediate. The results of decode.h for two instructions of one form differ only in numbers that
// are sums of displacement, immediate and address. A cached form costs a look-up and a copy.
#ifndef QUERN_ENGINE_FORMS_H
#define QUERN_ENGINE_FORMS_H

#include "engine/x86/insn.h"

// As decode_insn (decode.h), with the same result. Not in two threads at once: the caller holds the
// translation lock. decode_emulate() and decode_requests() are called before the first call.
int forms_decode(struct insn *in, u64 pc, const u8 *code, u32 avail, bool want_refs);

// Whether the last call found its form, for tests.
bool forms_found(void);

#endif
