// SPDX-License-Identifier: MIT
//
// The second stage: which function, file and line an instruction is of.
#ifndef QUERN_FINISH_PLACES_H
#define QUERN_FINISH_PLACES_H

#include "finish/spool/spool.h"
#include "symbols/symbols.h"

// Where an instruction of a map is: the answer is its link-time address, or pc where nobody knows;
// and the text of a number in that.
typedef uint64_t places_find_fn(void *ctx, uint32_t map, uint64_t pc, struct symbols_place *out);
const char *places_text(const void *ctx, uint32_t number);
// The innermost body of an inlined function that is there; *addr: its link-time address.
const struct symbols_body *places_body(void *ctx, uint32_t map, uint64_t pc, uint64_t *addr);

// ---- places_generated.c ----

struct perfmap;
// Names of generated code, to be freed; NULL: none are known.
struct perfmap *places_generated(const struct spool_file *s);

#endif
