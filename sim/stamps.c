// SPDX-License-Identifier: MIT
//
// A reference whose hint is wrong (stamps.h).
#include "sim/stamps.h"

void sim_stamps_init(struct sim_stamps *c, const struct sim_geometry *g, uint32_t stride,
                     uint64_t *tags, uint64_t *stamps, uint16_t *hints)
{
    uint32_t sets = g->size / g->line / g->assoc;

    c->tags = tags;
    c->stamps = stamps;
    c->hints = hints;
    c->low = g->line - 1;
    c->assoc = g->assoc;
    c->stride = stride;
    c->set_mask = sets - 1;
    c->line_shift = (uint32_t)__builtin_ctz(g->line);
    for (uint32_t i = 0; i < sets * stride; i++) {
        tags[i] = SIM_STAMPS_EMPTY;
        if (i % stride >= g->assoc)
            stamps[i] = INT64_MAX;
    }
}

// The least stamp from way `first` on.
static uint32_t least(const uint64_t *stamps, uint32_t first, uint32_t assoc)
{
    uint64_t low = stamps[first];
    uint32_t way = first;

    for (uint32_t i = first + 1; i < first + assoc; i++) {
        uint64_t here = stamps[i];

        way = here < low ? i : way;
        low = here < low ? here : low;
    }
    return way;
}

#define TOUCH(tag)                                      \
    struct sim_stamps_way r = { 0, true, 0 };           \
                                                        \
    for (uint32_t i = first; i < first + assoc; i++) {  \
        if (tags[i] == (tag)) {                         \
            r = (struct sim_stamps_way){ i, false, 0 }; \
            break;                                      \
        }                                               \
    }                                                   \
    if (r.miss) {                                       \
        r.way = least(stamps, first, assoc);            \
        r.old = (uint32_t)tags[r.way];                  \
        tags[r.way] = (tag);                            \
    }                                                   \
    stamps[r.way] = now;                                \
    return r

static struct sim_stamps_way touch(uint64_t *tags, uint64_t *stamps, uint32_t first, uint32_t assoc,
                                   uint64_t tag, uint64_t now)
{
    TOUCH(tag);
}

struct sim_stamps_way sim_stamps_touch_id(uint32_t *tags, uint64_t *stamps, uint32_t first,
                                          uint32_t assoc, uint32_t tag, uint64_t now)
{
    TOUCH(tag);
}

bool sim_stamps_touch(struct sim_stamps *c, uint64_t a, uint64_t now)
{
    uint64_t line = a >> c->line_shift;
    struct sim_stamps_way r = touch(c->tags, c->stamps, (uint32_t)(line & c->set_mask) * c->stride,
                                    c->assoc, a & ~c->low, now);

    c->hints[line % SIM_STAMPS_HINTS] = (uint16_t)r.way;
    return r.miss;
}
