// SPDX-License-Identifier: MIT
// VALGRIND_PRINTF: formats the client's arguments and writes the text to the run's messages, each
// line after "**PID** ".
#ifndef QUERN_ENGINE_PRINT_H
#define QUERN_ENGINE_PRINT_H

#include "engine/base/types.h"

// format: client address of the text; list: client address of a va_list of the ABI. Returns the
// length of the result.
u64 print_client(u64 format, u64 list);

// Prints a line with the client's location.
void print_place(u64 pc);

#endif
