// SPDX-License-Identifier: MIT
//
// The folder of the symbol cache and its files. Trusts nothing in it that another user could have
// put there; files appear whole or not at all; their size is limited. Used by cache.c. The folder
// may hold the engine's translations, too, which the engine writes itself.
#ifndef QUERN_SYMBOLS_CACHEDIR_H
#define QUERN_SYMBOLS_CACHEDIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The suffixes of files, the cache's and the engine's; other files are neither read nor removed.
#define CACHEDIR_SUFFIX       ".symbols"
#define CACHEDIR_TRANSLATIONS ".code"

// The default: $XDG_CACHE_HOME/quern or ~/.cache/quern. The caller frees it; NULL: nowhere.
char *cachedir_default(void);
// A descriptor of the folder; -1 if it does not exist, belongs to another user, or others may write
// to it. `create`: makes it, and the folder above it if that belongs to this user, too.
int cachedir_open(const char *path, bool create);
// Maps a file of this user for reading, and notes its use. NULL: none.
void *cachedir_map(int dir, const char *name, size_t *size);
// Writes a new file and renames it. False on failure.
bool cachedir_write(int dir, const char *name, const void *data, size_t size);
// Removes the least recently used files whose names end in `suffix` until the others take at most
// `limit` bytes, and what interrupted writers left.
void cachedir_prune(int dir, const char *suffix, uint64_t limit);

#endif
