// SPDX-License-Identifier: MIT
//
// quern convert: a profile in another format. Callgrind and Cachegrind are libquern's own writers;
// the others are in convert_*.c.
#include "cli/convert/convert.h"

#include <string.h>

#include "cli/base/util.h"
#include "cli/cli.h"
#include "cli/files/file.h"
#include "cli/files/trust.h"
#include "cli/profiles/event.h"
#include "cli/profiles/read.h"
#include "cli/profiles/remark.h"
#include "cli/terminal/progress.h"

// ORDER convert_to. NULL: libquern writes it.
static void (*const writers[])(FILE *f, const struct convert *c) = {
    NULL,
    NULL,
    NULL,
    convert_json,
    convert_csv,
    convert_folded,
    convert_dot,
    convert_pprof,
    convert_speedscope,
    convert_lcov,
    convert_github_benchmark,
    convert_bencher,
};

static void write_other(FILE *f, const void *ctx)
{
    const struct convert *c = ctx;

    writers[c->to](f, c);
}

static int write_profile(const struct convert *c)
{
    struct quern_write_opts w = {
        .sz = sizeof(w),
        .format = c->to == CONVERT_CALLGRIND ? QUERN_FORMAT_CALLGRIND : QUERN_FORMAT_CACHEGRIND,
        .keep_order = c->keep_order,
        .no_compress_strings = c->no_compress_strings,
        .no_compress_pos = c->no_compress_pos,
        .portable = c->portable,
        .no_lines = c->no_lines,
        .no_instr = c->no_instr,
        .combine_parts = c->combine_parts,
    };
    struct quern_error err;

    if (quern_profile_write(c->p, c->out, &w, &err) == 0) {
        trust_wrote(c->out);
        return UTIL_OK;
    }
    remark_error(&err);
    return UTIL_USAGE;
}

int cmd_convert(int argc, char **argv)
{
    struct convert c;
    size_t n = 0;
    int rc, status = UTIL_OK;

    convert_options_read(&c, argc, argv);
    while (c.paths[n])
        n++;
    c.p = read_sum(c.paths, n);
    read_need_events(c.p, c.paths[0]);
    c.events = quern_profile_event_count(c.p);
    progress_writing(c.out);
    if (!writers[c.to]) {
        status = write_profile(&c);
    } else {
        if (c.event_name) {
            int e = event_find(c.p, c.event_name);

            if (e < 0)
                die(UTIL_USAGE, "--event=%s: the profile has no such event", c.event_name);
            c.event = (size_t)e;
        }
        if (!(c.costs = quern_costs_new(c.p)))
            die(UTIL_USAGE, "%s: out of memory", c.paths[0]);
        rc = file_write(c.out, write_other, &c);
        if (rc != 0)
            die(UTIL_USAGE, "%s: cannot be written: %s",
                strcmp(c.out, "-") == 0 ? "standard output" : c.out, strerror(-rc));
        quern_costs_free(c.costs);
    }
    progress_end();
    quern_profile_free(c.p);
    return status;
}
