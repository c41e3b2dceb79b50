// SPDX-License-Identifier: MIT
//
// Disassembly by objdump of binutils: for listings that need no more than text, and for processors
// that nothing here decodes.
#ifndef QUERN_CLI_OBJDUMP_H
#define QUERN_CLI_OBJDUMP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

// Starts objdump on a range of an open object; NULL when it cannot be started, or the object is too
// large. Lines of instructions are blanks, the address in hexadecimal, a colon, a tab; with `bytes`
// those and another tab; the text.
FILE *objdump_open(int object, uint64_t first, uint64_t end, bool bytes, pid_t *pid);
// True when it could be run to its end. Either may be none (NULL, 0).
bool objdump_close(FILE *f, pid_t pid);

#endif
