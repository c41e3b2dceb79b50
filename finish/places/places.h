// SPDX-License-Identifier: MIT
//
// The second stage: which function, file and line an instruction of a spool is of, asked of the
// modules that the run had mapped.
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
    // What was last asked: its map, and how pc becomes an address in that one's module.
    uint32_t map;
    uint64_t delta; // link-time address minus pc
    bool known, is_generated;
    // All instructions of this map are at the same place whose pc is less than row_size behind row.
    uint64_t row, row_size;
    const char *lost; // the path that was said last to be lost, or NULL
};

// cache: the folder of the symbol cache, or NULL.
void places_open(struct places *p, const struct spool_file *s, const char *cache);
// What was learned goes into the cache where the profile was written.
void places_close(struct places *p, bool written);
// Where an instruction of a map is: the answer is its link-time address, or pc where nobody knows.
uint64_t slotmem_find(struct places *p, uint32_t map, uint64_t pc, struct symbols_place *out);
// The innermost body of an inlined function that is there; *addr: its link-time address.
const struct symbols_body *places_body(struct places *p, uint32_t map, uint64_t pc, uint64_t *addr);

// The text of a number in a place.
static inline const char *places_text(const struct places *p, uint32_t number)
{
    return symbols_string(p->symbols, number);
}

// Whether an instruction is where the one is that was last asked for: most are.
static inline bool places_is_same_row(const struct places *p, uint32_t map, uint64_t pc)
{
    return map == p->map && pc - p->row < p->row_size;
}

#endif
