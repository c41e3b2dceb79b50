// SPDX-License-Identifier: MIT
// Files that are mapped to be executed, kept for the names in them: the finisher opens a module by
// its path, where there may be nothing any more, or another file.
#ifndef QUERN_ENGINE_MODULES_H
#define QUERN_ENGINE_MODULES_H

#include "engine/base/types.h"
#include "engine/codecache/vmmapfile.h"

struct k_stat;

// What is known of the file of a mapping, ns since 1970; 0: nothing.
struct modules_times {
    u64 mtime, ctime;
};

// Whether a descriptor of the client's is of a file that can be kept, an ELF file, and what is
// known of it. Takes no lock: it may wait for a file system, which may be another thread's.
bool modules_look(int fd, struct k_stat *st);
// And that has been mapped to be executed. A file is kept once. @holds(vmmap_lock)
void modules_keep_mapped(int fd, const struct k_stat *st);

// The file of a mapping that is recorded, for its code is executed: it is kept, too, if that can
// still be, and its path is made to be its name (the kernel writes a newline as \012; `deleted`
// says that what it writes behind the name of a file that is gone has been taken off).
// @holds(vmmap_lock)
struct modules_times modules_keep(struct vmmapfile_line *l, bool deleted);

// Rights are given up: what not everybody may read is let go. With nobody running.
void modules_leave(void);

// The process is about to be finished: what its records of mappings name, and is not what stands
// under that name any more, is written to the spool in fd (SPOOL_KEPT_OFF). What cannot be written
// is missing there.
void modules_save(int fd);

#endif
