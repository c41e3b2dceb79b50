// SPDX-License-Identifier: MIT
//
// Lines that are loaded ahead (prefetch.h).
#include "sim/prefetch.h"

uint32_t sim_prefetch(struct sim_prefetch *p, uint64_t line, bool missed,
                      uint64_t lines[SIM_AHEAD_MAX])
{
    struct sim_ahead named = { 0 };

    if (p->distance || p->next)
        named = sim_stream_ahead(p, line);
    return sim_prefetch_lines(p, line, missed, named, lines);
}
