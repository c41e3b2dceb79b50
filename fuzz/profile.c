// SPDX-License-Identifier: MIT
//
// Fuzzer of the reader, and of everything that walks its result: costs and cycles, both writers,
// reading their output (it must read, with the same totals), merging a profile with itself,
// subtracting it from itself, rewriting its names. The reader's fast paths must give the result of
// its general path.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "quern/profile.h"
#include "tests/unit/profile/same.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void diag(void *ctx, const struct quern_diag *d)
{
    // A remark points into its line.
    size_t n = strlen(d->text);
    if (d->col && n < 199 && d->col > n + 2 && !strchr(d->text, '?') && !strchr(d->text, '\r'))
        abort();
    ++*(size_t *)ctx;
}

static char *slurp(const char *path, size_t *n)
{
    FILE *f = fopen(path, "r");
    char *text = NULL;

    *n = 0;
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    *n = (size_t)ftell(f);
    rewind(f);
    text = malloc(*n + 1);
    if (text && fread(text, 1, *n, f) != *n)
        abort();
    fclose(f);
    return text;
}

static void write_and_read(const struct quern_profile *p, const struct quern_write_opts *o)
{
    static char path[64];

    if (!*path)
        snprintf(path, sizeof(path), "%s/quern-fuzz-%d",
                 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm", (int)getpid());
    struct quern_error err;
    if (quern_profile_write(p, path, o, &err) < 0) {
        if (!*err.msg)
            abort();
        return; // a sum of more than 64 bits
    }
    size_t n;
    char *text = slurp(path, &n);
    unlink(path);
    if (!quern_profile_event_count(p)) {
        free(text);
        return;
    }
    struct quern_profile *q = quern_profile_read_mem(text, n, "written", NULL, &err);
    if (!q)
        abort();
    if (o->format == QUERN_FORMAT_CALLGRIND)
        for (size_t i = 0; i < quern_profile_event_count(p); i++)
            if (quern_profile_totals(p)[i] * quern_profile_event_scale(q, i) !=
                quern_profile_totals(q)[i] * quern_profile_event_scale(p, i))
                abort();
    quern_profile_free(q);
    free(text);
}

// Self costs add up to the totals; edges are found from both ends.
static void ask_costs(const struct quern_profile *p)
{
    struct quern_costs *c = quern_costs_new(p);
    size_t events = quern_profile_event_count(p), found = 0;
    quern_count sum[64] = { 0 };

    if (!c)
        abort();
    for (uint32_t f = 0; f < quern_profile_func_count(p); f++) {
        size_t n;
        const uint32_t *callers = quern_costs_callers(c, f, &n);
        for (size_t i = 0; i < events; i++)
            sum[i] += quern_costs_self(c, f)[i];
        size_t first, end;
        quern_costs_callees(c, f, &first, &end);
        for (size_t e = first; e < end; e++)
            if (quern_costs_edge(c, e).caller != f)
                abort();
        for (size_t i = 0; i < n; i++)
            if (quern_costs_edge(c, callers[i]).callee != f)
                abort();
        found += n;
        if (quern_costs_cycle(c, f) > quern_profile_func_count(p))
            abort();
    }
    if (found != quern_costs_edge_count(c) ||
        (events && memcmp(sum, quern_profile_totals(p), events * sizeof(*sum))))
        abort();
    for (size_t i = 0; i < events + quern_profile_derived_count(p); i++)
        quern_profile_derive(p, i, sum);
    quern_costs_free(c);
}

// A profile minus itself is zero; one with its names rewritten has the same costs.
static void subtract_and_rewrite(const struct quern_profile *p)
{
    struct quern_error err;
    struct quern_rewrite *r = quern_rewrite_new("s/[a-f]+/$&$&/g", &err);
    struct quern_profile *q = quern_profile_subtract(p, p, 0, &err);

    if (!r || !q)
        abort();
    for (size_t i = 0; i < quern_profile_event_count(p); i++)
        if (quern_profile_totals(q)[i])
            abort();
    quern_profile_free(q);
    if (!(q = quern_profile_rewrite(p, r, r, &err)))
        abort();
    for (size_t i = 0; i < quern_profile_event_count(p); i++)
        if (quern_profile_totals(q)[i] != quern_profile_totals(p)[i])
            abort();
    quern_profile_free(q);
    quern_rewrite_free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t remarks = 0;
    struct quern_read_opts opts = {
        .sz = sizeof(opts), .every_diag = 1, .diag = diag, .diag_ctx = &remarks, .rows = 1
    };
    struct quern_error err;

    struct quern_profile *p = quern_profile_read_mem((const char *)data, size, "fuzz", &opts, &err);
    opts.strict = 1;
    struct quern_profile *strict =
        quern_profile_read_mem((const char *)data, size, "fuzz", &opts, NULL);
    if (strict && !p)
        abort();
    quern_profile_free(strict);
    opts.strict = 0;
    // Two threads, with the chunk size that the input says.
    opts.threads = 2;
    opts.pair_bytes = 64 + (size ? data[size / 2] * 8u : 0);
    struct quern_profile *pair =
        quern_profile_read_mem((const char *)data, size, "fuzz", &opts, NULL);
    if (!pair != !p || (p && profile_difference(p, pair)))
        abort();
    quern_profile_free(pair);
    opts.threads = 0;
    opts.no_fast = 1;
    opts.rows = 0;
    struct quern_profile *plain =
        quern_profile_read_mem((const char *)data, size, "fuzz", &opts, NULL);
    if (!plain != !p || (p && profile_difference(p, plain)))
        abort();
    quern_profile_free(plain);
    if (!p) {
        if (!*err.msg)
            abort();
        return 0;
    }
    if (quern_profile_event_count(p) < 64 && quern_profile_func_count(p) < 10000) {
        ask_costs(p);
        subtract_and_rewrite(p);
        write_and_read(p, &(struct quern_write_opts){ .sz = sizeof(struct quern_write_opts),
                                                      .format = QUERN_FORMAT_CALLGRIND });
        write_and_read(p, &(struct quern_write_opts){ .sz = sizeof(struct quern_write_opts),
                                                      .format = QUERN_FORMAT_CALLGRIND,
                                                      .keep_order = 1,
                                                      .no_compress_pos = 1 });
        write_and_read(p, &(struct quern_write_opts){ .sz = sizeof(struct quern_write_opts),
                                                      .format = QUERN_FORMAT_CACHEGRIND });
        struct quern_merger *m = quern_merger_new();
        struct quern_merger *other = quern_merger_new();
        if (quern_merger_add(m, p, "p", &err) < 0 || quern_merger_add(other, p, "p", &err) < 0 ||
            quern_merger_join(m, other, &err) < 0)
            abort();
        quern_merger_free(other);
        struct quern_profile *twice = quern_merger_take(m, &err);
        if (!twice)
            abort();
        for (size_t i = 0; i < quern_profile_event_count(p); i++)
            if (quern_profile_totals(twice)[i] != 2 * quern_profile_totals(p)[i])
                abort();
        quern_profile_free(twice);
        quern_merger_free(m);
    }
    quern_profile_free(p);
    return 0;
}
