// SPDX-License-Identifier: MIT
//
// One table for the command line and the page.
#include "report/pack/known.h"

#include <stdio.h>
#include <string.h>

enum { NAME = 8 };

// Names KCachegrind has built in, made of whatever of their parts the profile has.
static const struct {
    const char *name, *long_name, *parts; // "factor event" pairs
} known[] = {
    { "L1m", "L1 misses", "1 I1mr 1 D1mr 1 D1mw" },
    { "LLm", "last-level misses", "1 ILmr 1 DLmr 1 DLmw" },
    { "Bm", "mispredicted branches", "1 Bcm 1 Bim" },
    { "CEst", "cycle estimate",
      "1 Ir 10 Bcm 10 Bim 10 I1mr 10 D1mr 10 D1mw 20 Ge 100 ILmr 100 DLmr 100 DLmw" },
};

int known_event(struct quern_profile *p, const char *name)
{
    int i = quern_profile_find_event(p, name);

    if (i >= 0)
        return i;
    for (size_t k = 0; k < sizeof(known) / sizeof(*known); k++) {
        char formula[256] = "", event[NAME];
        if (strcmp(known[k].name, name) != 0)
            continue;
        for (const char *at = known[k].parts; *at;) {
            size_t factor = strcspn(at, " "), size = strcspn(at + factor + 1, " ");
            const char *of = at + factor + 1;
            size_t used = strlen(formula);
            memcpy(event, of, size);
            event[size] = 0;
            if (quern_profile_find_event(p, event) >= 0)
                snprintf(formula + used, sizeof(formula) - used, "%s%.*s %s", used ? " + " : "",
                         (int)factor, at, event);
            at = of + size + (of[size] == ' ');
        }
        if (!*formula || quern_profile_define_event(p, name, formula, known[k].long_name) < 0)
            return -1;
        return quern_profile_find_event(p, name);
    }
    return -1;
}

// ---- Cycles ----

// All of them, then the causes.
static const struct {
    const char *name, *meaning, *long_name;
} cycles[] = {
#define CYCLES(name, meaning, long_name) { name, meaning, long_name },
#include "share/cycles.def"
#undef CYCLES
};
_Static_assert(sizeof(cycles) / sizeof(*cycles) == 1 + KNOWN_CAUSES, "all, and their causes");

const char *known_meaning(int i)
{
    return cycles[i + 1].meaning;
}

static bool find_counted(const struct quern_profile *p, const char *name, size_t *event)
{
    int i = quern_profile_find_event(p, name);

    if (i < 0 || (size_t)i >= quern_profile_event_count(p))
        return false;
    *event = (size_t)i;
    return true;
}

bool known_cycles(const struct quern_profile *p, struct known_cycles *c)
{
    bool all = find_counted(p, cycles[0].name, &c->all);

    for (size_t i = 0; i < KNOWN_CAUSES; i++)
        all = all && find_counted(p, cycles[i + 1].name, &c->cause[i]);
    return all;
}

size_t known_first(const struct quern_profile *p)
{
    struct known_cycles c;

    return known_cycles(p, &c) ? c.all : 0;
}

// A name that the file gives stays.
static void name_cycles(struct quern_profile *p, const struct known_cycles *c)
{
    for (int i = -1; i < KNOWN_CAUSES; i++)
        if (!quern_profile_event_long_name(p, i < 0 ? c->all : c->cause[i]))
            quern_profile_define_event(p, cycles[i + 1].name, NULL, cycles[i + 1].long_name);
}

void known_events(struct quern_profile *p)
{
    struct known_cycles c;
    bool timed = known_cycles(p, &c);

    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (!timed || strcmp(known[i].name, "CEst") != 0)
            known_event(p, known[i].name);
    if (timed)
        name_cycles(p, &c);
}
