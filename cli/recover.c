// SPDX-License-Identifier: MIT
//
// `quern recover`: its options, and the choice of spools. finish/recover finishes each of them.
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/base/util.h"
#include "cli/cli.h"
#include "cli/files/name.h"
#include "cli/options/options.h"
#include "finish/end/end.h"
#include "finish/recover/recover.h"
#include "profile/write/out.h"

#define FIELD(f) .field = offsetof(struct recover_how, f)

static void cache(void *field, const struct option *o, const char *value)
{
    if (!*value)
        die(UTIL_USAGE, "%s=: names no folder", o->name);
    *(const char **)field = value;
}

// clang-format off
static const struct option rows[] = {
    { "--keep", NULL, "do not remove the spool", OPTION_SET, FIELD(keep) },
    { "-o", " FILE", "write the profile to FILE, not beside the spool",
      OPTION_TEXT, FIELD(output) },
    { "--symbol-cache", "=FOLDER|no",
      "the folder of the cache of functions and lines [~/.cache/quern]",
      OPTION_CALL, FIELD(given_cache), .call = cache },
    { "-q", NULL, NULL, OPTION_SET, FIELD(quiet) },
    { "--quiet", NULL, "print nothing but errors", OPTION_SET, FIELD(quiet) },
    OPTIONS_HELP,
};
// clang-format on

const struct options recover_options_table = {
    .usage = "[OPTIONS] [FILE...]",
    .about = "Writes the profile of a program that was killed, from the spool that it left\n"
             "(quern.spool.PID).\n"
             "Without FILE: all spools in the working directory whose program is gone.",
    .below = "Exit status: 0, or 2 when one of them could not be recovered.",
    .row = rows,
    .rows = sizeof(rows) / sizeof(*rows),
    .leading = true,
};

// Signals keep their default effect.
static int wait_for_reader(const char *path)
{
    const struct timespec step = { 0, 50000000 };
    static bool said;

    if (!said)
        warn("waiting for a reader of %s; Ctrl-C gives up, the counts are kept", path);
    said = true;
    nanosleep(&step, NULL);
    return 0;
}

static int compare_names(const void *x, const void *y)
{
    return strcmp(*(char *const *)x, *(char *const *)y);
}

static int recover_all(const struct recover_how *how)
{
    static const char prefix[] = "quern.spool.";
    DIR *d = opendir(".");
    struct dirent *e;
    char **names = NULL;
    size_t n = 0;
    int status = UTIL_OK;

    if (!d)
        die(UTIL_USAGE, ".: %s", strerror(errno));
    while ((e = readdir(d))) {
        if (strncmp(e->d_name, prefix, sizeof(prefix) - 1) != 0 ||
            strstr(e->d_name, SPOOL_CODE_SUFFIX)) // written by --dump-code beside a spool
            continue;
        names = xrealloc(names, (n + 1) * sizeof(*names));
        names[n++] = xstrdup(e->d_name);
    }
    closedir(d);
    if (n == 0)
        die(UTIL_USAGE, "no quern.spool.* here; name the spool, or change to the folder of the "
                        "profile");
    if (n > 1 && how->output)
        die(UTIL_USAGE, "-o: there are %zu spools here; name one", n);
    qsort(names, n, sizeof(*names), compare_names);
    for (size_t i = 0; i < n; i++) {
        if (recover_file(names[i], how, false) != 0)
            status = UTIL_USAGE;
        free(names[i]);
    }
    free(names);
    return status;
}

int cmd_recover(int argc, char **argv)
{
    struct recover_how how = { 0 };
    char **file = options_read(&recover_options_table, "quern recover", &how, argc, argv);
    int status = UTIL_OK;

    finish_lift_limits();
    out_wait = wait_for_reader;
    if (file[0] && file[1] && how.output)
        die(UTIL_USAGE, "-o: only one spool can be given with it");
    char *cwd = util_cwd();
    if (how.output)
        how.absolute = strcmp(how.output, "-") == 0 ? xstrdup("-") : util_absolute(cwd, how.output);
    how.cache = name_cache_folder(how.given_cache, cwd);
    free(cwd);
    if (!*file)
        status = recover_all(&how);
    for (; *file; file++)
        if (recover_file(*file, &how, true) != 0)
            status = UTIL_USAGE;
    free(how.absolute);
    free(how.cache);
    return status;
}
