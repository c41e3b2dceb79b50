// SPDX-License-Identifier: MIT
//
// Of a limit on estimated cycles: which of their causes grew most, in all, in a function and in a
// line. Called where these are measured, and by what prints them.
#include "cli/diff/diff.h"

#include <stdio.h>

#include "cli/profiles/event.h"

struct diff_cause diff_cause_of(const struct diff *d, const struct diff_limit *l,
                                const quern_count *old, const quern_count *now)
{
    struct diff_cause most = { .cause = -1 };
    quern_count largest = 0;

    if (!d->timed || l->event_number != d->cycles.all)
        return most;
    for (int i = 0; i < KNOWN_CAUSES; i++) {
        size_t e = d->cycles.cause[i];
        struct diff_cause c = { i, e, old ? old[e] : 0, now ? now[e] : 0 };
        quern_count change = l->falls ? c.old - c.now : c.now - c.old;

        if (change <= largest)
            continue;
        largest = change;
        most = c;
    }
    return most;
}

void diff_cause_text(char *buf, const struct diff *d, const struct diff_cause *c)
{
    quern_count change = c->now - c->old;
    char number[80];

    *buf = '\0';
    if (c->cause < 0)
        return;
    event_commas(number, change, quern_profile_event_scale(d->old.p, c->event));
    snprintf(buf, DIFF_CAUSE_TEXT, " (%s %s%s)", quern_profile_event_name(d->old.p, c->event),
             change > 0 ? "+" : "", number);
}
