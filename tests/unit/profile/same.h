// SPDX-License-Identifier: MIT
//
// Compares two profiles in everything that the library tells about them. For the tests and the
// fuzzer, which read each input with the reader's fast paths and without.
#ifndef TESTS_UNIT_PROFILE_SAME_H
#define TESTS_UNIT_PROFILE_SAME_H

#include <stdio.h>
#include <string.h>

#include "quern/profile.h"

static inline int profile_same_site(const struct quern_site *a, const struct quern_site *b)
{
    return a->func == b->func && a->file == b->file && a->line == b->line && a->addr == b->addr &&
           a->bb == b->bb;
}

static inline int profile_same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static inline int profile_same_rows(const struct quern_profile *p, const struct quern_profile *q)
{
    struct quern_rows *a = quern_rows_new(p), *b = quern_rows_new(q);
    int same = a && b && quern_rows_count(a) == quern_rows_count(b);

    for (size_t i = 0; same && i < quern_rows_count(a); i++) {
        struct quern_row x = quern_rows_get(a, i), y = quern_rows_get(b, i);
        same = x.func == y.func && x.file == y.file && x.present == y.present &&
               memcmp(x.counts, y.counts, quern_profile_event_count(p) * sizeof(*x.counts)) == 0;
    }
    quern_rows_free(a);
    quern_rows_free(b);
    return same;
}

// NULL: the same; else the first difference, in words, valid until the next call.
static inline const char *profile_difference(const struct quern_profile *p,
                                             const struct quern_profile *q)
{
    static char what[100];
    size_t n = quern_profile_event_count(p), record = 0;
    struct quern_record r, s;

    if (quern_profile_format(p) != quern_profile_format(q) ||
        quern_profile_has(p) != quern_profile_has(q))
        return "the format";
    if (n != quern_profile_event_count(q) ||
        quern_profile_derived_count(p) != quern_profile_derived_count(q))
        return "the number of events";
    for (size_t i = 0; i < n + quern_profile_derived_count(p); i++)
        if (strcmp(quern_profile_event_name(p, i), quern_profile_event_name(q, i)) ||
            quern_profile_event_scale(p, i) != quern_profile_event_scale(q, i))
            return "an event";
    for (size_t i = 0; i < n; i++)
        if (quern_profile_totals(p)[i] != quern_profile_totals(q)[i])
            return "a total";
    if (quern_profile_part_count(p) != quern_profile_part_count(q))
        return "the number of parts";
    for (size_t i = 0; i < quern_profile_part_count(p); i++) {
        struct quern_part x, y;
        if (quern_profile_part(p, i, &x) || quern_profile_part(q, i, &y) ||
            x.desc_count != y.desc_count || x.has_pid != y.has_pid ||
            x.has_thread != y.has_thread || x.has_part != y.has_part || x.pid != y.pid ||
            x.thread != y.thread || x.part != y.part || !profile_same_text(x.cmd, y.cmd) ||
            !profile_same_text(x.creator, y.creator))
            return "a part";
    }
    if (quern_profile_str_count(p) != quern_profile_str_count(q) ||
        quern_profile_func_count(p) != quern_profile_func_count(q))
        return "the number of names";
    for (size_t i = 0; i < quern_profile_str_count(p); i++)
        if (strcmp(quern_profile_str(p, (uint32_t)i), quern_profile_str(q, (uint32_t)i)))
            return "a name";
    for (size_t i = 0; i < quern_profile_func_count(p); i++) {
        struct quern_func x = quern_profile_func_get(p, (uint32_t)i),
                          y = quern_profile_func_get(q, (uint32_t)i);
        if (x.object != y.object || x.file != y.file || x.name != y.name)
            return "a function";
    }
    if (quern_profile_diag_count(p) != quern_profile_diag_count(q))
        return "the number of kinds of remarks";
    for (size_t i = 0; i < quern_profile_diag_count(p); i++) {
        const struct quern_diag *x = quern_profile_diag(p, i), *y = quern_profile_diag(q, i);
        if (strcmp(x->kind, y->kind) || x->line != y->line || x->col != y->col ||
            x->count != y->count || strcmp(x->msg, y->msg) || strcmp(x->text, y->text)) {
            snprintf(what, sizeof(what), "remark '%s' in line %llu", x->kind,
                     (unsigned long long)x->line);
            return what;
        }
    }
    if (!profile_same_rows(p, q))
        return "the costs of a function by source file";
    struct quern_cursor *a = quern_cursor_new(p);
    struct quern_cursor *b = quern_cursor_new(q);
    snprintf(what, sizeof(what), "out of memory");
    while (a && b) {
        int more = quern_cursor_next(a, &r);
        int same = more == quern_cursor_next(b, &s);
        if (same && more) {
            record++;
            same = r.kind == s.kind && r.part == s.part && r.calls == s.calls &&
                   r.executed == s.executed && profile_same_site(&r.at, &s.at) &&
                   profile_same_site(&r.to, &s.to) && r.present == s.present &&
                   memcmp(r.counts, s.counts, n * sizeof(*r.counts)) == 0;
        }
        if (!same || !more) {
            *what = 0;
            if (!same)
                snprintf(what, sizeof(what), "record %zu", record);
            break;
        }
    }
    quern_cursor_free(a);
    quern_cursor_free(b);
    return *what ? what : NULL;
}

#endif
