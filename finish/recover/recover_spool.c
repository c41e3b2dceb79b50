// SPDX-License-Identifier: MIT
//
// Opens the input of `quern recover`. Whoever can make a file that root takes for a spool can fill
// root's profile with text. So it reads only a regular file that this user owns and nobody else may
// write, in a folder where nobody else can replace it: as symbols/cachedir.c does for caches.
#include "finish/recover/recover_spool.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/util.h"

// The group with the user's name and no other members: distributions that give each user one make
// folders writable for it.
static bool is_own_group(gid_t gid)
{
    const struct passwd *user = getpwuid(geteuid());
    const struct group *group = getgrgid(gid);

    if (!user || !group || strcmp(user->pw_name, group->gr_name) != 0)
        return false;
    for (char **member = group->gr_mem; *member; member++)
        if (strcmp(*member, user->pw_name) != 0)
            return false;
    return true;
}

bool recover_spool_is_open(const struct stat *st)
{
    return (st->st_mode & S_IWOTH) || ((st->st_mode & S_IWGRP) && !is_own_group(st->st_gid));
}

// The owner may recover it, but nobody else.
static void refuse_stranger(const char *path, uid_t owner)
{
    const struct passwd *user = getpwuid(owner);
    char number[32], *typed;

    snprintf(number, sizeof(number), "#%lu", (unsigned long)owner);
    if (geteuid() != 0) {
        warn("%s: belongs to user %s, who alone can recover it", path,
             user ? user->pw_name : number + 1);
        return;
    }
    typed = xmalloc(UTIL_SHELL_SPACE(strlen(path)));
    util_shell_word(typed, path); // a stranger's choice, for root's shell
    warn("%s: belongs to user %s, who may have written anything into it; recover it with the "
         "rights of that user: sudo -u '%s' quern recover %s",
         path, user ? user->pw_name : number + 1, user ? user->pw_name : number, typed);
    free(typed);
}

static bool is_safe_folder(const char *path, const char *folder, int fd)
{
    struct stat st;

    if (fstat(fd, &st) != 0) {
        warn("%s: %s", folder, strerror(errno));
        return false;
    }
    if ((st.st_uid == geteuid() || st.st_uid == 0) &&
        ((st.st_mode & S_ISVTX) || !recover_spool_is_open(&st)))
        return true;
    warn("%s: others may exchange what is in the folder %s; move the spool to a folder where you "
         "alone may write, and recover it there",
         path, folder);
    return false;
}

static bool is_safe_file(const char *path, const struct stat *st)
{
    if (!S_ISREG(st->st_mode)) {
        warn("%s: not a spool of quern", path);
    } else if (st->st_uid != geteuid()) {
        refuse_stranger(path, st->st_uid);
    } else if (recover_spool_is_open(st)) {
        warn("%s: others may write to it, and may have; `chmod go-w` if they have not", path);
    } else {
        return true;
    }
    return false;
}

static void cannot_open(const struct recover_spool *r, int error)
{
    struct stat st;

    if (error == ELOOP)
        warn("%s: is a symbolic link; name the spool itself", r->path);
    else if (error == EACCES && fstatat(r->folder, r->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
             st.st_uid != geteuid())
        refuse_stranger(r->path, st.st_uid);
    else
        warn("%s: %s", r->path, strerror(error));
}

int recover_spool_open(struct recover_spool *r, const char *path, bool given)
{
    char *folder = util_dirname(path);
    bool ok = false, gone;

    *r = (struct recover_spool){ .path = path, .name = util_basename(path), .fd = -1 };
    r->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (r->folder >= 0)
        r->fd =
            openat(r->folder, r->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    gone = r->fd < 0 && errno == ENOENT && !given; // its finisher was faster
    if (gone)
        ;
    else if (r->fd < 0)
        cannot_open(r, errno);
    else if (fstat(r->fd, &r->st) != 0)
        warn("%s: %s", path, strerror(errno));
    else
        ok = is_safe_file(path, &r->st) && is_safe_folder(path, folder, r->folder);
    free(folder);
    if (!ok)
        recover_spool_close(r);
    return ok ? 0 : gone ? 1 : -1;
}

// The process id in a spool's name; -1: none. 0 matches any, with --reproducible.
static long process_of(const char *name)
{
    static const char prefix[] = "quern.spool.";
    const char *number = name + sizeof(prefix) - 1;
    char *end;
    long pid;

    if (strncmp(name, prefix, sizeof(prefix) - 1) != 0 || *number < '0' || *number > '9')
        return -1;
    pid = strtol(number, &end, 10);
    if (*end == '.' && end[1])
        end += 1 + strspn(end + 1, "0123456789");
    return *end || pid > INT32_MAX ? -1 : pid;
}

enum recover_litter recover_spool_litter(const struct recover_spool *r)
{
    enum { MINUTE = 60 }; // the maker may be in a container that shows none of its processes here
    long pid = process_of(r->name);
    uint64_t magic = 0;

    if (pid < 0 || pread(r->fd, &magic, sizeof(magic), 0) < 0 || magic != 0)
        return RECOVER_NO_LITTER;
    if ((pid > 0 && (kill((pid_t)pid, 0) == 0 || errno != ESRCH)) ||
        time(NULL) - r->st.st_mtim.tv_sec < MINUTE)
        return RECOVER_FRESH;
    return RECOVER_LITTER;
}

bool recover_spool_take(const struct recover_spool *r)
{
    struct stat st;

    // If files cannot be locked, nothing can be seen.
    if (flock(r->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return false;
    return fstat(r->fd, &st) != 0 || st.st_nlink > 0;
}

void recover_spool_close(struct recover_spool *r)
{
    if (r->fd >= 0)
        close(r->fd);
    if (r->folder >= 0)
        close(r->folder);
}

bool recover_spool_remove(const struct recover_spool *r)
{
    struct stat st;

    if (fstatat(r->folder, r->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_ino == r->st.st_ino &&
        st.st_dev == r->st.st_dev && unlinkat(r->folder, r->name, 0) == 0)
        return true;
    warn("%s: cannot be removed: %s", r->path, strerror(errno));
    return false;
}
