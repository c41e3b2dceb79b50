// SPDX-License-Identifier: MIT
// Places in the engine's text where a signal does not mean a crash: one table of ranges. FIXUP
// lines beside the instructions fill it, the signal handler reads it.
#ifndef QUERN_ENGINE_EXTABLE_H
#define QUERN_ENGINE_EXTABLE_H

#define EXTABLE_FAULT 0 // a synchronous fault on client memory: continues at the target
// A signal was noted: continues at the target, which returns or checks again.
#define EXTABLE_SIGNAL      1
#define EXTABLE_CALL_BEFORE 2 // a system call of the client is not made yet
#define EXTABLE_CALL_AFTER  3 // it is complete; at the target itself, rax is its result

#ifdef __ASSEMBLER__

// clang-format off
// FIXUP from, to, kind, target: for rip in [from, to)
    .macro FIXUP from, to, kind, target
    .pushsection fixups, "a", @progbits
    .balign 4
.Lfixup_\@:
    .long \from - .Lfixup_\@
    .long \to - .Lfixup_\@
    .long \target - .Lfixup_\@
    .long \kind
    .popsection
    .endm
// clang-format on

#else

#    include "engine/base/types.h"

// Addresses relative to the entry.
struct extable {
    s32 from, to, target;
    u32 kind;
};

// The entry of this kind that contains rip, or NULL. @signal-safe
const struct extable *extable_find(u64 rip, u32 kind);

static inline u64 extable_target(const struct extable *f)
{
    return (u64)f + (u64)(s64)f->target;
}

#endif
#endif
