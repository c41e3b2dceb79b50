// SPDX-License-Identifier: MIT
//
// Where the separate debug file of a program or library is: in a build-id folder, at the name in
// .gnu_debuglink, or at a debuginfod server if the environment names one. Used by learn.c only.
#ifndef QUERN_SYMBOLS_DEBUGFILE_H
#define QUERN_SYMBOLS_DEBUGFILE_H

#include <libelf.h>
#include <stdbool.h>

// Called before a place is looked at: the answer depends on what is there. `asked`: no place had
// the file, and the servers were asked. `odd`: the first place with something other than a regular
// file (pipe, device), which is never opened; NULL: none. The caller frees it.
struct debugfile_watch {
    void (*look)(void *ctx, const char *path);
    void *ctx;
    bool asked;
    char *odd;
};

// An open fd of the debug file of the ELF file at path, -1 when there is none.
int debugfile_open(const char *path, Elf *elf, struct debugfile_watch *w);

// The same for the file that a debug file shares with others (dwz), as .gnu_debugaltlink of the one
// at path names it: a name, absolute or relative to that one's folder, and a build-id. *odd: as
// above; set it to NULL before.
int debugfile_open_alt(const char *path, const char *name, const void *id, size_t id_size,
                       char **odd);

// The package of split debug information (.dwp) of a program whose debug information is in the file
// at path: beside either, or in the folder of debug files. *found is its path; the caller frees it.
int debugfile_open_package(const char *program, const char *path, char **found, char **odd);

// Whether it exists and is not a regular file: opening it may block or have an effect.
bool debugfile_is_odd(const char *path);

#endif
