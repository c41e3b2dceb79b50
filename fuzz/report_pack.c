// SPDX-License-Identifier: MIT
//
// Fuzzer of reports. The input is a profile, and after a line "----" pairs of bytes that damage
// its blocks. Undamaged, the report must load and agree with libquern; damaged,
// it must be refused or give some answer.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/column.h"
#include "tests/unit/report/exercise.h"
#include "tests/unit/report/unpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compare(struct core *c, const struct quern_profile *p)
{
    core_count self = 0;

    if (link_edges(c) < 0)
        abort();
    for (uint32_t e = 0; e < c->events && e < 4; e++) {
        if (costs_self(c, 0, e) < 0 || graph_inclusive(c, 0, e) < 0 ||
            costs_total(c, 0, e) != quern_profile_totals(p)[e])
            abort();
        self = 0;
        for (uint32_t f = 0; f < c->funcs; f++)
            self += column_get(&c->self[0][e], f);
        if (self != quern_profile_totals(p)[e])
            abort();
    }
}

// Lines also add up to the totals: the remainders are right.
static void compare_lines(struct core *c, const struct quern_profile *p)
{
    struct detail *d;
    core_count sum = 0;

    if (detail_places(c, CORE_NONE, CORE_NONE, DETAIL_LINE, NULL, &d) < 0)
        abort();
    for (size_t i = 0; i < d->count; i++)
        sum += d->counts[i * d->sides * d->events];
    if (sum != quern_profile_totals(p)[0])
        abort();
    detail_free(d);
}

static void damage(const struct pack *k, const uint8_t *how, size_t n)
{
    struct core *c = load_new();

    for (size_t i = 0; i < pack_block_count(k); i++) {
        size_t size = pack_block(k, i)->size;
        uint8_t *bytes = unpack_block(pack_block(k, i));
        for (size_t at = 0; at + 2 < n; at += 3) {
            // A HEAD with millions of functions is skipped: it needs memory, but is no fault.
            size_t place = (how[at] << 8 | how[at + 1]) % size;
            if (i > 0 || place >= 12)
                bytes[place] = how[at + 2];
        }
        load_block(c, bytes, size);
    }
    exercise(c);
    load_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *line = memmem(data, size, "\n----\n", 6);
    size_t text = line ? (size_t)(line - data) + 1 : size;
    struct quern_profile *p = quern_profile_read_mem((const char *)data, text, "fuzz", NULL, NULL);

    if (!p)
        return 0;
    if (quern_profile_event_count(p) > 0 && quern_profile_event_count(p) < 64 &&
        quern_profile_func_count(p) < 1000) {
        struct pack *k = pack_everything(p, NULL);
        if (!k)
            abort();
        struct core *c = unpack(k);
        if (!c)
            abort();
        compare(c, p);
        compare_lines(c, p);
        load_free(c);
        if (line)
            damage(k, line + 6, size - text - 5);
        pack_free(k);
    }
    quern_profile_free(p);
    return 0;
}
