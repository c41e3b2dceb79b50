// SPDX-License-Identifier: MIT
//
// The symbol cache: what is known about a module, stored between runs. The answers are those of
// learn.c, computed once for every range of a function, or for a whole module where that is cheap,
// and written to a file whose ranges are searched in place. Used by symbols.c and learn.c, and by a
// finisher that has the cache without learn.c (finish/quick.c).
//
// A file is valid as long as the module is the same (identity.h) and everything is unchanged that
// was looked at in search of debug information: if some is installed later, replaced or removed, a
// new file is made.
#ifndef QUERN_SYMBOLS_CACHE_H
#define QUERN_SYMBOLS_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "symbols/cachefile.h"
#include "symbols/strings.h"

struct cache;
struct cache_module;

// The program whose answers are stored, if not this one. The caller owns the text.
void cache_made_by(const char *path);

// Function names depend on no_demangle.
struct cache *cache_new(const char *folder, bool no_demangle, struct strings *strings);
void cache_free(struct cache *c);

// NULL: cannot be stored. The caller owns the file's descriptor.
struct cache_module *cache_file(struct cache *c, const char *path, int fd, const struct stat *st);
struct cache_module *cache_image(struct cache *c, const char *name, const void *image, size_t size);
void cache_module_free(struct cache_module *m);

// The segments that the cache knows; NULL: it knows nothing of this module.
const struct cachefile_segment *cache_segments(const struct cache_module *m, size_t *count);
// False: not known. Strings are numbers of the `strings` given to cache_new().
bool cache_find(struct cache_module *m, uint64_t address, struct cachefile_answer *out);

// ---- For new answers: the caller adds them, then saves ----

// Notes a place where debug information is about to be searched.
void cache_witness(struct cache_module *m, const char *path);
// The answers are valid for this many seconds only.
void cache_expires(struct cache_module *m, unsigned seconds);
// A range that the cache must know from now on.
void cache_want(struct cache_module *m, uint64_t start, uint64_t end);
// Resolves all wanted ranges and writes the file; does nothing if none is wanted.
typedef void (*cache_resolve_fn)(void *ctx, uint64_t address, struct cachefile_answer *out);
void cache_save(struct cache_module *m, const struct cachefile_segment *segment, size_t segments,
                cache_resolve_fn resolve, void *ctx);

#endif
