// SPDX-License-Identifier: MIT
//
// quern merge: the sum of any number of profiles, call graph included, or with --parts=yes all of
// them side by side. Also called as cg_merge. Reads with all processors; the work is in libquern
// (profile/sum/merge.c, append.c).
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"
#include "cli/cli.h"
#include "cli/files/trust.h"
#include "cli/options/options.h"
#include "cli/profiles/read.h"
#include "cli/profiles/remark.h"
#include "cli/terminal/progress.h"

struct merge {
    uint32_t to; // enum quern_format
    uint64_t threads;
    bool parts;
    const char *out;
};

static void remark(void *ctx, const struct quern_diag *d)
{
    (void)ctx;
    remark_diag(d, d->file);
}

#define FIELD(f) .field = offsetof(struct merge, f)

// ORDER quern_format: the words of --to.
// clang-format off
static const struct option rows[] = {
    { "-o", " OUT", NULL, OPTION_TEXT, FIELD(out) },
    { "--output", "=OUT", "write there instead of to standard output",
      OPTION_TEXT, OPTION_APART, FIELD(out) },
    { "--to", "=cachegrind|callgrind", "the format written [as the first profile]",
      OPTION_CHOICE, FIELD(to) },
    { "--threads", "=N", "read with N threads [all processors]",
      OPTION_NUMBER, FIELD(threads), .min = 1, .max = 64 },
    { "--parts", "=yes|no",
      "keep the profiles apart, each as a part named after its file (ranks, machines) [no]",
      OPTION_YES, FIELD(parts) },
    OPTIONS_HELP,
    OPTIONS_VERSION,
};
// clang-format on
_Static_assert(QUERN_FORMAT_CACHEGRIND == 1 && QUERN_FORMAT_CALLGRIND == 2, "the words of --to");

const struct options merge_options_table = {
    .usage = "[-o OUT] [options] PROFILE...",
    .about = "Sum profiles that have the same events: costs by line (and instruction), calls and "
             "jumps.",
    .row = rows,
    .rows = sizeof(rows) / sizeof(*rows),
};

// Only a Callgrind profile has parts.
static enum quern_format format(const struct merge *m)
{
    if (m->parts && m->to == QUERN_FORMAT_CACHEGRIND)
        die(UTIL_USAGE, "--parts=yes: a Cachegrind profile has no parts; use --to=callgrind");
    return m->parts ? QUERN_FORMAT_CALLGRIND : (enum quern_format)m->to;
}

int cmd_merge(int argc, char **argv)
{
    struct merge m = { .out = "-" };
    struct quern_merge_opts mo = { .sz = sizeof(mo),
                                   .read = { .sz = sizeof(mo.read), .diag = remark } };
    struct quern_write_opts wo = { .sz = sizeof(wo) };
    const char *name = options_command(argv[0]);
    char **paths = options_read(&merge_options_table, name, &m, argc, argv);
    struct quern_profile *sum;
    struct quern_error err = { 0 };
    size_t n = 0;

    while (paths[n])
        n++;
    if (n == 0)
        die(UTIL_USAGE, "no profile given; see '%s --help'", name);
    mo.threads = (unsigned)m.threads;
    wo.format = format(&m);
    if (m.parts) {
        sum = read_parts((const char *const *)paths, n);
    } else {
        for (size_t i = 0; i < n; i++)
            trust_profile(paths[i]);
        progress_begin("merging %zu profile%s", n, n == 1 ? "" : "s");
        sum = quern_profile_merge_files((const char *const *)paths, n, &mo, &err);
        progress_end();
    }
    if (sum)
        read_need_events(sum, paths[0]);
    if (!sum || quern_profile_write(sum, m.out, &wo, &err) < 0) {
        remark_error(&err);
        return UTIL_USAGE;
    }
    trust_wrote(m.out);
    quern_profile_free(sum);
    return UTIL_OK;
}

int cmd_cg_merge(int argc, char **argv)
{
    return cmd_merge(argc, argv);
}
