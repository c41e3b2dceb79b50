// SPDX-License-Identifier: MIT
// The table of places where a signal is expected (extable.h). The linker collects the section and
// defines symbols for its ends.
#include "engine/base/extable.h"

extern const struct extable __start_fixups[], __stop_fixups[];

const struct extable *extable_find(u64 rip, u32 kind)
{
    for (const struct extable *f = __start_fixups; f < __stop_fixups; f++) {
        u64 at = (u64)f;

        if (f->kind == kind && rip >= at + (u64)(s64)f->from && rip < at + (u64)(s64)f->to)
            return f;
    }
    return NULL;
}
