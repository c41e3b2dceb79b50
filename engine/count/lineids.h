// SPDX-License-Identifier: MIT
// A dense number, from 1, for each line of I1 from which code was translated: a 32-bit tag that
// translated code compares with a constant.
#ifndef QUERN_ENGINE_LINEIDS_H
#define QUERN_ENGINE_LINEIDS_H

#include "engine/base/types.h"

void lineids_init(void);

// line: address >> shift. @holds(translation lock)
u32 lineids_of(u64 line);

// For the persistent cache: the number of lines, and all lines, line[id - 1].
u32 lineids_count(void);
void lineids_list(u64 *line);
// Sets ids 1 to n. No id has been given yet.
void lineids_preset(const u64 *line, u32 n);

#endif
