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
#include "cli/shared/read.h"
#include "cli/shared/remark.h"
#include "cli/shared/util.h"

// ORDER convert_to. NULL: libquern writes it.
static void (*const writers[])(FILE *f, const struct convert *c) = {
    NULL,           NULL,        NULL,          convert_json,       convert_csv,
    convert_folded, convert_dot, convert_pprof, convert_speedscope,
};

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

    if (quern_profile_write(c->p, c->out, &w, &err) == 0)
        return UTIL_OK;
    remark_error(&err);
    return UTIL_USAGE;
}

int cmd_convert(int argc, char **argv)
{
    struct convert c;
    size_t n = 0;
    int status = UTIL_OK;

    convert_options_read(&c, argc, argv);
    while (c.paths[n])
        n++;
    c.p = read_sum(c.paths, n);
    c.events = quern_profile_event_count(c.p);
    if (!writers[c.to]) {
        status = write_profile(&c);
    } else {
        if (!c.events)
            die(UTIL_NO, "%s: the profile is empty: it has no events", c.paths[0]);
        if (c.event_name) {
            int e = events_find(c.p, c.event_name);

            if (e < 0)
                die(UTIL_USAGE, "--event=%s: the profile has no such event", c.event_name);
            c.event = (size_t)e;
        }
        if (!(c.costs = quern_costs_new(c.p)))
            die(UTIL_USAGE, "%s: out of memory", c.paths[0]);
        write_file(&c, c.out, writers[c.to]);
        quern_costs_free(c.costs);
    }
    quern_profile_free(c.p);
    return status;
}
