// SPDX-License-Identifier: MIT
//
// The spool of a program that runs under quern, which may be another user's: root sees them all.
#ifndef QUERN_CLI_RUNNING_H
#define QUERN_CLI_RUNNING_H

// Opens the spool that a process has mapped, with these flags of open(). -1: it has none, or it may
// not be seen. What the path names is opened only if it is the file that is mapped, and belongs to
// who runs the process or to the caller; nothing that stands there instead is followed, waited for
// or written to.
int running_spool(long pid, int flags);

#endif
