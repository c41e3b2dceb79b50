// SPDX-License-Identifier: MIT
// VALGRIND_PRINTF: the client's format and arguments, formatted here and written where the run's
// messages go, each line behind "**PID** ".
#ifndef QUERN_ENGINE_PRINT_H
#define QUERN_ENGINE_PRINT_H

#include "engine/base/types.h"

// format: client address of the text; list: of a va_list as the ABI has it. The length of what was
// made of it.
u64 print_client(u64 format, u64 list);

// A line that says where the client is.
void print_place(u64 pc);

#endif
