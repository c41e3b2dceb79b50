// SPDX-License-Identifier: MIT
//
// quern merge: the sum of any number of profiles, call graph included. Also called as cg_merge.
// Reads with all processors; the work is in libquern (profile/merge.c).
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/shared/options.h"
#include "cli/shared/remark.h"
#include "cli/shared/util.h"

static void usage(const char *command)
{
    printf(
        "usage: %s [-o OUT] [options] PROFILE...\n"
        "\n"
        "Sum profiles that have the same events: costs by line (and instruction), calls and jumps.\n"
        "\n"
        "  -o OUT, --output=OUT   write there instead of to standard output\n"
        "  --to=cachegrind|callgrind  the format written [as the first profile]\n"
        "  --threads=N            read with N threads [all processors]\n"
        "  -h, --help             this text\n"
        "  --version              the version\n",
        command);
}

static void remark(void *ctx, const struct quern_diag *d)
{
    (void)ctx;
    remark_diag(d, d->file);
}

int cmd_merge(int argc, char **argv)
{
    struct quern_merge_opts mo = { .sz = sizeof(mo) };
    struct quern_write_opts wo = { .sz = sizeof(wo) };
    const char *name = options_name(argv[0]);
    const char **paths = xcalloc((size_t)argc + 1, sizeof(*paths)), *out = "-", *v;
    struct quern_profile *sum;
    struct quern_error err = { 0 };
    size_t n = 0;
    int plain = 0;

    mo.read.sz = sizeof(mo.read);
    mo.read.diag = remark;
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        if (plain || arg[0] != '-' || !arg[1]) {
            paths[n++] = arg;
        } else if (strcmp(arg, "--") == 0) {
            plain = 1;
        } else if (strcmp(arg, "-o") == 0 || strcmp(arg, "--output") == 0) {
            out = options_next(argc, argv, &i, arg);
        } else if ((v = options_value(arg, "--output"))) {
            out = v;
        } else if ((v = options_value(arg, "--to"))) {
            if (strcmp(v, "cachegrind") == 0)
                wo.format = QUERN_FORMAT_CACHEGRIND;
            else if (strcmp(v, "callgrind") == 0)
                wo.format = QUERN_FORMAT_CALLGRIND;
            else
                die(UTIL_USAGE, "--to=%s: must be cachegrind or callgrind", v);
        } else if ((v = options_value(arg, "--threads"))) {
            uint64_t threads = options_number("--threads", v);
            if (!threads || threads > 64)
                die(UTIL_USAGE, "--threads=%s: must be from 1 to 64", v);
            mo.threads = (unsigned)threads;
        } else if (strcmp(arg, "-h") == 0 || strcmp(arg, "--help") == 0) {
            usage(name);
            return UTIL_OK;
        } else if (strcmp(arg, "--version") == 0) {
            printf("quern %s\n", QUERN_VERSION);
            return UTIL_OK;
        } else {
            options_unknown(name, arg);
        }
    }
    if (!n)
        die(UTIL_USAGE, "no profile named; '%s --help' shows how it is called", name);
    sum = quern_profile_merge_files(paths, n, &mo, &err);
    if (!sum || quern_profile_write(sum, out, &wo, &err) < 0) {
        remark_error(&err);
        return UTIL_USAGE;
    }
    quern_profile_free(sum);
    free(paths);
    return UTIL_OK;
}

int cmd_cg_merge(int argc, char **argv)
{
    return cmd_merge(argc, argv);
}
