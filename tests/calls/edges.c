// SPDX-License-Identifier: MIT
//
// Queries of the call graph tests, through libquern:
//
//     edges FILE                 CALLER CALLEE CALLS and the first event's inclusive cost, sorted
//     edges --start FILE         the same, and what is below main is _start
//     edges --balance FILE [ROOT...]
//         for each function that is called and is not in a cycle: the cost of its calls
//         is its own and that of the calls that it makes, in every event. A ROOT (a prefix of its
//         name) also starts without a caller: it costs at least what its calls do. Prints the
//         functions that do not balance, ends with status 1 then.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quern/profile.h"

static struct quern_profile *profile;
static struct quern_costs *costs;
static size_t events;

static const char *name_of(uint32_t func)
{
    struct quern_func f = quern_profile_func_get(profile, func);

    return f.name == QUERN_NONE ? "???" : quern_profile_str(profile, f.name);
}

static int compare_lines(const void *x, const void *y)
{
    return strcmp(*(char *const *)x, *(char *const *)y);
}

// The functions that run before main are called after that.
static void name_start(char *line)
{
    static const char below[] = "(below main)", start[] = "_start";

    for (char *at = line; (at = strstr(at, below)) != NULL; at += strlen(start)) {
        memcpy(at, start, strlen(start));
        memmove(at + strlen(start), at + strlen(below), strlen(at + strlen(below)) + 1);
    }
}

static void print_edges(int from_start)
{
    size_t n = quern_costs_edge_count(costs);
    char **line = calloc(n + 1, sizeof(*line));

    for (size_t i = 0; i < n; i++) {
        struct quern_edge e = quern_costs_edge(costs, i);

        if (asprintf(&line[i], "%s %s %llu %lld", name_of(e.caller), name_of(e.callee),
                     (unsigned long long)e.calls, (long long)e.counts[0]) < 0)
            abort();
        if (from_start)
            name_start(line[i]);
    }
    qsort(line, n, sizeof(*line), compare_lines);
    for (size_t i = 0; i < n; i++)
        puts(line[i]);
}

// Does it call itself, directly or through others?
static int comes_back(uint32_t func)
{
    size_t first, end;

    if (quern_costs_cycle(costs, func))
        return 1;
    quern_costs_callees(costs, func, &first, &end);
    for (size_t i = first; i < end; i++)
        if (quern_costs_edge(costs, i).callee == func)
            return 1;
    return 0;
}

static int is_root(const char *name, char **roots)
{
    for (; *roots; roots++)
        if (strncmp(name, *roots, strlen(*roots)) == 0)
            return 1;
    return 0;
}

static int balances(uint32_t func, size_t event, char **roots)
{
    quern_count out = quern_costs_self(costs, func)[event], in = 0;
    size_t first, end, callers;
    const uint32_t *caller = quern_costs_callers(costs, func, &callers);

    quern_costs_callees(costs, func, &first, &end);
    for (size_t i = first; i < end; i++)
        out += quern_costs_edge(costs, i).counts[event];
    for (size_t i = 0; i < callers; i++)
        in += quern_costs_edge(costs, caller[i]).counts[event];
    if (in == out || (in < out && is_root(name_of(func), roots)))
        return 1;
    printf("%s: %s: its calls cost %lld, it and what it calls %lld\n", name_of(func),
           quern_profile_event_name(profile, event), (long long)in, (long long)out);
    return 0;
}

static int check_balance(char **roots)
{
    size_t checked = 0, callers;
    int good = 1;

    for (uint32_t func = 0; func < quern_profile_func_count(profile); func++) {
        quern_costs_callers(costs, func, &callers);
        if (!callers || comes_back(func))
            continue;
        checked++;
        for (size_t event = 0; event < events; event++)
            good &= balances(func, event, roots);
    }
    if (!checked)
        printf("no function is called\n");
    return good && checked ? 0 : 1;
}

int main(int argc, char **argv)
{
    int balance = argc > 1 && strcmp(argv[1], "--balance") == 0;
    int from_start = argc > 1 && strcmp(argv[1], "--start") == 0, at = 1 + (balance || from_start);
    struct quern_error err;

    if (argc <= at) {
        fprintf(stderr, "usage: edges [--start] FILE\n       edges --balance FILE [ROOT...]\n");
        return 2;
    }
    profile = quern_profile_read(argv[at], NULL, &err);
    if (!profile) {
        fprintf(stderr, "%s: %s\n", argv[at], err.msg);
        return 2;
    }
    costs = quern_costs_new(profile);
    if (!costs)
        return 2;
    events = quern_profile_event_count(profile);
    if (balance)
        return check_balance(argv + 3);
    print_edges(from_start);
    return 0;
}
