// SPDX-License-Identifier: MIT
// /proc/self/exe and its other spellings: the names under /proc for which the kernel would return
// the engine. launch.c corrects everything else that /proc says of the process, once.
#ifndef QUERN_ENGINE_PROCNAMES_H
#define QUERN_ENGINE_PROCNAMES_H

#include "engine/base/sys.h"

// At start: fd is the client's executable (a script's interpreter), name what it was called by.
void procnames_init(int fd, const char *name);

// The target that the link /proc/self/exe would have natively.
const char *procnames_exe(void);

// Is this the file that the client's process runs? Natively the kernel refuses writes to it.
bool procnames_is_program(const struct k_stat *st);

// Does path, relative to dirfd, name the exe link of this process or of one of its threads? path is
// the engine's copy. Makes a few system calls if the last component is "exe", none otherwise.
bool procnames_is_exe(int dirfd, const char *path);

#endif
