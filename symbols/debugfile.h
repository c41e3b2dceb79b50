// SPDX-License-Identifier: MIT
//
// Where the debug information of a file is: in the file itself, in a build-id folder, behind .gnu_debuglink,
// or at a debuginfod server when the environment names one. Used by symbols.c only.
#ifndef QUERN_SYMBOLS_DEBUGFILE_H
#define QUERN_SYMBOLS_DEBUGFILE_H

// An open fd of the separate debug file of the ELF file at path, -1 when there is none.
int debugfile_open(const char *path);

#endif
