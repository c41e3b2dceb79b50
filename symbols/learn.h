// SPDX-License-Identifier: MIT
//
// What the cache does not know of a module: read from the module and its debug file. Used by
// symbols.c only.
#ifndef QUERN_SYMBOLS_LEARN_H
#define QUERN_SYMBOLS_LEARN_H

#include "symbols/module.h"

// Fills in m->load.
void learn_segments(struct symbols_module *m);
// The answer and the range for which it holds; the cache is to know it from now on.
void learn_answer(struct symbols_module *m, uint64_t address, struct cachefile_answer *out);
// Adds to the cache what it is to know.
void learn_save(struct symbols_module *m);
// As symbols_inlined() and symbols_body().
size_t learn_inlined(struct symbols_module *m, uint64_t address, struct symbols_frame *out,
                     size_t max);
const struct symbols_body *learn_body(struct symbols_module *m, uint64_t address);
void learn_free(struct learn *l); // NULL is nothing

#endif
