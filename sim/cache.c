// SPDX-License-Identifier: MIT
//
// The cold part of the cache simulator: geometries, storage, and the search of a set beyond its
// most recent way. See cache.h for its rules.
#include "sim/cache.h"

static bool is_power_of_two(uint64_t n)
{
    return n && !(n & (n - 1));
}

// The power of two nearest to n by ratio, that is 2^k with n * n <= 2^(2k+1); n from 1 to 2^32.
static uint64_t nearest_power_of_two(uint64_t n)
{
    uint64_t p = 1;

    while (p * 2 <= n)
        p *= 2;
    // n lies in [p, 2p): the half-way point by ratio is p * sqrt(2). n is below 2^32 unless it
    // is a power of two itself, so the products do not overflow.
    if (n != p && n * n > 2 * p * p)
        p *= 2;
    return p;
}

int sim_geometry_check(const struct sim_geometry *g)
{
    int fault = sim_geometry_check_last(g);

    if (fault != SIM_GEOMETRY_OK)
        return fault;
    if (!is_power_of_two(g->size / ((uint64_t)g->line * g->assoc)))
        return SIM_GEOMETRY_SETS;
    return SIM_GEOMETRY_OK;
}

int sim_geometry_check_last(const struct sim_geometry *g)
{
    uint64_t set_bytes = (uint64_t)g->line * g->assoc;

    if (!g->size || !g->assoc || !g->line)
        return SIM_GEOMETRY_ZERO;
    if (!is_power_of_two(g->line))
        return SIM_GEOMETRY_LINE;
    if (g->line < SIM_LINE_MIN)
        return SIM_GEOMETRY_SHORT;
    if (g->size < set_bytes)
        return SIM_GEOMETRY_SMALL;
    if (g->size % set_bytes)
        return SIM_GEOMETRY_MULTIPLE;
    return SIM_GEOMETRY_OK;
}

const char *sim_geometry_reason(int fault)
{
    switch ((enum sim_geometry_fault)fault) {
    case SIM_GEOMETRY_OK: return "the geometry is valid";
    case SIM_GEOMETRY_ZERO: return "size, associativity and line size must not be 0";
    case SIM_GEOMETRY_LINE: return "the line size must be a power of two";
    case SIM_GEOMETRY_SHORT: return "the line size must be at least 16 bytes";
    case SIM_GEOMETRY_SMALL:
        return "the size must be at least the associativity times the line size";
    case SIM_GEOMETRY_MULTIPLE:
        return "the size must be a multiple of the associativity times the line size";
    case SIM_GEOMETRY_SETS:
        return "the number of sets (size / associativity / line size) must be a power of two";
    }
    return "the geometry is not valid";
}

struct sim_geometry sim_geometry_nearest(const struct sim_geometry *g)
{
    uint64_t size = g->size ? g->size : 1;
    uint64_t assoc = g->assoc ? g->assoc : 1;
    uint64_t line = g->line > SIM_LINE_MIN ? nearest_power_of_two(g->line) : SIM_LINE_MIN;
    uint64_t lines, sets;
    struct sim_geometry r;

    if (sim_geometry_check(g) == SIM_GEOMETRY_OK)
        return *g;

    // A line above 2^31 cannot be represented beside a 32-bit size.
    if (line > 1u << 31)
        line = 1u << 31;
    lines = size / line;
    if (!lines)
        lines = 1;
    if (assoc > lines)
        assoc = lines;
    sets = nearest_power_of_two(lines / assoc);
    assoc = (lines + sets / 2) / sets;
    if (!assoc)
        assoc = 1;
    // Rounding up can pass what 32 bits hold, once: by a way, or by half of a direct-mapped cache.
    if (sets * assoc * line > UINT32_MAX) {
        if (assoc > 1)
            assoc--;
        else
            sets /= 2;
    }

    r.size = (uint32_t)(sets * assoc * line);
    r.assoc = (uint32_t)assoc;
    r.line = (uint32_t)line;
    return r;
}

size_t sim_cache_bytes(const struct sim_geometry *g)
{
    return (size_t)(g->size / g->line) * sizeof(uint64_t);
}

void sim_cache_init_zeroed(struct sim_cache *c, const struct sim_geometry *g, void *storage)
{
    c->tags = storage;
    c->assoc = g->assoc;
    c->sets = g->size / g->line / g->assoc;
    c->set_mask = c->sets - 1;
    c->low = g->line - 1;
    c->stride = g->assoc;
    c->line = g->line;
    c->line_shift = (uint32_t)__builtin_ctz(g->line);
}

void sim_cache_init(struct sim_cache *c, const struct sim_geometry *g, void *storage)
{
    size_t n = sim_cache_bytes(g) / sizeof(uint64_t);

    sim_cache_init_zeroed(c, g, storage);
    for (size_t i = 0; i < n; i++)
        c->tags[i] = 0;
}

// Way 0 is known to be another line. Each tag moves one way down until the wanted one or the end of
// the set is found: the search and the move to the front are one pass.
#define SEARCH(name, type)                          \
    bool name(type *ways, uint32_t assoc, type tag) \
    {                                               \
        type carried = ways[0];                     \
                                                    \
        for (uint32_t i = 1; i < assoc; i++) {      \
            type here = ways[i];                    \
                                                    \
            ways[i] = carried;                      \
            if (here == tag) {                      \
                ways[0] = tag;                      \
                return false;                       \
            }                                       \
            carried = here;                         \
        }                                           \
        ways[0] = tag;                              \
        return true;                                \
    }

SEARCH(sim_cache_search, uint64_t)
SEARCH(sim_narrow_search, uint32_t)

bool sim_narrow_fits(const struct sim_geometry *g, uint32_t bits)
{
    uint32_t sets = g->size / g->line / g->assoc;
    uint32_t shift = (uint32_t)__builtin_ctz(g->line) + (uint32_t)__builtin_ctz(sets);

    return bits <= shift + SIM_NARROW_HIGH_BITS;
}

static uint32_t narrow_stride(uint32_t assoc)
{
    if (assoc > 32)
        return assoc;
    return assoc <= 16 ? 16 : 32;
}

size_t sim_narrow_bytes(const struct sim_geometry *g)
{
    size_t sets = g->size / g->line / g->assoc;

    return sets * narrow_stride(g->assoc) * sizeof(uint32_t);
}

void sim_narrow_init_zeroed(struct sim_narrow *c, const struct sim_geometry *g, void *storage)
{
    uint32_t sets = g->size / g->line / g->assoc;

    uint32_t k = (uint32_t)__builtin_ctz(sets);

    c->tags = storage;
    c->low_mask = (1u << k) - 1;
    c->low = g->line - 1;
    c->sets = sets;
    c->assoc = g->assoc;
    c->stride = narrow_stride(g->assoc);
    c->line_shift = (uint32_t)__builtin_ctz(g->line);
    c->high_shift = c->line_shift + k;
    c->odd = sets >> k;
    // magic is from 2^31 to 2^32, exclusive: of 32 bits.
    c->magic_shift = c->odd == 1 ? 31 : 63 - (uint32_t)__builtin_clz(c->odd);
    c->magic = (uint32_t)((UINT64_C(1) << c->magic_shift) / c->odd + (c->odd != 1));
}

void sim_narrow_widen(const struct sim_narrow *from, struct sim_cache *to)
{
    for (uint64_t set = 0; set < from->sets; set++) {
        for (uint32_t way = 0; way < from->assoc; way++) {
            uint64_t tag = from->tags[set * from->stride + way];
            uint64_t line = (tag - 1) * from->sets + set;

            to->tags[set * to->stride + way] = tag ? line << from->line_shift | from->low : 0;
        }
    }
}
