// SPDX-License-Identifier: MIT
// What a look-up of an address has found: an object, in a range of addresses. Passed from ranges
// and pages by way of alloc and mappings to those that count.
#ifndef QUERN_ENGINE_FOUND_H
#define QUERN_ENGINE_FOUND_H

#include "engine/base/types.h"

#define FOUND_UNKNOWN (~0ul)
#define FOUND_LINE    64u // bytes of a line of a block, of which it is known whether it has missed

struct found {
    u32 object;
    u64 start; // where the object begins; FOUND_UNKNOWN: not known
    u64 end;
    u64 born; // when the range was made
    u32 *who; // of the range (ranges.h); NULL: it is not known
    bool seen; // a line of a large block that is known to have missed before
};

#endif
