// SPDX-License-Identifier: MIT
//
// Completion of command lines for shells, generated from the tables of options. `quern --completion
// SHELL` prints it; the build puts it where shells look.
#ifndef QUERN_CLI_COMPLETE_H
#define QUERN_CLI_COMPLETE_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/cli.h"

// Prints the completion of n commands for "bash", "zsh" or "fish"; false for another shell.
bool complete_print(FILE *f, const char *shell, const struct command *commands, size_t n);

#endif
