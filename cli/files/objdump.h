// SPDX-License-Identifier: MIT
//
// Disassembly by objdump of binutils: for listings that need only text, and for processors that
// Zydis does not decode.
#ifndef QUERN_CLI_OBJDUMP_H
#define QUERN_CLI_OBJDUMP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

// Starts objdump on a range of an open object; NULL when it cannot be started, or the object is too
// large. The line of an instruction: blanks, the address in hexadecimal, a colon, a tab; with
// `bytes` the bytes and a tab; the text.
FILE *objdump_open(int object, uint64_t first, uint64_t end, bool bytes, pid_t *pid);
// True when objdump ran to its end. Both arguments may be empty (NULL, 0).
bool objdump_close(FILE *f, pid_t pid);

#endif
