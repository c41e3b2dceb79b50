// SPDX-License-Identifier: MIT
//
// What symbols.c, which owns the modules, and learn.c, which reads them, share. Used by these two
// only.
#ifndef QUERN_SYMBOLS_MODULE_H
#define QUERN_SYMBOLS_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/cache.h"
#include "symbols/cachefile.h"
#include "symbols/strings.h"
#include "symbols/symbols.h"

struct learn;

struct symbols_module {
    struct symbols_module *next;
    struct symbols *owner;
    char *name;          // the path
    uint64_t ino, mtime; // of symbols_file
    int fd;
    struct cache_module *cache;
    const void *image; // of a module in memory
    size_t image_size;
    struct cachefile_segment *load; // PT_LOAD segments, to be freed
    size_t loads;
    struct learn *learn;          // NULL: nothing was read
    struct cachefile_answer last; // with the range in which it is the same
};

struct symbols {
    struct symbols_options o;
    struct strings strings;
    struct cache *cache; // NULL: none
    struct symbols_module *modules;
    struct symbols_module none; // used when there is no memory for one
};

#endif
