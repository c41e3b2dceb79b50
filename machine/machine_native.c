// SPDX-License-Identifier: MIT
//
// Which file is that of a processor, and which of the caches that CPUID describes are taken for
// those of the file. A guest is told much about caches that is not so: hypervisors pass on the
// whole L3 of a host whose processors it has two of, or the caches of another processor.
#include "machine/machine.h"

#include <string.h>

bool machine_native(const struct machine *m, const struct machine_cpuid *p)
{
    return m->match.vendor[0] && strcmp(m->match.vendor, p->vendor) == 0 &&
           m->match.family == p->family && p->model < MACHINE_MODELS && m->match.models[p->model];
}

static bool same(const struct spool_geometry *a, const struct spool_geometry *b)
{
    return a->size == b->size && a->assoc == b->assoc && a->line == b->line;
}

// L1 and L2 belong to the core, which the file describes: products differ by a factor of two.
static bool plausible_core(const struct spool_geometry *file, const struct spool_geometry *cpuid)
{
    return cpuid->size >= file->size / 2 && cpuid->size / 2 <= file->size;
}

// LL is as large as the product has it, except in a guest: there at most what the file has, or its
// share for each of the guest's processors, whatever of it is more.
static bool plausible_last(const struct machine *m, const struct machine_cpuid *p,
                           uint32_t processors)
{
    uint32_t n = p->sharers < processors ? p->sharers : processors;
    uint64_t shares = (uint64_t)m->match.share * n;

    return !p->guest || p->ll.size <= m->ll.size || p->ll.size <= shares;
}

static bool plausible(const struct machine *m, const struct machine_cpuid *p,
                      enum machine_level level, uint32_t processors)
{
    switch (level) {
    case MACHINE_L1I: return plausible_core(&m->i1, &p->i1);
    case MACHINE_L1D: return plausible_core(&m->d1, &p->d1);
    case MACHINE_L2: return plausible_core(&m->l2, &p->l2);
    case MACHINE_LL: return plausible_last(m, p, processors);
    case MACHINE_LEVELS: break;
    }
    return false;
}

unsigned machine_native_caches(struct machine *m, const struct machine_cpuid *p,
                               uint32_t processors)
{
    const struct spool_geometry *const cpuid[MACHINE_LEVELS] = { &p->i1, &p->d1, &p->l2, &p->ll };
    unsigned left = 0;

    for (enum machine_level level = 0; level < MACHINE_LEVELS; level++) {
        struct spool_geometry *g = machine_check_geometry(m, level), file = *g;
        enum machine_level at;
        char why[MACHINE_WHY];

        if ((level == MACHINE_L2 && !m->has_l2) || !cpuid[level]->size || same(g, cpuid[level]))
            continue;
        // Which kind of core answers depends on where the program happens to run.
        if (p->hybrid && level != MACHINE_LL)
            continue;
        // A processor without an L3.
        if (level == MACHINE_LL && m->has_l2 && p->ll_level < 3)
            continue;
        if (plausible(m, p, level, processors)) {
            *g = *cpuid[level];
            if (machine_check(m, &at, why))
                continue;
            *g = file;
        }
        left |= 1u << level;
    }
    return left;
}
