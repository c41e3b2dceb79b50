// SPDX-License-Identifier: MIT
//
// The second stage: the function, file and line of an instruction of a spool, from the modules that
// the run had mapped.
#ifndef QUERN_FINISH_PLACES_H
#define QUERN_FINISH_PLACES_H

#include "finish/spool/spool.h"
#include "symbols/symbols.h"

struct perfmap;

struct places {
    const struct spool_file *s;
    struct symbols *symbols;
    struct symbols_module **module; // by map; NULL: anonymous
    struct perfmap *generated;      // names of generated code; NULL: none are known
    // The last look-up: its map, and how pc becomes an address in that module.
    uint32_t map;
    uint64_t delta; // link-time address minus pc
    bool known, is_generated;
    bool any_generated; // the run has executed generated code
    // In this map, all instructions with pc - row < row_size are at the same place.
    uint64_t row, row_size;
    const char *lost;   // the path last reported as lost, or NULL
    uint64_t forgotten; // another number than a spool before: so are those of functions and files
};

// cache: the folder of the symbol cache, or NULL.
void places_open(struct places *p, const struct spool_file *s, const char *cache);
// If the profile was written, saves what was learned in the cache.
void places_close(struct places *p, bool written);
// The place of an instruction of a map. Returns its link-time address, or pc if unknown.
uint64_t places_find(struct places *p, uint32_t map, uint64_t pc, struct symbols_place *out);
// Is it generated code without a name?
bool places_is_unnamed(const struct places *p, uint32_t map, uint64_t pc);
// The innermost body of an inlined function at pc; *addr: its link-time address.
const struct symbols_body *places_body(struct places *p, uint32_t map, uint64_t pc, uint64_t *addr);

// The module that was mapped from the file of that path; NULL: none.
struct symbols_module *places_module(const struct places *p, const char *path);

// The text of a number in a place.
static inline const char *places_text(const struct places *p, uint32_t number)
{
    return symbols_string(p->symbols, number);
}

// Whether an instruction is at the place of the last look-up: most are.
static inline bool places_is_same_row(const struct places *p, uint32_t map, uint64_t pc)
{
    return map == p->map && pc - p->row < p->row_size;
}

#endif
