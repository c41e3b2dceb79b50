// SPDX-License-Identifier: MIT
// Large pages for what every process touches all over, where the kernel has them to give. A page
// that is touched first is a fault, which costs 0.5 us; in some virtual machines 12 us, where one
// of 2 MiB costs 130.
#ifndef QUERN_ENGINE_HUGE_H
#define QUERN_ENGINE_HUGE_H

#include "engine/base/types.h"

#define HUGE_PAGE 0x200000ul

// --no-huge-pages. Before anything is mapped.
void huge_forbid(void);

// Of memory that is mapped and not touched yet. Silent where that cannot be.
void huge_prefer(u64 start, u64 bytes);

#endif
