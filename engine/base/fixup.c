// SPDX-License-Identifier: MIT
// The table of places where a signal is expected (fixup.h). The linker collects the section and
// names its ends.
#include "engine/base/fixup.h"

extern const struct fixup __start_fixups[], __stop_fixups[];

const struct fixup *fixup_find(u64 rip, u32 kind)
{
    for (const struct fixup *f = __start_fixups; f < __stop_fixups; f++) {
        u64 at = (u64)f;

        if (f->kind == kind && rip >= at + (u64)(s64)f->from && rip < at + (u64)(s64)f->to)
            return f;
    }
    return NULL;
}
