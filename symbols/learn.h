// SPDX-License-Identifier: MIT
//
// Answers that the cache does not have: reads them from the module and its debug file. Used by
// symbols.c only.
#ifndef QUERN_SYMBOLS_LEARN_H
#define QUERN_SYMBOLS_LEARN_H

#include "symbols/module.h"

// Fills in m->load.
void learn_segments(struct symbols_module *m);
// The answer and the range in which it is the same; requests the range for the cache.
void learn_answer(struct symbols_module *m, uint64_t address, struct cachefile_answer *out);
// Adds the requested ranges to the cache.
void learn_save(struct symbols_module *m);
// See symbols_inlined() and symbols_body().
size_t learn_inlined(struct symbols_module *m, uint64_t address, struct symbols_frame *out,
                     size_t max);
const struct symbols_body *learn_body(struct symbols_module *m, uint64_t address);
// See symbols_fields() and symbols_block().
void learn_fields(struct symbols_module *m, struct symbols_field *field, size_t n);
void learn_block(struct symbols_module *m, struct symbols_block *b);
void learn_free(struct learn *l); // may be NULL

#endif
