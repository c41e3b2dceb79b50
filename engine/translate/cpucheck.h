// SPDX-License-Identifier: MIT
// --cpu: finds instructions that the processor shown to the program does not have.
#ifndef QUERN_ENGINE_CPUCHECK_H
#define QUERN_ENGINE_CPUCHECK_H

#include "engine/emit/tb.h"

// Checks a block that is about to run. Warns of the first such instruction of a process.
void cpucheck_check(const struct tb *b);
// Whether it has warned.
bool cpucheck_warned(void);

#endif
