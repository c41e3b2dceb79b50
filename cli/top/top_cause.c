// SPDX-License-Identifier: MIT
//
// Beside estimated cycles: the cause that weighs most in a row or, with a base, that changed most.
// Rows of the core are asked for it when they are drawn, those of a source when they are made.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/top/top.h"
#include "cli/top/top_text.h"

bool top_cause_shown(const struct top *t)
{
    return t->timed && t->event == t->cycles.all;
}

static struct formula *formula_of(const struct top *t, int i)
{
    return t->formula[t->cycles.cause[i]];
}

void top_cause_prepare(struct top *t, enum values_of of, unsigned side)
{
    for (int i = 0; top_cause_shown(t) && i < KNOWN_CAUSES; i++)
        top_data_check(values_prepare(t->core, formula_of(t, i), of, side));
}

static void offer(struct top *t, struct top_cause *most, int i, const struct value v[2])
{
    struct value part =
        t->compare ? values_minus(v[0], v[1], formula_scale(formula_of(t, i))) : v[0];

    if (fabs(part.approx) > fabs(most->part.approx))
        *most = (struct top_cause){ (uint8_t)(i + 1), part };
}

struct top_cause top_cause_of(struct top *t, enum values_of of, uint32_t index)
{
    struct top_cause most = { 0 };

    for (int i = 0; i < KNOWN_CAUSES; i++) {
        struct value v[2] = { values_get(t->core, formula_of(t, i), of, VALUES_NEW, index) };

        if (t->compare)
            v[1] = values_get(t->core, formula_of(t, i), of, VALUES_OLD, index);
        offer(t, &most, i, v);
    }
    return most;
}

void top_cause_line(struct top *t, const struct detail *d, const size_t row[2],
                    struct top_cause *most)
{
    static const struct value zero = { 0, 0, true };

    *most = (struct top_cause){ 0 };
    for (int i = 0; top_cause_shown(t) && i < KNOWN_CAUSES; i++) {
        struct value v[2] = { zero, zero };

        for (unsigned s = 0; s < 2; s++)
            if (row[s] < d->count)
                v[s] = detail_value(d, formula_of(t, i), s, row[s]);
        offer(t, most, i, v);
    }
}

void top_cause_text(const struct top *t, const struct top_cause *c, struct value whole, char *out)
{
    static const struct value none;
    char number[TOP_TEXT_NUMBER];

    *out = 0;
    if (!c->which)
        return;
    uint32_t e = (uint32_t)t->cycles.cause[c->which - 1];
    struct text name = t->core->event[e].name;
    if (t->compare)
        top_text_value(number, c->part, formula_scale(t->formula[e]), VALUES_DIFFERENCE, none,
                       none);
    else
        top_text_share(number, c->part, whole);
    snprintf(out, TOP_TEXT_NUMBER, "%.*s %.60s", (int)name.size, (const char *)name.at, number);
}
