// SPDX-License-Identifier: MIT
//
// --children=merge (children.c): sums the profiles in a run's folder, and adds one that comes too
// late for it.
//
// Invariants
// - The folder is renamed before it is read: either a profile is in it by then, or its writer finds
//   that it is late.
// - Whoever reads or writes the sum holds a lock on the folder that contains it.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/util.h"
#include "finish/profile/profile.h"
#include "quern/profile.h"

struct names {
    char **name;
    size_t count;
};

static int fail(char *err, size_t err_size, const struct quern_error *e)
{
    snprintf(err, err_size, "%s%s%s", e->file, e->file[0] ? ": " : "", e->msg);
    return -1;
}

// Locks the folder of `path` until the descriptor is closed. -1 if that fails: then two processes
// that end at once may lose one of their profiles.
static int lock_folder_of(const char *path)
{
    char *folder = util_dirname(path);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    free(folder);
    while (fd >= 0 && flock(fd, LOCK_EX) != 0 && errno == EINTR)
        ;
    return fd;
}

static void unlock(int fd)
{
    if (fd >= 0)
        close(fd);
}

// Sums the files into output; the first gives the header. Returns 0, or -1 with a message.
static int sum(const struct spool_file *s, const struct names *n, const char *output,
               struct finish_totals *totals, char *err, size_t err_size)
{
    struct quern_write_opts wo = {
        .sz = sizeof(wo),
        .no_lines = (s->h->flags & SPOOL_F_NO_LINES) != 0,
        .no_compress_strings = (s->h->flags & SPOOL_F_NO_IDS) != 0,
        .no_compress_pos = (s->h->flags & SPOOL_F_NO_RELATIVE) != 0,
    };
    struct quern_error e = { 0 };
    struct quern_profile *p =
        quern_profile_merge_files((const char *const *)n->name, n->count, NULL, &e);

    if (!p)
        return fail(err, err_size, &e);
    if (quern_profile_write(p, output, &wo, &e) != 0) {
        quern_profile_free(p);
        return fail(err, err_size, &e);
    }
    for (size_t i = 0; i < quern_profile_event_count(p); i++)
        for (int k = 0; k < FINISH_EVENTS; k++)
            if (strcmp(quern_profile_event_name(p, i), finish_event_names[k]) == 0)
                totals->counts[k] = (uint64_t)quern_profile_totals(p)[i];
    quern_profile_free(p);
    return 0;
}

static int compare(const void *x, const void *y)
{
    return strverscmp(*(char *const *)x, *(char *const *)y);
}

static void add_name(struct names *n, char *name)
{
    n->name = xrealloc(n->name, (n->count + 1) * sizeof(*n->name));
    n->name[n->count++] = name;
}

static void names_free(struct names *n)
{
    for (size_t i = 0; i < n->count; i++)
        free(n->name[i]);
    free(n->name);
}

// The profiles in a folder, `first` and then by process and time. Other files there were being
// written when the folder was closed; their writers try again.
static struct names list(const char *folder, const char *first)
{
    struct names n = { 0 };
    DIR *d = opendir(folder);
    struct dirent *e;

    add_name(&n, xasprintf("%s/%s", folder, first));
    while (d && (e = readdir(d)))
        if (strspn(e->d_name, "0123456789-") == strlen(e->d_name) && strcmp(e->d_name, first) != 0)
            add_name(&n, xasprintf("%s/%s", folder, e->d_name));
    if (d)
        closedir(d);
    qsort(n.name + 1, n.count - 1, sizeof(*n.name), compare);
    return n;
}

static void remove_folder(const char *folder)
{
    DIR *d = opendir(folder);
    struct dirent *e;

    while (d && (e = readdir(d)))
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
    if (rmdir(folder) != 0)
        warn("%s: cannot be removed: %s", folder, strerror(errno));
}

int children_merge_all(const struct spool_file *s, const char *tree, const char *name,
                       const char *output, struct finish_totals *totals, char *err, size_t err_size)
{
    char *closed = xasprintf("%s.closed", tree);
    uint64_t bad = totals->bad_records;
    struct names n;
    int lock, rc;

    lock = lock_folder_of(output);
    if (rename(tree, closed) != 0) {
        snprintf(err, err_size, "%s: %s", tree, strerror(errno));
        unlock(lock);
        free(closed);
        return -1;
    }
    n = list(closed, name);
    rc = sum(s, &n, output, totals, err, err_size);
    totals->bad_records = bad;
    if (rc == 0) {
        remove_folder(closed);
    } else { // undo: `quern recover` begins anew
        unlink(n.name[0]);
        if (rename(closed, tree) != 0)
            warn("%s: the profiles of the other processes are there: %s", closed, strerror(errno));
    }
    unlock(lock);
    names_free(&n);
    free(closed);
    return rc;
}

// Adds it to the sum and removes it.
static int add_late(const struct spool_file *s, const char *part, const char *output,
                    struct finish_totals *totals, char *err, size_t err_size)
{
    char *both[2] = { (char *)(uintptr_t)output, (char *)(uintptr_t)part };
    struct names n = { both, 2 };
    int lock = lock_folder_of(output), rc;
    struct stat st;

    if (stat(output, &st) == 0 && !S_ISREG(st.st_mode)) {
        snprintf(err, err_size, "%s: nothing can be added to a pipe or a device", output);
        unlink(part);
        rc = -1;
    } else if (access(output, F_OK) != 0 && errno == ENOENT) {
        rc = rename(part, output);
        if (rc != 0)
            snprintf(err, err_size, "%s: %s", output, strerror(errno));
    } else {
        rc = sum(s, &n, output, totals, err, err_size);
        unlink(part);
    }
    unlock(lock);
    return rc;
}

int children_merge_late(struct spool_file *s, const struct output_files *files, const char *name,
                        struct finish_totals *totals, char *err, size_t err_size)
{
    struct output_files mine = *files;
    int rc;

    mine.output = xasprintf("%s.%s", files->output, name);
    rc = profile_write(s, &mine, totals, err, err_size);
    if (rc == 0)
        rc = add_late(s, mine.output, files->output, totals, err, err_size);
    free(mine.output);
    return rc;
}
