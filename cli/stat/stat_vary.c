// SPDX-License-Identifier: MIT
//
// Finds the function in which an event varies: subtracts the profiles of the two runs with the
// least and the greatest count. The only part of `quern stat` that reads symbols, and only when a
// total differs.
#include "cli/stat/stat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/util.h"
#include "cli/profiles/read.h"
#include "finish/profile/profile.h"

static void make_profile(struct stat_run *r)
{
    const char *tmp = getenv("TMPDIR");
    char *path = xasprintf("%s/quern.stat.XXXXXX", tmp && *tmp ? tmp : "/tmp");
    struct output_files files = { .output = path,
                                  .cache = spool_file_text(&r->spool, r->spool.h->s_symbol_cache) };
    struct finish_totals totals;
    char err[1024];
    int fd = mkstemp(path);

    if (fd < 0)
        die(UTIL_USAGE, "%s: %s; TMPDIR names another folder", path, strerror(errno));
    close(fd);
    if (profile_write(&r->spool, &files, &totals, err, sizeof(err)) != 0) {
        unlink(path);
        die(UTIL_USAGE, "%s", err);
    }
    r->profile = read_profile(path);
    unlink(path);
    free(path);
    r->costs = quern_costs_new(r->profile);
    if (!r->costs)
        die(UTIL_USAGE, "out of memory");
}

// The functions of both runs, by file and name, and the counts of one event in them.
struct joint {
    struct quern_profile *names;
    quern_count *cost[2]; // by function of `names`
    size_t capacity;
};

static void join(struct joint *j, const struct stat_run *r, size_t event, int side)
{
    size_t n = quern_profile_func_count(r->profile);

    for (uint32_t f = 0; f < n; f++) {
        struct quern_func g = quern_profile_func_get(r->profile, f);
        uint32_t file = quern_profile_string(j->names, quern_profile_str(r->profile, g.file), -1);
        uint32_t name = quern_profile_string(j->names, quern_profile_str(r->profile, g.name), -1);
        uint32_t k = quern_profile_func(j->names, QUERN_NONE, file, name);

        if (k >= j->capacity) {
            size_t capacity = (k + 1) * 2;

            for (int i = 0; i < 2; i++) {
                j->cost[i] = xrealloc(j->cost[i], capacity * sizeof(*j->cost[i]));
                memset(j->cost[i] + j->capacity, 0, (capacity - j->capacity) * sizeof(*j->cost[i]));
            }
            j->capacity = capacity;
        }
        j->cost[side][k] += quern_costs_self(r->costs, f)[event];
    }
}

static void find(const struct joint *j, struct stat_vary *v)
{
    size_t n = quern_profile_func_count(j->names);
    quern_count most = 0;
    size_t found = 0, varying = 0;

    for (size_t k = 0; k < n; k++) {
        quern_count d = j->cost[1][k] - j->cost[0][k];

        if (d < 0)
            d = -d;
        varying += d != 0;
        if (d > most) {
            most = d;
            found = k;
        }
    }
    if (!varying)
        return;
    struct quern_func f = quern_profile_func_get(j->names, (uint32_t)found);

    v->function = xasprintf(
        "%s:%s", *quern_profile_str(j->names, f.file) ? quern_profile_str(j->names, f.file) : "???",
        quern_profile_str(j->names, f.name));
    v->least = j->cost[0][found];
    v->greatest = j->cost[1][found];
    v->others = varying - 1;
}

void stat_vary(struct tally *s)
{
    size_t column = 0; // index of the event in the profiles

    for (int e = 0; e < FINISH_EVENTS; e++) {
        struct stat_event *v = &s->event[e];
        struct stat_run *run[2] = { &s->run[v->least_run], &s->run[v->greatest_run] };
        struct joint j = { 0 };

        if (!stat_counted(s, e))
            continue;
        if (v->least != v->greatest) {
            j.names = quern_profile_new();
            if (!j.names)
                die(UTIL_USAGE, "out of memory");
            for (int i = 0; i < 2; i++) {
                if (!run[i]->profile)
                    make_profile(run[i]);
                join(&j, run[i], column, i);
            }
            find(&j, &v->vary);
            quern_profile_free(j.names);
            free(j.cost[0]);
            free(j.cost[1]);
        }
        column++;
    }
}
