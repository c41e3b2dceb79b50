// SPDX-License-Identifier: MIT
// With --cpu: an instruction that the processor which the program is shown would not know.
#ifndef QUERN_ENGINE_CPUCHECK_H
#define QUERN_ENGINE_CPUCHECK_H

#include "engine/emit/tb.h"

// Looks at a block that is about to run. The first such instruction of a process is told of.
void cpucheck_check(const struct tb *b);
// Whether one has been.
bool cpucheck_told(void);

#endif
