// SPDX-License-Identifier: MIT
// Files of which code is executed, kept for the names in them: the finisher opens a module by its
// path, where there may be nothing any more, or another file.
#ifndef QUERN_ENGINE_MODULES_H
#define QUERN_ENGINE_MODULES_H

#include "engine/base/types.h"
#include "engine/codecache/vmmapfile.h"

// What is known of the file of a mapping, ns since 1970; 0: nothing.
struct modules_times {
    u64 mtime, ctime;
};

// The file of a mapping that is recorded: where it is an ELF file it is kept, and its path is made
// to be its name (the kernel writes a newline as \012; `deleted` says that it has taken off what
// it writes behind the name of a file that is gone). A file is kept once. @holds(vmmap_lock)
struct modules_times modules_keep(struct vmmapfile_line *l, bool deleted);

// The process is about to be finished: what its records of mappings name, and is not what stands
// under that name any more, is written to the spool in fd (SPOOL_KEPT_OFF). What cannot be written
// is missing there.
void modules_save(int fd);

#endif
