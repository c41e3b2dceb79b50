// SPDX-License-Identifier: MIT
//
// Prints what the library reports about a profile on standard error: errors that end a command,
// remarks of the reader, their line, and a caret below it.
#ifndef QUERN_CLI_REMARK_H
#define QUERN_CLI_REMARK_H

#include <stdio.h>

#include "quern/profile.h"

// An error of the library, with the line and a caret when there is one.
void remark_error(const struct quern_error *err);
// The same, and the process ends with status 2.
_Noreturn void remark_die(const struct quern_error *err);
// A warning or an error of the reader; notes are ignored.
void remark_diag(const struct quern_diag *d, const char *file);
// The line below a message, and the caret under column `col`; nothing for a column far to the
// right.
void remark_caret(FILE *f, const char *text, uint32_t col);

#endif
