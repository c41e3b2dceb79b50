// SPDX-License-Identifier: MIT
//
// The strings of a report, from both profiles, each once. They get provisional numbers at their
// first use, and final ones at the end: those of the first block first, each group sorted by
// bytes.
#ifndef QUERN_REPORT_PACK_NAMES_H
#define QUERN_REPORT_PACK_NAMES_H

#include <stdbool.h>

#include "quern/profile.h"
#include "report/pack/buf.h"
#include "share/table.h"

enum { PACK_NAMES_MAX = 1 << 20 }; // bytes of a name; what is longer is cut

struct pack_name {
    size_t at;
    uint32_t size;
    bool early; // belongs into the first block
};

struct pack_names {
    struct buf pool;
    struct pack_name *name;
    size_t count, cap;
    struct table table;
    uint32_t *number; // final, by provisional number
    uint32_t *order;  // provisional, by final number
    uint32_t early;   // how many final numbers are of the first block
    uint32_t cut;     // how many names were cut
    bool failed;
};

uint32_t pack_names_add(struct pack_names *n, const char *s, size_t size);
// 0 or 1 + final number; for QUERN_NONE 0.
static inline uint64_t pack_names_ref(const struct pack_names *n, uint32_t provisional)
{
    return provisional == QUERN_NONE ? 0 : (uint64_t)n->number[provisional] + 1;
}
// Gives the final numbers.
bool pack_names_settle(struct pack_names *n);
// STRINGS of the final numbers first to end.
void pack_names_put(const struct pack_names *n, uint32_t first, uint32_t end, struct buf *to);
const char *pack_names_text(const struct pack_names *n, uint32_t provisional, size_t *size);
void pack_names_free(struct pack_names *n);

#endif
