// SPDX-License-Identifier: MIT
//
// The files that a profile names: sources and objects. A profile may come from anybody, so what it
// names is opened with care: of one that was not recorded here, by this user, only what is below
// the working folder or a folder of -I. Every command that opens such a file does it here; why and
// how is in docs/design/061-sources.md.
#ifndef QUERN_CLI_TRUST_H
#define QUERN_CLI_TRUST_H

#include <sys/stat.h>

#include "cli/options/options.h"

// A profile is about to be read. If any is a stranger's, all count as strangers': what they name is
// shown side by side.
void trust_profile(const char *path);
// What is below these folders may be read.
void trust_folders(const struct option_list *list);
// A file was written of all those profiles; "-" is standard output. If they were recorded here, it
// counts as recorded here, too.
void trust_wrote(const char *path);

enum { TRUST_REFUSED = -2 };

// Opens a file for reading, and tells what it is. -1: there is none, it is not a regular file, or
// it cannot be read, which a sentence says. TRUST_REFUSED: the profile is a stranger's. Never
// waits, and never opens a device or a pipe: some act when they are opened.
int trust_open(const char *path, struct stat *st);
// The same for one that the user has named.
int trust_open_given(const char *path, struct stat *st);

// A sentence about what was not opened because a profile is a stranger's; NULL: nothing was.
const char *trust_refused(void);

#endif
