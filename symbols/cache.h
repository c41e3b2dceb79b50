// SPDX-License-Identifier: MIT
//
// The symbol cache: what was found out about a module, kept between runs. The answers are those of
// learn.c, asked once for every range of a function, or of a whole module where that is cheap,
// and written to a file whose ranges are looked up where they lie. Used by symbols.c and
// learn.c, and by a finisher that has the cache and not learn.c (finish/quick).
//
// A file counts as long as the module is the same (identity.h) and everything that was looked at in
// search of debug information is as it was: one that is installed later, or replaced, or removed,
// gives a new file.
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

// The program whose answers are kept, if that is not this one. The text stays the caller's.
void cache_made_by(const char *path);

// Names of functions depend on no_demangle.
struct cache *cache_new(const char *folder, bool no_demangle, struct strings *strings);
void cache_free(struct cache *c);

// NULL: cannot be kept. The file's descriptor stays the caller's.
struct cache_module *cache_file(struct cache *c, const char *path, int fd, const struct stat *st);
struct cache_module *cache_image(struct cache *c, const char *name, const void *image, size_t size);
void cache_module_free(struct cache_module *m);

// The segments that the cache knows; NULL: it knows nothing of this module.
const struct cachefile_segment *cache_segments(const struct cache_module *m, size_t *count);
// False: not known. Strings are numbers of the `strings` given to cache_new().
bool cache_find(struct cache_module *m, uint64_t address, struct cachefile_answer *out);

// ---- For what was not known: filled in by the caller, then saved ----

// A place where debug information is about to be looked for.
void cache_witness(struct cache_module *m, const char *path);
// The answers hold for this many seconds only.
void cache_expires(struct cache_module *m, unsigned seconds);
// A range that is to be known from now on.
void cache_want(struct cache_module *m, uint64_t start, uint64_t end);
// Asks for all that is wanted and writes the file; does nothing when nothing is wanted.
typedef void (*cache_resolve_fn)(void *ctx, uint64_t address, struct cachefile_answer *out);
void cache_save(struct cache_module *m, const struct cachefile_segment *segment, size_t segments,
                cache_resolve_fn resolve, void *ctx);

#endif
