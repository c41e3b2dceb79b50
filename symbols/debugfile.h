// SPDX-License-Identifier: MIT
//
// Where the separate debug file of a program or library is: in a build-id folder, behind
// .gnu_debuglink, or at a debuginfod server when the environment names one. Used by learn.c only.
#ifndef QUERN_SYMBOLS_DEBUGFILE_H
#define QUERN_SYMBOLS_DEBUGFILE_H

#include <libelf.h>
#include <stdbool.h>

// Called before a place is looked at: the answer depends on what is there. `asked`: no place had
// the file, and the servers were asked. `odd`: the first place with something that is no regular
// file, a pipe or a device, which is never opened; NULL: none. It is the caller's.
struct debugfile_watch {
    void (*look)(void *ctx, const char *path);
    void *ctx;
    bool asked;
    char *odd;
};

// An open fd of the debug file of the ELF file at path, -1 when there is none.
int debugfile_open(const char *path, Elf *elf, struct debugfile_watch *w);

// The same of the file that a debug file has in common with others (dwz), by what the section
// .gnu_debugaltlink of the one at path says: a name, absolute or from that one's folder, and a
// build-id. *odd, NULL before, as above.
int debugfile_open_alt(const char *path, const char *name, const void *id, size_t id_size,
                       char **odd);

// The package of split debug information (.dwp) of a program whose debug information is in the file
// at path: beside either, or in the folder of debug files. *found, then the caller's, is its path.
int debugfile_open_package(const char *program, const char *path, char **found, char **odd);

// Whether something that is no regular file is there, which to open may block or do something.
bool debugfile_is_odd(const char *path);

#endif
