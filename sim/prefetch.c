// SPDX-License-Identifier: MIT
//
// Lines that are loaded ahead (prefetch.h).
#include "sim/prefetch.h"

uint32_t sim_prefetch(struct sim_prefetch *p, uint64_t line, uint32_t code, bool missed,
                      uint64_t lines[SIM_AHEAD_MAX])
{
    struct sim_ahead named = { 0 };

    if (sim_prefetch_pages(p))
        named = sim_page_ahead(p, line, code);
    return sim_prefetch_lines(p, line, missed, named, lines);
}
