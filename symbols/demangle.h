// SPDX-License-Identifier: MIT
//
// Readable names of C++, Rust and D functions.
#ifndef QUERN_SYMBOLS_DEMANGLE_H
#define QUERN_SYMBOLS_DEMANGLE_H

// The readable form of a symbol's name, which the caller frees; NULL: show the name as it is.
char *demangle(const char *name);

#endif
