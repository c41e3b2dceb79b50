// SPDX-License-Identifier: MIT
//
// Where the separate debug file of a program or library is: in a build-id folder, behind
// .gnu_debuglink, or at a debuginfod server when the environment names one. Used by learn.c only.
#ifndef QUERN_SYMBOLS_DEBUGFILE_H
#define QUERN_SYMBOLS_DEBUGFILE_H

#include <libelf.h>
#include <stdbool.h>

// Called before a place is looked at: the answer depends on what is there. `asked`: no place had
// the file, and the servers were asked.
struct debugfile_watch {
    void (*look)(void *ctx, const char *path);
    void *ctx;
    bool asked;
};

// An open fd of the debug file of the ELF file at path, -1 when there is none.
int debugfile_open(const char *path, Elf *elf, struct debugfile_watch *w);

// The same of the file that a debug file has in common with others (dwz), by what the section
// .gnu_debugaltlink of the one at path says: a name, absolute or from that one's folder, and a
// build-id.
int debugfile_open_alt(const char *path, const char *name, const void *id, size_t id_size);

#endif
