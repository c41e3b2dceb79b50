// SPDX-License-Identifier: MIT
// Modules: files that are mapped executable. They are held for their symbols: the finisher opens a
// module by its path, where there may be no file any more, or another one.
#ifndef QUERN_ENGINE_MODULES_H
#define QUERN_ENGINE_MODULES_H

#include "engine/base/types.h"
#include "engine/codecache/vmmapfile.h"

struct k_stat;

// Times of a mapping's file, ns since 1970; 0: not known.
struct modules_times {
    u64 mtime, ctime;
};

// Whether a descriptor of the client's is an ELF file that can be held, and its status. Takes no
// lock: it may wait for a file system, which another thread may serve.
bool modules_check(int fd, struct k_stat *st);
// That file has been mapped executable: holds it, once. @holds(vmmap_lock)
void modules_hold_mapped(int fd, const struct k_stat *st);

// The file of a mapping that gets a record because its code is executed: holds it, too, if still
// possible, and corrects its path (the kernel writes a newline as \012). `deleted`: the file is
// gone, and the kernel's suffix has been removed from the path. @holds(vmmap_lock)
struct modules_times modules_hold(struct vmmapfile_line *l, bool deleted);

// The process gives up rights: drops the files that not everybody may read. No thread runs.
void modules_drop_private(void);

// At the end of the process: writes each file that a map record names, and that its path no longer
// leads to, to the spool in fd (SPOOL_HELD_OFF). What cannot be written is missing there.
void modules_save(int fd);

#endif
