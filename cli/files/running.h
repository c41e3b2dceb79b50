// SPDX-License-Identifier: MIT
//
// The spool of a program that runs under quern, perhaps as another user: root sees all of them.
#ifndef QUERN_CLI_RUNNING_H
#define QUERN_CLI_RUNNING_H

// Opens the spool that a process has mapped, with these flags of open(). -1, and errno is ENOENT:
// it has none, or the caller may not see it; EMFILE: no descriptor was free to look. The file at
// the path is opened only if it is the one that is mapped, and belongs to the user of the process
// or to the caller; any other file there is not followed, waited for or written to.
int running_spool(long pid, int flags);

// Exits, with a message about `what`: no descriptor is free.
_Noreturn void running_die(const char *what);

#endif
