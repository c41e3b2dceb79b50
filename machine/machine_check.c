// SPDX-License-Identifier: MIT
//
// Whether the levels of a machine can be simulated. Called for a file as it is read, for the caches
// of CPUID, and by `quern run` once options have replaced geometries. The limits are those of sim/
// and of struct spool_machine.
#include "machine/machine.h"

#include <stdio.h>

#include "sim/cache.h"
#include "sim/predict.h"
#include "sim/prefetch.h"

// Of a set whose replacement is more than the order of use: state for each way in one word.
enum { WAYS_MAX = 32 };

enum { PATH_BITS_MAX = 63 };

const char *machine_check_level(enum machine_level level)
{
    static const char *const words[MACHINE_LEVELS] = { "L1I", "L1D", "L2", "LL" };

    return words[level];
}

struct spool_geometry *machine_check_geometry(struct machine *m, enum machine_level level)
{
    struct spool_geometry *const g[MACHINE_LEVELS] = { &m->i1, &m->d1, &m->l2, &m->ll };

    return g[level];
}

static bool check_geometry(const struct spool_geometry *g, bool first, char why[MACHINE_WHY])
{
    const struct sim_geometry sg = { g->size, g->assoc, g->line };
    int fault = first ? sim_geometry_check(&sg) : sim_geometry_check_last(&sg);
    struct sim_geometry near;

    if (fault == SIM_GEOMETRY_OK)
        return true;
    near = sim_geometry_nearest(&sg);
    snprintf(why, MACHINE_WHY, "%s; the nearest that can be simulated is size %u, ways %u, line %u",
             sim_geometry_reason(fault), near.size, near.assoc, near.line);
    return false;
}

static bool check_ways(uint32_t replacement, uint32_t ways, bool limited, char why[MACHINE_WHY])
{
    if (replacement == SPOOL_PLRU && (ways > WAYS_MAX || (ways & (ways - 1)))) {
        snprintf(why, MACHINE_WHY, "plru needs 1, 2, 4, 8, 16 or 32 ways, not %u", ways);
        return false;
    }
    if ((limited || replacement != SPOOL_LRU) && ways > WAYS_MAX) {
        snprintf(why, MACHINE_WHY, "%u ways are too many; at most %d%s", ways, WAYS_MAX,
                 limited ? "" : " with another replacement than lru");
        return false;
    }
    return true;
}

static bool check_level(const struct machine *m, enum machine_level level, char why[MACHINE_WHY])
{
    switch (level) {
    case MACHINE_L1I: return check_geometry(&m->i1, true, why);
    case MACHINE_L1D: return check_geometry(&m->d1, true, why);
    case MACHINE_L2:
        return !m->has_l2 || (check_geometry(&m->l2, false, why) &&
                              check_ways(m->l2_replacement, m->l2.assoc, true, why));
    case MACHINE_LL:
        return check_geometry(&m->ll, false, why) &&
               check_ways(m->ll_replacement, m->ll.assoc, false, why);
    case MACHINE_LEVELS: break;
    }
    return true;
}

// A line that moves between levels is one of each.
static bool check_lines(struct machine *m, enum machine_level *at, char why[MACHINE_WHY])
{
    for (*at = 0; m->has_l2 && *at < MACHINE_LEVELS; ++*at) {
        uint32_t line = machine_check_geometry(m, *at)->line;

        if (line != m->l2.line) {
            snprintf(why, MACHINE_WHY,
                     "lines of %u bytes; with an L2 all levels have lines of one "
                     "size, and those of L2 have %u",
                     line, m->l2.line);
            return false;
        }
    }
    return true;
}

bool machine_check(const struct machine *m, enum machine_level *at, char why[MACHINE_WHY])
{
    struct machine copy = *m;

    for (*at = 0; *at < MACHINE_LEVELS; ++*at)
        if (!check_level(m, *at, why))
            return false;
    if (!check_lines(&copy, at, why))
        return false;
    *at = MACHINE_LL;
    if (m->ll_filling == SPOOL_FILL_VICTIM && !m->has_l2) {
        snprintf(why, MACHINE_WHY,
                 "filling is victim, of an L2 that the machine does not have; "
                 "without one it is miss");
        return false;
    }
    if (m->index == SPOOL_INDEX_PHYSICAL && !m->has_l2) {
        snprintf(why, MACHINE_WHY,
                 "index is physical, which needs an L2; without one it is virtual");
        return false;
    }
    return true;
}

// ---- Beside the levels ----

enum { ENTRIES_MAX = 1 << 16, PAGE_LINES = SIM_PAGE_LINES, PAGE_LINE = 4096 / PAGE_LINES };

static bool check_tlb(const struct machine_tlb *t, char why[MACHINE_WHY])
{
    if (!t->entries || !t->ways || t->entries % t->ways || t->entries > ENTRIES_MAX) {
        snprintf(why, MACHINE_WHY,
                 "entries must be a multiple of ways, and at most %d; not %u and %u", ENTRIES_MAX,
                 t->entries, t->ways);
        return false;
    }
    return true;
}

static bool check_tlbs(const struct machine *m, const char **section, char why[MACHINE_WHY])
{
    static const char *const words[3] = { "ITLB", "DTLB", "STLB" };
    const struct machine_tlb *const tlb[3] = { &m->itlb, &m->dtlb, &m->stlb };
    bool any = m->itlb.ways || m->dtlb.ways || m->stlb.ways;

    for (unsigned i = 0; any && i < 3; i++) {
        *section = words[i];
        if (!tlb[i]->ways && !tlb[i]->entries) {
            snprintf(why, MACHINE_WHY, "[ITLB], [DTLB] and [STLB] belong together");
            return false;
        }
        if (!check_tlb(tlb[i], why))
            return false;
    }
    return true;
}

// Tables of eight ways, and levels whose lines are those that the core counts.
static bool check_core(const struct machine *m, char why[MACHINE_WHY])
{
    if (!m->has_core)
        return true;
    if (!m->has_l2 || m->l2.line != PAGE_LINE) {
        snprintf(why, MACHINE_WHY, "needs an L2 with lines of %d bytes", PAGE_LINE);
        return false;
    }
    if (m->core.cached_lines % 8 || m->core.targets % 8) {
        snprintf(why, MACHINE_WHY, "cached_lines and targets must be multiples of 8; not %u and %u",
                 m->core.cached_lines, m->core.targets);
        return false;
    }
    if (m->core.cached_entry > m->core.cached) {
        snprintf(why, MACHINE_WHY, "cached_entry must be no more than cached; not %u and %u",
                 m->core.cached_entry, m->core.cached);
        return false;
    }
    return true;
}

static bool is_size(uint32_t entries)
{
    for (uint32_t large = 0; large <= SIM_LARGE_MAX; large++)
        if (entries == SIM_TAGE_ENTRIES << large)
            return true;
    return !entries;
}

static bool check_predict(const struct machine *m, char why[MACHINE_WHY])
{
    if (!is_size(m->predict.entries) || !is_size(m->predict.indirect)) {
        snprintf(why, MACHINE_WHY, "entries and indirect are %u, %u or %u", SIM_TAGE_ENTRIES,
                 2 * SIM_TAGE_ENTRIES, 4 * SIM_TAGE_ENTRIES);
        return false;
    }
    if (m->predict.path_bits > PATH_BITS_MAX) {
        snprintf(why, MACHINE_WHY, "path_bits is 1 to %d; 0: all", PATH_BITS_MAX);
        return false;
    }
    return true;
}

bool machine_check_rest(const struct machine *m, const char **section, char why[MACHINE_WHY])
{
    if (!check_tlbs(m, section, why))
        return false;
    *section = "core";
    if (!check_core(m, why))
        return false;
    *section = "branch";
    if (!check_predict(m, why))
        return false;
    *section = "prefetch";
    if (!m->has_prefetch)
        return true;
    if (!m->has_l2 || m->l2.line != PAGE_LINE) {
        snprintf(why, MACHINE_WHY, "needs an L2 with lines of %d bytes", PAGE_LINE);
        return false;
    }
    if (m->prefetch.distance >= PAGE_LINES || m->prefetch.batch > SIM_BATCH_MAX ||
        !m->prefetch.distance != !m->prefetch.batch) {
        snprintf(why, MACHINE_WHY, "distance is 1 to %d lines, batch 1 to %u; both 0: no streams",
                 PAGE_LINES - 1, SIM_BATCH_MAX);
        return false;
    }
    if (m->prefetch.reach >= PAGE_LINES) {
        snprintf(why, MACHINE_WHY, "reach is 1 to %d lines; 0: any step is a stream's",
                 PAGE_LINES - 1);
        return false;
    }
    if (m->prefetch.across > SIM_ACROSS_MAX) {
        snprintf(why, MACHINE_WHY, "across is 1 to %u lines; 0: streams end with their page",
                 SIM_ACROSS_MAX);
        return false;
    }
    return true;
}
