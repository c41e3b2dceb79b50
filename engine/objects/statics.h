// SPDX-License-Identifier: MIT
// Objects of modules: symbols of data, and the rest of each section. Read from the file when it is
// mapped (.symtab and .dynsym): a miss may be found by a process that cannot read files.
#ifndef QUERN_ENGINE_STATICS_H
#define QUERN_ENGINE_STATICS_H

#include "engine/base/types.h"
#include "engine/objects/ranges.h"

// Whether fd is an ELF file of this machine. Takes no lock: it may wait for a file system.
bool statics_is_module(int fd);

// Reads the module in fd, which is mapped at [start, start + bytes) from its beginning on. Returns
// its number and its extent; 0: it is no module, or not all of it is mapped there. path: its name.
u32 statics_load(int fd, const char *path, u64 start, u64 bytes, u64 *low, u64 *high);

// How many bytes below the thread pointer the thread-local variables of the modules have at most.
u64 statics_tls_bytes(void);
// The i-th variable of the program, which is the first module that was read: it begins `below`
// bytes below the thread pointer. False: there are no more. @holds(objtable's lock)
bool statics_tls(u32 i, u64 *below, u64 *size, u32 *object);

// The object at an address of a module, and where it begins if it is a symbol's, else
// FOUND_UNKNOWN. @holds(objtable's lock) @signal-safe
u32 statics_at(u32 module, u64 addr, u64 *start);
// Makes the span smaller: addresses around addr that are in the same object. @holds(objtable's
// lock) @signal-safe
void statics_span(u32 module, u64 addr, struct ranges_span *span);

#endif
