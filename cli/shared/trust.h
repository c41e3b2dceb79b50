// SPDX-License-Identifier: MIT
//
// The files that a profile names: sources and objects. A profile may come from anybody, so what it
// names is opened with care. Every command that opens such a file does it here.
#ifndef QUERN_CLI_TRUST_H
#define QUERN_CLI_TRUST_H

#include <sys/stat.h>

// Opens a file for reading, and tells what it is. -1: there is none, or it is not a regular file; of
// one that must not be read a sentence says so. Never waits, and never opens a device or a pipe:
// some act when they are opened.
int trust_open(const char *path, struct stat *st);

#endif
