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

void known_events(struct quern_profile *p)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        known_event(p, known[i].name);
}
