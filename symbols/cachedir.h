// SPDX-License-Identifier: MIT
//
// The folder of the symbol cache and its files: nothing in it is believed that another user could
// have put there, files appear whole or not at all, and there are never too many. Used by cache.c;
// the engine's translations may lie there, too, whose files it writes itself.
#ifndef QUERN_SYMBOLS_CACHEDIR_H
#define QUERN_SYMBOLS_CACHEDIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What the names of files end in, the cache's and the engine's; no other file is looked at, or
// removed.
#define CACHEDIR_SUFFIX       ".symbols"
#define CACHEDIR_TRANSLATIONS ".code"

// Where it is unless the user says otherwise: $XDG_CACHE_HOME/quern or ~/.cache/quern. To be freed;
// NULL: nowhere.
char *cachedir_default(void);
// A descriptor of the folder; -1 when it is not there, is not this user's, or others may write to
// it. `create`: makes it, and the folder above it if that is this user's, too.
int cachedir_open(const char *path, bool create);
// Maps a file of this user's for reading, and notes that it was used. NULL: none.
void *cachedir_map(int dir, const char *name, size_t *size);
// Writes beside and renames. False when that cannot be.
bool cachedir_write(int dir, const char *name, const void *data, size_t size);
// Of the files with names that end in `suffix`, removes those whose use is longest ago until what
// is left takes `limit` bytes at most, and what interrupted writers left.
void cachedir_prune(int dir, const char *suffix, uint64_t limit);

#endif
