// SPDX-License-Identifier: MIT
//
// Opens the files that a profile names: sources and objects. A profile may come from anybody: where
// it was not recorded here, by this user, only files below the working folder or a folder of -I are
// opened. Every command opens such files here; docs/design/061-sources.md says why and how.
#ifndef QUERN_CLI_TRUST_H
#define QUERN_CLI_TRUST_H

#include <sys/stat.h>

#include "cli/options/options.h"

// A profile is about to be read. If one was not recorded here, none is trusted: the files that they
// name are shown side by side.
void trust_profile(const char *path);
// Files below these folders may be read.
void trust_folders(const struct option_list *list);
// A file was made from all those profiles; "-" is standard output. If they were recorded here, it
// counts as recorded here, too.
void trust_wrote(const char *path);

enum { TRUST_REFUSED = -2 };

// Opens a file for reading, and fills in *st. -1: it does not exist, is not a regular file, or
// cannot be read, which a message says. TRUST_REFUSED: the profile is not trusted. Never waits, and
// never opens a device or a pipe: some act when they are opened.
int trust_open(const char *path, struct stat *st);
// The same for a file that the user has named.
int trust_open_given(const char *path, struct stat *st);

// A message about the files that were refused because a profile is not trusted; NULL: there were
// none.
const char *trust_refused(void);

#endif
