// SPDX-License-Identifier: MIT
//
// Reading for annotate, diff and convert; merge and check have their own ways to read.
#include "cli/profiles/read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/heap.h"
#include "cli/base/util.h"
#include "cli/files/trust.h"
#include "cli/profiles/remark.h"
#include "cli/terminal/progress.h"

static int step(void *ctx, uint64_t done, uint64_t total)
{
    (void)ctx;
    progress_step(done, total);
    return 0;
}

struct quern_profile *read_profile(const char *path)
{
    struct quern_read_opts opts = { .sz = sizeof(opts), .progress = step, .rows = 1, .threads = 2 };
    struct quern_error err;
    struct quern_profile *p;

    progress_begin("reading %s", path);
    heap_prepare_for(path);
    trust_profile(path);
    p = quern_profile_read(path, &opts, &err);
    progress_end();
    if (!p)
        remark_die(&err);
    for (size_t i = 0; i < quern_profile_diag_count(p); i++)
        remark_diag(quern_profile_diag(p, i), strcmp(path, "-") == 0 ? "<stdin>" : path);
    return p;
}

struct quern_profile *read_sum(const char *const *paths, size_t n)
{
    struct quern_merger *m;
    struct quern_profile *sum;
    struct quern_error err;

    if (n == 1)
        return read_profile(paths[0]);
    m = quern_merger_new();
    if (!m)
        die(UTIL_USAGE, "out of memory");
    for (size_t i = 0; i < n; i++) {
        struct quern_profile *p = read_profile(paths[i]);
        if (quern_merger_add(m, p, paths[i], &err) < 0)
            remark_die(&err);
        quern_profile_free(p);
    }
    sum = quern_merger_take(m, &err);
    if (!sum)
        remark_die(&err);
    quern_merger_free(m);
    return sum;
}

struct quern_profile *read_parts(const char *const *paths, size_t n)
{
    struct quern_profile *all = quern_profile_new();
    struct quern_error err;

    if (!all)
        die(UTIL_USAGE, "out of memory");
    for (size_t i = 0; i < n; i++) {
        struct quern_profile *p = read_profile(paths[i]);
        if (quern_profile_append(all, paths[0], p, paths[i], &err) < 0)
            remark_die(&err);
        quern_profile_free(p);
    }
    return all;
}

void read_need_events(const struct quern_profile *p, const char *path)
{
    if (quern_profile_event_count(p) == 0)
        die(UTIL_USAGE, "%s: the profile is empty: it has no events", path);
}

const char *read_command(const struct quern_profile *p)
{
    struct quern_part part;
    return quern_profile_part(p, 0, &part) == 0 && part.cmd ? part.cmd : "";
}

struct quern_rewrite *read_rewrite(const char *option, const char *expr)
{
    struct quern_error err;
    struct quern_rewrite *r;

    if (!expr)
        return NULL;
    if (!(r = quern_rewrite_new(expr, &err)))
        die(UTIL_USAGE, "%s: %s", option, err.msg);
    return r;
}

struct quern_profile *read_renamed(struct quern_profile *p, const struct quern_rewrite *file,
                                   const struct quern_rewrite *func)
{
    struct quern_error err;
    struct quern_profile *q;

    if (!file && !func)
        return p;
    if (!(q = quern_profile_rewrite(p, file, func, &err)))
        remark_die(&err);
    quern_profile_free(p);
    return q;
}

struct quern_profile *read_difference(struct quern_profile *new_, const char *new_path,
                                      struct quern_profile *old, const char *old_path, int by_func)
{
    struct quern_error err;
    struct quern_profile *p = NULL;
    char *cmd = xasprintf("%s; %s", read_command(old), read_command(new_));
    char *files = xasprintf("  %s; %s", old_path, new_path); // value in a column

    if (quern_profile_match_events(old, old_path, new_, new_path, &err) == 0)
        p = quern_profile_subtract(new_, old, by_func, &err);
    if (!p)
        remark_die(&err);
    quern_profile_clear_desc(p);
    if (quern_profile_add_desc(p, "Files compared", files) != 0 ||
        quern_profile_set_cmd(p, cmd) != 0)
        die(UTIL_USAGE, "out of memory");
    free(cmd);
    free(files);
    return p;
}

struct quern_cursor *read_cursor(const struct quern_profile *p)
{
    struct quern_cursor *c = quern_cursor_new(p);

    if (!c)
        die(UTIL_USAGE, "out of memory");
    return c;
}

int read_is_profile(const char *path)
{
    static const char *const first[] = { "# callgrind format", "version: ", "creator: ", "events:",
                                         "positions:",         "desc: ",    "cmd: " };
    char buf[8193];
    FILE *f = fopen(path, "r");
    size_t n;

    if (!f)
        return 0;
    n = fread(buf, 1, sizeof(buf) - 1, f);
    fclose(f);
    buf[n] = 0;
    if (n >= 4 && (memcmp(buf, "\x1f\x8b", 2) == 0 || memcmp(buf, "\x28\xb5\x2f\xfd", 4) == 0))
        return 1;
    // A long command may fill the buffer before "events:", so the first line decides, too.
    for (size_t i = 0; i < sizeof(first) / sizeof(*first); i++)
        if (strncmp(buf, first[i], strlen(first[i])) == 0)
            return 1;
    return strstr(buf, "\nevents:") != NULL;
}
