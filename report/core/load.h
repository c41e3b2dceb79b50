// SPDX-License-Identifier: MIT
//
// Blocks, as the page inflated them, into the tables of a struct core.
#ifndef QUERN_REPORT_CORE_LOAD_H
#define QUERN_REPORT_CORE_LOAD_H

#include "report/core/model.h"

struct core *load_new(void);
void load_free(struct core *c);

// CRC-32 of zlib and of docs/report-format.md.
uint32_t load_crc(const void *bytes, size_t size);

// Takes a block, which must come from heap_get() and belongs to the core from here on, whatever the
// result. Block 0 comes first, the others in any order; after link_edges() only those that it does
// not need (else CORE_WRONG). 0, or why it is refused: then nothing of it was taken, except that a
// damaged block may leave names that nothing refers to.
int load_block(struct core *c, uint8_t *bytes, size_t size);

// After block 0: needed[i] becomes 1 where link_edges() needs block i, else 0.
// A block that the report does not mention is needed.
void load_needed(const struct core *c, uint8_t *needed, uint32_t blocks);

// The texts of the report: the n-th value of a key. False: there are no more.
bool load_text(const struct core *c, const char *key, uint32_t n, struct text *value);

#endif
