// SPDX-License-Identifier: MIT
//
// From profiles to a struct core, by way of report/pack: what the page of a report gets through a
// file goes through memory here, so that both show the same.
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "cli/shared/progress.h"
#include "cli/shared/util.h"
#include "cli/top/top.h"
#include "report/core/heap.h"
#include "report/core/link.h"
#include "report/core/load.h"

void top_data_check(int rc)
{
    if (rc == CORE_MEMORY)
        die(UTIL_USAGE, "out of memory");
    if (rc < 0)
        die(UTIL_USAGE, "the profile cannot be shown (%d); please report this", rc);
}

static uint8_t *inflated(const struct block *b)
{
    uint8_t *out = heap_get(b->size);
    z_stream z = { .next_in = b->deflated, .avail_in = (uInt)b->deflated_size };

    z.next_out = out;
    z.avail_out = (uInt)b->size;
    if (!out || inflateInit2(&z, -15) != Z_OK)
        top_data_check(CORE_MEMORY);
    if (inflate(&z, Z_FINISH) != Z_STREAM_END || z.total_out != b->size)
        top_data_check(CORE_DAMAGED);
    inflateEnd(&z);
    return out;
}

static void pack(struct top *t)
{
    t->pack = pack_new(t->side[0].p, t->side[1].p, t->event);
    if (!t->pack)
        top_data_check(CORE_MEMORY);
    pack_store(t->pack);
    pack_functions(t->pack);
    for (uint32_t f = 0; f < pack_count(t->pack);)
        f = pack_places(t->pack, f);
    if (pack_finish(t->pack) < 0)
        top_data_check(CORE_MEMORY);
}

static void load(struct top *t)
{
    struct core *c = t->core = load_new();

    if (!c)
        top_data_check(CORE_MEMORY);
    for (size_t i = 0; i < pack_block_count(t->pack); i++) {
        const struct block *b = pack_block(t->pack, i);
        top_data_check(load_block(c, inflated(b), b->size));
    }
    top_data_check(link_edges(c));
    pack_free(t->pack);
    t->pack = NULL;
    t->formula = xcalloc(c->event_count + 1u, sizeof(struct formula *));
    for (uint32_t e = 0; e < c->event_count; e++)
        t->formula[e] = formula_event(c, e);
}

void top_data_load(struct top *t)
{
    side_read(t->side, t->mod_file, t->mod_func);
    t->event = (uint32_t)side_event(t->side, t->event_name);
    progress_begin("preparing %s", t->side[0].paths[0]);
    pack(t);
    load(t);
    progress_end();
    if (!t->formula[t->event])
        die(UTIL_USAGE, "%s: the formula of the event cannot be read", t->event_name);
    t->compare = t->core->has & CORE_HAS_BASE;
    t->calls = t->core->has & CORE_HAS_CALL;
    t->inclusive = t->calls;
    side_free(t->side);
}

void top_data_free(struct top *t)
{
    for (uint32_t e = 0; e < t->core->event_count; e++)
        formula_free(t->formula[e]);
    free(t->formula);
    load_free(t->core);
}
