// SPDX-License-Identifier: MIT
//
// From a spool to its profile: finds the place of every instruction, sums equal places, and writes
// the sums.
#include "finish/profile/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"
#include "cli/terminal/progress.h"
#include "finish/sums/siblings.h"

struct builder {
    struct spool_file *s;
    struct places places;
    struct sums sums;
    struct call_graph *graph; // with --calls=yes, instead of sums
    struct output_counts executed;
    bool want_executed;
    struct finish_totals *totals;
};

static void add_insn(void *ctx, const struct spool_walk_insn *in)
{
    struct builder *b = ctx;

    if (b->graph)
        call_graph_add(b->graph, in);
    else
        sums_add(&b->sums, &b->places, in);
    if (b->want_executed && in->executed)
        output_counts_add(&b->executed, in);
    if (b->places.any_generated && in->executed && places_is_unnamed(&b->places, in->map, in->pc))
        b->totals->unnamed += in->executed;
}

// For a run that wants nothing else.
static void add_only_sums(void *ctx, const struct spool_walk_insn *in)
{
    struct builder *b = ctx;

    sums_add(&b->sums, &b->places, in);
}

static int write_sums(struct builder *b, const char *output, struct finish_totals *totals,
                      char *err, size_t err_size)
{
    bool more = b->want_executed || b->places.any_generated;
    struct sums *sums = more ? NULL : siblings_sums(b->s, &b->places);

    if (!sums) {
        sums = &b->sums;
        totals->bad_records = spool_walk(b->s, more ? add_insn : add_only_sums, b);
    }
    progress_end();
    if (symbols_is_short()) {
        snprintf(err, err_size, "%s: not written: out of memory", output);
        return -1;
    }
    return output_lines(b->s, &b->places, sums, totals, output, err, err_size);
}

// The call graph of the threads that the spool is set to.
static int write_calls(struct builder *b, const char *output, struct finish_totals *totals,
                       char *err, size_t err_size)
{
    int rc;

    b->graph = call_graph_new(b->s, &b->places, totals);
    totals->bad_records = spool_walk_counts(b->s, add_insn, b);
    progress_end();
    rc = output_calls(b->s, &b->places, b->graph, output, err, err_size);
    call_graph_free(b->graph);
    return rc;
}

// A profile for each thread that has counted anything; the totals are those of all of them.
static int write_threads(struct builder *b, const char *output, struct finish_totals *totals,
                         char *err, size_t err_size)
{
    uint64_t threads =
        b->s->h->threads_used < SPOOL_THREADS_MAX ? b->s->h->threads_used : SPOOL_THREADS_MAX;
    int rc = 0;

    for (uint32_t slot = 0; rc == 0 && (slot == 0 || slot < threads); slot++) {
        char *name = output_names_thread(output, slot);
        struct finish_totals own = { 0 };

        if (!spool_counters_thread(b->s, slot)) {
            snprintf(err, err_size, "%s: not written: the counters cannot be read", name);
            rc = -1;
        } else {
            rc = write_calls(b, name, &own, err, err_size);
        }
        for (size_t i = 0; i < FINISH_EVENTS; i++)
            totals->counts[i] += own.counts[i];
        totals->bad_records = own.bad_records;
        free(name);
    }
    return rc;
}

int profile_write(struct spool_file *s, const struct output_files *files,
                  struct finish_totals *totals, char *err, size_t err_size)
{
    struct builder b = {
        .s = s, .executed.s = s, .want_executed = files->dump != NULL, .totals = totals
    };
    int rc;

    memset(totals, 0, sizeof(*totals));
    spool_estimate(s);
    sums_open(&b.sums, s->h->flags);
    places_open(&b.places, s, files->cache);
    if (!(s->h->flags & SPOOL_F_CALLS))
        rc = write_sums(&b, files->output, totals, err, err_size);
    else if (s->h->flags & SPOOL_F_BY_THREAD)
        rc = write_threads(&b, files->output, totals, err, err_size);
    else
        rc = write_calls(&b, files->output, totals, err, err_size);
    if (rc == 0 && files->data && (s->h->flags & SPOOL_F_CACHE_SIM)) // else no event is known
        rc = output_data(s, &b.places, totals, files->data, err, err_size);
    if (rc == 0 && files->dump)
        rc = output_counts(&b.executed, files->dump, err, err_size);
    if (rc == 0)
        rc = output_code(s, files, err, err_size);
    if (rc == 0 && s->h->patterns_bytes)
        unmatched_say(s, &b.places);
    // Last: whatever happens to the process here, the profile is written.
    places_close(&b.places, rc == 0);
    sums_close(&b.sums);
    free(b.executed.insn);
    return rc;
}
