// SPDX-License-Identifier: MIT
//
// The path is resolved once, and all checks use the descriptor: nobody can replace the file between
// check and use. Whether a profile was recorded here is checked when the first file would be
// refused otherwise: mostly never.
#include "cli/files/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/util.h"
#include "cli/files/origin.h"
#include "profile/read/input.h"

enum { READING = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC };

struct profile {
    const char *path;
    struct stat st; // before it was read; inode 0: stat() failed
};

static struct {
    struct profile *profile;
    size_t profiles, judged;
    const char *untrusted;
    char **folder; // real names
    size_t folders;
    char *here; // the working folder
    char *refused;
    off_t stdout_at; // before anything was written there
} known;

// ---- Profiles ----

void trust_profile(const char *path)
{
    struct profile p = { .path = xstrdup(path) };

    if (!known.profiles)
        known.stdout_at = lseek(STDOUT_FILENO, 0, SEEK_CUR);
    if (strcmp(path, "-") == 0 || stat(path, &p.st) != 0)
        p.st.st_ino = 0;
    known.profile = xrealloc(known.profile, (known.profiles + 1) * sizeof(p));
    known.profile[known.profiles++] = p;
}

// Is it the file that was read? Changing or renaming it changes its ctime, which only the kernel
// sets.
static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

// A file that others own or may write to can have had other bytes when it was read.
static bool is_own_file(const struct stat *st)
{
    return S_ISREG(st->st_mode) && st->st_uid == geteuid() && !(st->st_mode & S_IWOTH);
}

// A packed profile is digested unpacked, as it was written.
static bool is_recorded_here(const struct profile *p)
{
    static char buf[64 << 10];
    static struct origin o;
    struct input in;
    struct stat st;
    ssize_t n = -1;

    if (!p->st.st_ino || !is_own_file(&p->st) || input_open(&in, p->path) != 0)
        return false;
    origin_begin(&o);
    if (fstat(in.fd, &st) == 0 && is_same(&st, &p->st))
        while ((n = input_read(&in, buf, sizeof(buf))) > 0)
            origin_add(&o, buf, (size_t)n);
    bool same = n == 0 && fstat(in.fd, &st) == 0 && is_same(&st, &p->st);
    input_close(&in);
    return origin_end(&o) && same;
}

static bool all_recorded_here(void)
{
    for (; known.judged < known.profiles && !known.untrusted; known.judged++)
        if (!is_recorded_here(&known.profile[known.judged]))
            known.untrusted = known.profile[known.judged].path;
    return !known.untrusted;
}

// Is standard output a file that holds only what this process wrote?
static bool is_all_of_stdout(void)
{
    struct stat st;

    return known.stdout_at == 0 && fstat(STDOUT_FILENO, &st) == 0 && S_ISREG(st.st_mode) &&
           !(fcntl(STDOUT_FILENO, F_GETFL) & O_APPEND) &&
           lseek(STDOUT_FILENO, 0, SEEK_CUR) == st.st_size;
}

void trust_wrote(const char *path)
{
    bool to_stdout = strcmp(path, "-") == 0;

    if (known.profiles && (!to_stdout || is_all_of_stdout()) && all_recorded_here())
        origin_note(to_stdout ? "/proc/self/fd/1" : path);
}

// ---- Folders ----

void trust_folders(const struct option_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        char *real = realpath(list->item[i], NULL);

        if (!real)
            continue;
        known.folder = xrealloc(known.folder, (known.folders + 1) * sizeof(*known.folder));
        known.folder[known.folders++] = real;
    }
}

// The part of a real name below a folder; NULL: it is not below it.
static const char *below(const char *folder, const char *name)
{
    size_t n = strlen(folder);

    if (n == 1)
        return name;
    return strncmp(name, folder, n) == 0 && name[n] == '/' ? name + n : NULL;
}

// Hidden files of the working folder are not sources: keys, settings, histories. When it is the
// root, nothing below it is allowed.
static bool may_read(const char *name)
{
    const char *rest;

    if (name[0] != '/')
        return false;
    for (size_t i = 0; i < known.folders; i++)
        if (below(known.folder[i], name))
            return true;
    if (!known.here)
        known.here = util_cwd();
    if (!known.here || known.here[0] != '/' || !known.here[1])
        return false;
    rest = below(known.here, name);
    return rest && !strstr(rest, "/.");
}

// "/proc/self/fd/N": the open file, by a name.
struct fd_name {
    char text[32];
};

static struct fd_name name_of(int fd)
{
    struct fd_name name;

    snprintf(name.text, sizeof(name.text), "/proc/self/fd/%d", fd);
    return name;
}

// A file whose real name is unknown, as without /proc, counts as outside of all folders.
static bool is_refused(int fd, const char *path)
{
    char real[4096];
    ssize_t n = readlink(name_of(fd).text, real, sizeof(real));

    real[n > 0 && n < (ssize_t)sizeof(real) ? n : 0] = 0;
    if (!known.profiles || may_read(real) || all_recorded_here())
        return false;
    if (!known.refused)
        known.refused = xasprintf(
            "%s: was not recorded here by this user: files that it names, such as %s, are "
            "read only below this folder, and not hidden ones; -I FOLDER allows those "
            "below FOLDER, -I / all",
            strcmp(known.untrusted, "-") == 0 ? "<stdin>" : known.untrusted, path);
    return true;
}

const char *trust_refused(void)
{
    return known.refused;
}

// ---- Opening ----

// Opens the file of an O_PATH descriptor for reading; without /proc by its path.
static int reopen(int place, const char *path)
{
    int fd = open(name_of(place).text, READING);

    return fd < 0 && errno == ENOENT ? open(path, READING) : fd;
}

static int close_again(int fd)
{
    close(fd);
    return -1;
}

// Does not exist, or this user may not search the folder.
static bool is_nowhere(int error)
{
    return error == ENOENT || error == ENOTDIR || error == EACCES || error == ENAMETOOLONG ||
           error == ELOOP;
}

static int open_regular(const char *path, struct stat *st, bool given)
{
    int place = open(path, O_PATH | O_CLOEXEC), fd;

    if (place < 0) {
        if (!is_nowhere(errno))
            warn("%s: %s", path, strerror(errno));
        return -1;
    }
    if (fstat(place, st) < 0 || !S_ISREG(st->st_mode))
        return close_again(place);
    if (!given && is_refused(place, path)) {
        close(place);
        return TRUST_REFUSED;
    }
    fd = reopen(place, path);
    if (fd < 0)
        warn("%s: %s", path, strerror(errno));
    close(place);
    if (fd >= 0 && (fstat(fd, st) < 0 || !S_ISREG(st->st_mode)))
        return close_again(fd);
    return fd;
}

int trust_open(const char *path, struct stat *st)
{
    return open_regular(path, st, false);
}

int trust_open_given(const char *path, struct stat *st)
{
    return open_regular(path, st, true);
}
