// SPDX-License-Identifier: MIT
// A dense number, from 1, for each line of I1 from which code was translated: tags of 32 bits that
// translated code can compare with a constant.
#ifndef QUERN_ENGINE_LINEIDS_H
#define QUERN_ENGINE_LINEIDS_H

#include "engine/base/types.h"

void lineids_init(void);

// line: address >> shift. @holds(translation lock)
u32 lineids_of(u64 line);

// The lines by number, for later runs: how many; and all of them, line[id - 1].
u32 lineids_count(void);
void lineids_list(u64 *line);
// While there are none.
void lineids_take(const u64 *line, u32 n);

#endif
