/* SPDX-License-Identifier: MIT */
/*
 * Fuzzer of the reader, and of everything that walks what it read: costs and cycles, both writers, reading
 * back what they wrote (it must read, with the same totals), merging a profile with itself. The reader's short
 * cuts must read what its general rules read.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "quern/profile.h"
#include "tests/unit/profile_same.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void diag(void *ctx, const struct quern_diag *d)
{
    /* A remark points into the line it is about. */
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
    struct quern_error err;
    struct quern_profile *q;
    char *text;
    size_t n;

    if (!*path)
        snprintf(path, sizeof(path), "%s/quern-fuzz-%d",
                 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm", (int)getpid());
    if (quern_profile_write(p, path, o, &err) < 0) {
        if (!*err.msg)
            abort();
        return; /* a sum of more than 64 bits */
    }
    text = slurp(path, &n);
    unlink(path);
    if (!quern_profile_event_count(p)) {
        free(text);
        return;
    }
    q = quern_profile_read_mem(text, n, "written", NULL, &err);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t remarks = 0;
    struct quern_read_opts opts = {
        .sz = sizeof(opts), .every_diag = 1, .diag = diag, .diag_ctx = &remarks
    };
    struct quern_error err;
    struct quern_profile *p;
    struct quern_costs *c;
    struct quern_merger *m;

    p = quern_profile_read_mem((const char *)data, size, "fuzz", &opts, &err);
    opts.strict = 1;
    struct quern_profile *strict =
        quern_profile_read_mem((const char *)data, size, "fuzz", &opts, NULL);
    if (strict && !p)
        abort();
    quern_profile_free(strict);
    opts.strict = 0;
    opts.no_fast = 1;
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
        c = quern_costs_new(p);
        if (!c)
            abort();
        quern_costs_free(c);
        write_and_read(p, &(struct quern_write_opts){ .sz = sizeof(struct quern_write_opts),
                                                      .format = QUERN_FORMAT_CALLGRIND });
        write_and_read(p, &(struct quern_write_opts){ .sz = sizeof(struct quern_write_opts),
                                                      .format = QUERN_FORMAT_CALLGRIND,
                                                      .keep_order = 1,
                                                      .no_compress_pos = 1 });
        write_and_read(p, &(struct quern_write_opts){ .sz = sizeof(struct quern_write_opts),
                                                      .format = QUERN_FORMAT_CACHEGRIND });
        m = quern_merger_new();
        for (int i = 0; i < 2; i++)
            if (quern_merger_add(m, p, "p", &err) < 0)
                abort();
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
