// SPDX-License-Identifier: MIT
//
// quern convert: a profile in another format. Callgrind and Cachegrind are libquern's own writers;
// the others are in convert_*.c.
#include "cli/convert/convert.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/shared/events.h"
#include "cli/shared/options.h"
#include "cli/shared/read.h"
#include "cli/shared/remark.h"
#include "cli/shared/util.h"

static const struct {
    const char *name;
    void (*write)(FILE *f, const struct convert *c); // NULL: libquern
    int format;
} formats[] = {
    { "callgrind", NULL, QUERN_FORMAT_CALLGRIND },
    { "cachegrind", NULL, QUERN_FORMAT_CACHEGRIND },
    { "json", convert_json, 0 },
    { "csv", convert_csv, 0 },
    { "folded", convert_folded, 0 },
    { "dot", convert_dot, 0 },
    { "pprof", convert_pprof, 0 },
    { "speedscope", convert_speedscope, 0 },
};
#define FORMATS (sizeof(formats) / sizeof(*formats))

static void usage(const char *command)
{
    printf(
        "usage: %s --to=FORMAT [options] PROFILE...\n"
        "\n"
        "Write a profile (the sum of several) in another format.\n"
        "\n"
        "  --to=callgrind|cachegrind|json|csv|folded|dot|pprof|speedscope\n"
        "  -o OUT, --output=OUT   write there instead of to standard output\n"
        "  --event=NAME           folded, dot, speedscope: the event shown [the first]\n"
        "  --by=line|function|edge  csv: what a row is [line]\n"
        "  --lines=yes|no         json: with the costs of source lines [yes]\n"
        "  --threshold=N          dot: leave out functions below N %% [0.5]\n"
        "callgrind:\n"
        "  --compress-strings=yes|no  names as (id) after their first use [yes]\n"
        "  --compress-pos=yes|no  relative positions [yes]\n"
        "  --dump-line=yes|no     lines [yes]\n"
        "  --dump-instr=yes|no    addresses, where recorded [yes]\n"
        "  --combine-parts=yes|no one part, their sum [no]\n"
        "  --keep-order=yes|no    records as they were, not sorted and summed [no]\n"
        "  --portable             the form that every known reader takes\n"
        "  -h, --help             this text\n"
        "  --version              the version\n"
        "\n"
        "A call graph does not hold call stacks. folded, pprof and speedscope estimate them: what a function\n"
        "costs is shared out among its callers in proportion to the cost of their calls.\n",
        command);
}

// ---- Output that appears whole or not at all ----

static void write_file(const struct convert *c, const char *out,
                       void (*write)(FILE *, const struct convert *))
{
    struct stat st;
    char *tmp = NULL;
    FILE *f = stdout;
    mode_t mask = umask(0);
    int fd, bad;

    umask(mask);
    if (strcmp(out, "-") != 0 && stat(out, &st) == 0 && !S_ISREG(st.st_mode)) {
        f = fopen(out, "w"); // a device or a pipe is written to, not replaced
    } else if (strcmp(out, "-") != 0) {
        tmp = xasprintf("%s.tmpXXXXXX", out);
        fd = mkstemp(tmp);
        if (fd >= 0 && fchmod(fd, 0666 & ~mask) < 0)
            warn("%s: %s", tmp, strerror(errno));
        f = fd < 0 ? NULL : fdopen(fd, "w");
    }
    if (!f)
        die(UTIL_USAGE, "%s: cannot be written: %s", out, strerror(errno));
    write(f, c);
    bad = fflush(f) == EOF || ferror(f);
    if (f != stdout)
        bad |= fclose(f) == EOF;
    if (!bad && tmp && rename(tmp, out) < 0)
        bad = 1;
    if (bad) {
        int e = errno;
        if (tmp)
            unlink(tmp);
        die(UTIL_USAGE, "%s: cannot be written: %s", strcmp(out, "-") ? out : "standard output",
            strerror(e));
    }
    free(tmp);
}

// ---- The command ----

static int parse_write(struct quern_write_opts *w, const char *arg)
{
    const char *v;

    if ((v = options_value(arg, "--compress-strings")))
        w->no_compress_strings = !options_yes("--compress-strings", v);
    else if ((v = options_value(arg, "--compress-pos")))
        w->no_compress_pos = !options_yes("--compress-pos", v);
    else if ((v = options_value(arg, "--dump-line")))
        w->no_lines = !options_yes("--dump-line", v);
    else if ((v = options_value(arg, "--dump-instr")))
        w->no_instr = !options_yes("--dump-instr", v);
    else if ((v = options_value(arg, "--combine-parts")))
        w->combine_parts = options_yes("--combine-parts", v);
    else if ((v = options_value(arg, "--keep-order")))
        w->keep_order = options_yes("--keep-order", v);
    else if (strcmp(arg, "--portable") == 0)
        w->portable = 1;
    else
        return 0;
    return 1;
}

int cmd_convert(int argc, char **argv)
{
    struct convert c = { .lines = 1, .by = "line", .threshold = 0.5 };
    struct quern_write_opts w = { .sz = sizeof(w) };
    const char *name = options_name(argv[0]);
    const char **paths = xcalloc((size_t)argc + 1, sizeof(*paths)), *to = NULL, *out = "-", *v;
    const char *event = NULL;
    struct quern_error err;
    size_t n = 0, k;
    int plain = 0;

    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        if (plain || arg[0] != '-' || !arg[1])
            paths[n++] = arg;
        else if (strcmp(arg, "--") == 0)
            plain = 1;
        else if ((v = options_value(arg, "--to")))
            to = v;
        else if (strcmp(arg, "--to") == 0)
            to = options_next(argc, argv, &i, arg);
        else if (strcmp(arg, "-o") == 0 || strcmp(arg, "--output") == 0)
            out = options_next(argc, argv, &i, arg);
        else if ((v = options_value(arg, "--output")))
            out = v;
        else if ((v = options_value(arg, "--event")))
            event = v;
        else if ((v = options_value(arg, "--by")))
            c.by = v;
        else if ((v = options_value(arg, "--lines")))
            c.lines = options_yes("--lines", v);
        else if ((v = options_value(arg, "--threshold")))
            c.threshold = options_percent("--threshold", v, 100);
        else if (strcmp(arg, "-h") == 0 || strcmp(arg, "--help") == 0) {
            usage(name);
            return UTIL_OK;
        } else if (strcmp(arg, "--version") == 0) {
            printf("quern %s\n", QUERN_VERSION);
            return UTIL_OK;
        } else if (!parse_write(&w, arg)) {
            options_unknown(name, arg);
        }
    }
    if (!to)
        die(UTIL_USAGE, "--to=FORMAT is missing; '%s --help' lists the formats", name);
    for (k = 0; k < FORMATS && strcmp(formats[k].name, to); k++)
        ;
    if (k == FORMATS)
        die(UTIL_USAGE,
            "--to=%s: must be callgrind, cachegrind, json, csv, folded, dot, pprof or "
            "speedscope",
            to);
    if (strcmp(c.by, "line") != 0 && strcmp(c.by, "function") != 0 && strcmp(c.by, "edge") != 0)
        die(UTIL_USAGE, "--by=%s: must be line, function or edge", c.by);
    if (!n)
        die(UTIL_USAGE, "no profile named; '%s --help' shows how it is called", name);
    c.p = read_sum(paths, n);
    c.path = paths[0];
    c.events = quern_profile_event_count(c.p);
    if (!formats[k].write) {
        w.format = (enum quern_format)formats[k].format;
        if (quern_profile_write(c.p, out, &w, &err) < 0) {
            remark_error(&err);
            return UTIL_USAGE;
        }
    } else {
        if (!c.events)
            die(UTIL_NO, "%s: the profile is empty: it has no events", paths[0]);
        if (event) {
            int e = events_find(c.p, event);
            if (e < 0)
                die(UTIL_USAGE, "--event=%s: the profile has no such event", event);
            c.event = (size_t)e;
        }
        if (!(c.costs = quern_costs_new(c.p)))
            die(UTIL_USAGE, "%s: out of memory", paths[0]);
        write_file(&c, out, formats[k].write);
        quern_costs_free(c.costs);
    }
    quern_profile_free(c.p);
    free(paths);
    return UTIL_OK;
}
