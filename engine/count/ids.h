// SPDX-License-Identifier: MIT
// A dense number, from 1, for each line of I1 from which code was translated: tags of 32 bits that
// translated code can compare with a constant.
#ifndef QUERN_ENGINE_IDS_H
#define QUERN_ENGINE_IDS_H

#include "engine/base/types.h"

void ids_init(void);

// line: address >> shift. @holds(translation lock)
u32 ids_of(u64 line);

#endif
