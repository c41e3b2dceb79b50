// SPDX-License-Identifier: MIT
// Instructions decoded before. A form is what an instruction's bytes are but for displacement and
// immediate: what decode.h says of two instructions of one form differs by these and by their
// addresses alone, in numbers that are sums of them. A form that is remembered costs a look-up and
// a copy.
#ifndef QUERN_ENGINE_FORMS_H
#define QUERN_ENGINE_FORMS_H

#include "engine/x86/insn.h"

// As decode_insn (decode.h), whose answer it gives. Not at once in two threads: the translation
// lock is held. What decode.h can be told (decode_emulate, decode_requests) is told before the
// first call.
int forms_decode(struct insn *in, u64 pc, const u8 *code, u32 avail, bool want_refs);

// Whether the last call found its form, for tests.
bool forms_found(void);

#endif
