// SPDX-License-Identifier: MIT
//
// Long output at a terminal, through $PAGER as git(1) does it: `less` where the variable is not
// set, nothing where it is empty or "cat", and without LESS in the environment LESS=FRX, with which
// less ends at once when all of it fits on the screen.
#ifndef QUERN_CLI_PAGER_H
#define QUERN_CLI_PAGER_H

// From here on standard output, and standard error where it is the terminal too, go through the
// pager, if standard output is a terminal that has one. At its end the process waits for the pager;
// when the pager ends first, the process dies silently by SIGPIPE.
void pager_start(void);

#endif
