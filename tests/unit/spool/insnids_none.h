// SPDX-License-Identifier: MIT
// For tests of what asks engine/spool/insnids.h: each counter is of an instruction of its own.
#ifndef QUERN_TESTS_INSNIDS_NONE_H
#define QUERN_TESTS_INSNIDS_NONE_H

#include "engine/spool/insnids.h"

void insnids_init(void) {}

bool insnids_on(void)
{
    return false;
}

u32 insnids_first(u32 counter)
{
    return counter;
}

#endif
