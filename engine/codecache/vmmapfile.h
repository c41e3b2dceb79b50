// SPDX-License-Identifier: MIT
// The kernel's own map of this process, /proc/thread-self/maps. (thread-self, because
// /proc/self/maps is empty once the main thread has ended.) Results are in one buffer: for vmmap.c,
// whose lock guards it, and for launch.c, before there is a second thread.
#ifndef QUERN_ENGINE_VMMAPFILE_H
#define QUERN_ENGINE_VMMAPFILE_H

#include "engine/base/types.h"

struct vmmapfile_line {
    u64 start, end, offset, dev, ino; // dev as stat(2) shows it
    u32 prot, flags;                  // enum vmmap_flag: SHARED, ANON
    char *path; // "" for anonymous memory; valid until the next call, writable
};

#define VMMAPFILE_PATH 8704 // bytes of a path, at most: of the buffer

// Calls take(line, arg) for every line until it returns true; returns whether it did.
bool vmmapfile_walk(bool (*take)(const struct vmmapfile_line *, void *), void *arg);

// The line that holds addr.
bool vmmapfile_at(u64 addr, struct vmmapfile_line *out);

#endif
