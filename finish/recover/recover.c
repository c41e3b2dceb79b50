// SPDX-License-Identifier: MIT
//
// The pipeline for a spool left by a program that was killed before its profile was written, or
// whose profile could not be written. Leaves the spool of a running program alone.
//
// A spool is untrusted input. A stranger may have made it (recover_spool.c refuses that), and a
// client that has since given up privileges still had its spool in its memory and may have
// rewritten all of it: so no name in it says which file is written (recover_names.c).
#include "finish/recover/recover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/text.h"
#include "cli/base/util.h"
#include "finish/end/end.h"
#include "finish/recover/recover_names.h"
#include "finish/recover/recover_spool.h"

#define REPLAYER_LOOKS 500 // of 20 ms each

// True if a process has the spool mapped: it still counts, or is being finished. *unknown is the
// error if that cannot be seen.
static bool maps_file(long pid, const struct stat *st, int *unknown)
{
    char *path = xasprintf("/proc/%ld/maps", pid);
    FILE *f = fopen(path, "re");
    char line[4352];
    bool found = false;

    free(path);
    if (!f) {
        *unknown = errno == ENOENT ? 0 : errno;
        return false;
    }
    while (!found && fgets(line, sizeof(line), f)) {
        unsigned long long ino;

        if (sscanf(line, "%*s %*s %*s %*s %llu", &ino) == 1 && ino == st->st_ino)
            found = true;
    }
    // The file of a process that may not be inspected opens, but cannot be read.
    if (ferror(f))
        *unknown = EACCES;
    fclose(f);
    return found;
}

static bool has_open(long pid, const struct stat *st, int *unknown)
{
    char *dir = xasprintf("/proc/%ld/fd", pid);
    DIR *d = opendir(dir);
    struct dirent *e;
    bool found = false;

    if (!d && errno != ENOENT)
        *unknown = errno;
    while (d && !found && (e = readdir(d))) {
        char *path = xasprintf("%s/%s", dir, e->d_name);
        struct stat other;

        found = stat(path, &other) == 0 && other.st_ino == st->st_ino && other.st_dev == st->st_dev;
        free(path);
    }
    if (d)
        closedir(d);
    free(dir);
    return found;
}

static bool is_live(long pid, const struct stat *st, int *unknown)
{
    *unknown = 0;
    if (pid <= 0 || pid == getpid())
        return false;
    return maps_file(pid, st, unknown) || (!*unknown && has_open(pid, st, unknown));
}

// With --replay a process simulates what was recorded and outlives the program: the counts are
// complete when it has ended.
static void await_replayer(const struct spool_file *s, const char *path, const struct stat *st)
{
    const struct timespec look = { 0, 20000000 };
    int unknown;

    for (int i = 0; is_live((long)s->h->replayer, st, &unknown); i++) {
        if (i == REPLAYER_LOOKS) {
            warn("%s: process %u still simulates what the program did last; without the misses of "
                 "that",
                 path, s->h->replayer);
            return;
        }
        nanosleep(&look, NULL);
    }
}

// The output is part of the answer. Returns 0, or -1 after a message.
static int flush_output(void)
{
    if (fflush(stdout) != EOF && !ferror(stdout))
        return 0;
    warn("standard output: %s", strerror(errno));
    return -1;
}

// Takes no memory: the profile is written already.
static int report(const struct spool_file *s, const struct recover_names *names, const char *cmd,
                  const struct finish_totals *totals)
{
    bool ended = s->h->state == SPOOL_ENDED;
    int rc;

    text_print(stdout, "%s: the profile of process %d, %s: %s\n", names->shown, s->h->pid,
               ended ? "which had ended but could not write it"
                     : "recovered after it was killed; complete up to that moment",
               cmd);
    if (names->wanted)
        text_print(stdout,
                   "%s: the run was told to write %s; what is recovered lies beside the spool, or "
                   "where -o FILE says\n",
                   names->shown, names->wanted);
    rc = flush_output();
    if (s->h->flags & SPOOL_F_COLLECTED)
        summary_collected(stderr, s->h, totals->counts);
    summary_print(stderr, s->h, totals->counts);
    if (s->h->flags & SPOOL_F_VERBOSE)
        summary_engine(stderr, s->h);
    fflush(stderr);
    return rc;
}

// A child that was killed while its engine started leaves a spool with nothing counted.
static int drop_new(const struct recover_spool *r, const struct recover_how *how, bool given)
{
    if (given) {
        warn("%s: the run ended before the engine started; there is nothing to recover: remove it",
             r->path);
        return -1;
    }
    if (how->keep)
        return 0;
    if (!recover_spool_remove(r))
        return -1;
    if (how->quiet)
        return 0;
    text_print(stdout,
               "%s: the run ended before the engine started; nothing was counted: removed\n",
               r->path);
    return flush_output();
}

// Writes the profile and removes the spool. The current folder is the spool's.
static int finish(struct spool_file *s, const struct recover_spool *r,
                  const struct recover_how *how)
{
    struct recover_names names;
    struct finish_totals totals;
    const char *cmd = spool_file_text(s, s->h->s_cmd);
    char err[1024];
    int rc;

    rc = recover_names(s, r, how->absolute, &names, err, sizeof(err));
    // Without a cache in the run there is none here; the spool does not choose which one.
    if (how->given_cache || spool_file_text(s, s->h->s_symbol_cache))
        names.files.cache = how->cache;
    if (rc == 0)
        rc = (names.files.tree ? children_write : profile_write)(s, &names.files, &totals, err,
                                                                 sizeof(err));
    if (rc != 0) {
        warn("%s: %s; -o FILE writes the profile elsewhere", r->path, err);
    } else {
        if (totals.bad_records)
            warn("%s: %llu damaged records are not in the profile", r->path,
                 (unsigned long long)totals.bad_records);
        if (!how->quiet)
            rc = report(s, &names, cmd ? cmd : "", &totals);
        if (!how->keep)
            recover_spool_remove(r);
    }
    recover_names_free(&names);
    return rc;
}

// A spool that is open and safe. Returns 0, or -1 after a message.
static int recover_open(const struct recover_spool *r, const struct recover_how *how, bool given)
{
    struct spool_file s;
    char err[1024];
    int rc, unknown;

    enum recover_litter litter = given ? RECOVER_NO_LITTER : recover_spool_litter(r);
    if (litter != RECOVER_NO_LITTER)
        return litter == RECOVER_LITTER ? drop_new(r, how, given) : 0;
    if (spool_file_open(&s, r->fd, err, sizeof(err)) != 0) {
        warn("%s: %s", r->path, err);
        return -1;
    }
    bool live = is_live(s.h->pid, &r->st, &unknown);
    if (!live && !unknown && s.h->replayer) {
        await_replayer(&s, r->path, &r->st);
        spool_file_close(&s); // opening reads the counters
        if (spool_file_open(&s, r->fd, err, sizeof(err)) != 0) {
            warn("%s: %s", r->path, err);
            return -1;
        }
    }
    if (unknown && unknown != EACCES && unknown != EPERM) {
        warn("%s: it cannot be seen whether process %d still runs: %s", r->path, s.h->pid,
             strerror(unknown));
        rc = -1;
    } else if (live || unknown) {
        if (given)
            warn("%s: process %d is still running; its profile is written when it ends", r->path,
                 s.h->pid);
        rc = given ? -1 : 0;
    } else if (!recover_spool_take(r)) {
        if (given)
            warn("%s: its profile is being written", r->path);
        rc = given ? -1 : 0;
    } else if (s.h->state == SPOOL_NEW) {
        rc = drop_new(r, how, given);
    } else {
        rc = finish(&s, r, how);
    }
    spool_file_close(&s);
    return rc;
}

int recover_file(const char *path, const struct recover_how *how, bool given)
{
    struct recover_spool r;
    int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;

    if (here < 0)
        die(UTIL_USAGE, ".: %s", strerror(errno));
    rc = recover_spool_open(&r, path, given);
    if (rc > 0) {
        rc = 0;
    } else if (rc == 0) {
        rc = -1;
        if (fchdir(r.folder) != 0)
            warn("%s: its folder: %s", path, strerror(errno));
        else
            rc = recover_open(&r, how, given);
        recover_spool_close(&r);
    }
    if (fchdir(here) != 0)
        die(UTIL_USAGE, ".: %s", strerror(errno));
    close(here);
    return rc;
}
