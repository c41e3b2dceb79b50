// SPDX-License-Identifier: MIT
//
// A report without a page: the blocks of a pack, inflated and loaded into a core, as the page does
// it. For tests and the fuzzer.
#ifndef QUERN_TESTS_REPORT_UNPACK_H
#define QUERN_TESTS_REPORT_UNPACK_H

#include <stdlib.h>
#include <string.h>

#include "report/core/heap.h"
#include "report/core/inflate.h"
#include "report/core/link.h"
#include "report/core/load.h"
#include "report/pack/pack.h"

static inline uint8_t *unpack_block(const struct block *b)
{
    uint8_t *out = heap_get(b->size);

    if (!out || inflate_raw(b->deflated, b->deflated_size, out, b->size) != 0 ||
        load_crc(out, b->size) != b->crc)
        abort();
    return out;
}

// Everything loaded, edges not yet linked; NULL: the core refused a block.
static inline struct core *unpack(const struct pack *k)
{
    struct core *c = load_new();

    for (size_t i = 0; c && i < pack_block_count(k); i++)
        if (load_block(c, unpack_block(pack_block(k, i)), pack_block(k, i)->size) < 0) {
            load_free(c);
            return NULL;
        }
    return c;
}

static inline struct pack *pack_everything(struct quern_profile *p, struct quern_profile *base)
{
    struct pack *k = pack_new(p, base, 0);

    if (!k)
        return NULL;
    pack_functions(k);
    for (uint32_t f = 0; f < pack_count(k);)
        f = pack_places(k, f);
    if (pack_finish(k) < 0) {
        pack_free(k);
        return NULL;
    }
    return k;
}

#endif
