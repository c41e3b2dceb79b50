// SPDX-License-Identifier: MIT
//
// Small reports made by hand: functions a, b, c, ... with self costs, and calls between them.
#ifndef QUERN_TESTS_REPORT_TINY_H
#define QUERN_TESTS_REPORT_TINY_H

#include "tests/unit/report/unpack.h"

struct tiny_call {
    char from, to;
    uint64_t calls, cost;
};

// Costs in the event "Ir" and, ten times each, in "Dr". Ends the test on any failure.
static inline struct core *tiny_core(const uint64_t *self, size_t funcs,
                                     const struct tiny_call *call, size_t calls)
{
    struct quern_profile *p = quern_profile_new();
    const char *events[] = { "Ir", "Dr" };
    uint32_t func[26];

    quern_profile_set_events(p, events, 2);
    for (size_t i = 0; i < funcs; i++) {
        char name[2] = { (char)('a' + i), 0 };
        func[i] = quern_profile_func(p, QUERN_NONE, QUERN_NONE, quern_profile_string(p, name, 1));
        uint64_t v[] = { self[i], self[i] * 10 };
        quern_profile_add_cost(
            p, &(struct quern_site){ .func = func[i], .file = QUERN_NONE, .line = 1 }, v, 2);
    }
    for (size_t i = 0; i < calls; i++) {
        uint64_t v[] = { call[i].cost, call[i].cost * 10 };
        quern_profile_add_call(
            p,
            &(struct quern_site){ .func = func[call[i].from - 'a'], .file = QUERN_NONE, .line = 2 },
            func[call[i].to - 'a'], 1, 0, call[i].calls, v, 2);
    }
    struct pack *k = pack_everything(p, NULL);
    struct core *c = k ? unpack(k) : NULL;
    if (!c || link_edges(c) < 0)
        abort();
    pack_free(k);
    quern_profile_free(p);
    return c;
}

// The function of that name.
static inline uint32_t tiny_func(const struct core *c, char name)
{
    for (uint32_t f = 0; f < c->funcs; f++)
        if (core_string(c, c->name[f]).at[0] == (uint8_t)name)
            return f;
    abort();
}

#endif
