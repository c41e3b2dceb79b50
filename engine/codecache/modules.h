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

// The file of a mapping, as it was found.
struct modules_found {
    struct modules_times times; // of the file that the path leads to; 0: of another one, or none
    int fd;                     // of an ELF file that can be held; -1: none
    u32 mode;                   // its status
    u64 dev, ino, size;
    struct modules_times held;
};

// Looks up the file of a mapping, and corrects its path (the kernel writes a newline as \012).
// `deleted`: the file is gone, and the kernel's suffix has been removed from the path. Takes no
// lock, as modules_check(). modules_looked() closes it.
void modules_look(struct vmmapfile_line *l, bool deleted, struct modules_found *out);
void modules_looked(struct modules_found *found);

// Whether that is not necessary: the file is held, and its path needs no correction. Asks for no
// file. @holds(vmmap_lock)
bool modules_known(struct vmmapfile_line *l);
// The file of a mapping that gets a record because its code is executed: holds it, too, if still
// possible. found: NULL if modules_known(). @holds(vmmap_lock)
struct modules_times modules_hold(struct vmmapfile_line *l, const struct modules_found *found);

// The process gives up rights: drops the files that not everybody may read. No thread runs.
void modules_drop_private(void);

// At the end of the process: writes each file that a map record names, and that its path no longer
// leads to, to the spool in fd (SPOOL_HELD_OFF). What cannot be written is missing there.
void modules_save(int fd);

#endif
