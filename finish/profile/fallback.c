// SPDX-License-Identifier: MIT
//
// Where a profile goes when its folder no longer exists where the run was told to write: removed,
// renamed or moved while the program ran. The spool was beside it; its descriptor is still open,
// and the counts would be lost with the end of this process.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/util.h"
#include "finish/profile/profile.h"

static bool has_folder(const char *path)
{
    char *folder = util_dirname(path);
    bool has = access(folder, F_OK) == 0;

    free(folder);
    return has;
}

static bool is_there(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 || errno != ENOENT;
}

// A free name in a folder, for it and the first thread's profile; NULL: there is none.
static char *free_name(const char *folder, const char *base, long pid)
{
    for (int i = 0; i < 2; i++) {
        char *name =
            i ? xasprintf("%s/%s.%ld", folder, base, pid) : xasprintf("%s/%s", folder, base);
        char *first = output_names_thread(name, 0);
        bool taken = is_there(name) || is_there(first);

        free(first);
        if (!taken)
            return name;
        free(name);
    }
    return NULL;
}

static bool write_in(const char *folder, struct spool_file *s, const struct output_files *files,
                     struct finish_totals *totals)
{
    struct output_files mine = { .cache = files->cache };
    char err[1024];
    bool ok;

    if (!folder || folder[0] != '/' || !folder[1] || access(folder, W_OK | X_OK) != 0)
        return false;
    mine.output = free_name(folder, util_basename(files->output), (long)s->h->pid);
    ok = mine.output && profile_write(s, &mine, totals, err, sizeof(err)) == 0;
    if (ok)
        warn(s->h->flags & SPOOL_F_BY_THREAD ? "the profiles are in %s-01 and on"
                                             : "the profile is in %s",
             mine.output);
    free(mine.output);
    return ok;
}

bool fallback_write(struct spool_file *s, const struct output_files *files,
                    struct finish_totals *totals, const char *why)
{
    const char *spool = spool_file_text(s, s->h->s_spool), *now;
    char *beside = NULL;
    bool ok;

    now = spool_path_now(spool, s->fd);
    // Beyond a chroot its name may be unreachable: then `quern recover` finds it.
    if (now ? now == spool || has_folder(files->output) : !spool_path_is_gone(s->fd))
        return false;
    // Before anything is written: another finisher may begin anew to print it.
    warn("%s; what was counted is written elsewhere", why);
    if (now)
        beside = util_dirname(now);
    ok = write_in(beside, s, files, totals) ||
         write_in(spool_file_text(s, s->h->s_cwd), s, files, totals) ||
         write_in(getenv("TMPDIR"), s, files, totals) || write_in("/tmp", s, files, totals) ||
         write_in(getenv("HOME"), s, files, totals);
    free(beside);
    return ok;
}
