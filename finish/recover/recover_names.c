// SPDX-License-Identifier: MIT
//
// Where `quern recover` writes. The names in a spool are untrusted: a program that has given up
// root may have put any there. So without -o the profile is written beside the spool, under the
// last part of the name that the run was given if no program looks for its input under such a name
// (cachegrind.out.7, my-prof, a.out.12; not Makefile), else under the usual name. It replaces a
// profile or nothing.
#include "finish/recover/recover_names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/util.h"
#include "cli/files/name.h"

#define LONGEST 200 // of a name: files beside it have a longer one

static bool ends_in_word(const char *name, size_t len)
{
    static const char *const words[] = { "out", "prof", "profile", "cachegrind", "callgrind" };

    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        size_t n = strlen(words[i]);

        if (len >= n && strncmp(name + len - n, words[i], n) == 0 &&
            (len == n || strchr("._-", name[len - n - 1])))
            return true;
    }
    return false;
}

// Letters, digits and ._+-, with one of those words at the end or followed by numbers.
static bool is_profile_name(const char *name)
{
    size_t len = strlen(name), digits;

    if (len == 0 || len > LONGEST || strchr(".-", *name) ||
        strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-") != len)
        return false;
    while (!ends_in_word(name, len)) {
        for (digits = 0; digits < len && strchr("0123456789", name[len - digits - 1]); digits++)
            ;
        if (!digits || len <= digits + 1 || !strchr(".-", name[len - digits - 1]))
            return false;
        len -= digits + 1;
    }
    return true;
}

// The profile's name beside the spool. %q would insert the caller's variables, not the run's.
static char *plain_name(const struct spool_file *s)
{
    const char *told = spool_file_text(s, s->h->s_output);
    const char *last = told ? util_basename(told) : "";
    char err[256], *name = NULL;

    if (!strstr(last, "%q"))
        name = name_expand(last, s->h->pid, err, sizeof(err));
    if (name && is_profile_name(name))
        return name;
    free(name);
    return xasprintf("%s.out.%d", s->h->flags & SPOOL_F_CALLS ? "callgrind" : "cachegrind",
                     s->h->pid);
}

// The file that the run was told to write, if it is another one.
static char *wanted_name(const struct spool_file *s, const char *name)
{
    const char *told = spool_file_text(s, s->h->s_output);
    struct stat here, there;
    char err[256], *folder;
    bool same;

    if (!told)
        return NULL;
    char *path = strstr(told, "%q") ? NULL : name_expand(told, s->h->pid, err, sizeof(err));
    if (!path)
        return xstrdup(told);
    folder = util_dirname(path);
    same = strcmp(util_basename(path), name) == 0 && stat(".", &here) == 0 &&
           stat(folder, &there) == 0 && here.st_ino == there.st_ino && here.st_dev == there.st_dev;
    free(folder);
    if (!same)
        return path;
    free(path);
    return NULL;
}

static bool begins_as_profile(int fd)
{
    static const char *const first[] = { "desc:",      "cmd:",     "events:",
                                         "version:",   "creator:", "pid:",
                                         "positions:", "part:",    "# callgrind format" };
    char text[32] = "";
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

    for (size_t i = 0; i < sizeof(first) / sizeof(*first); i++)
        if (strncmp(text, first[i], strlen(first[i])) == 0)
            return true;
    return n == 0;
}

// The name is free, or that of a profile of this user.
static bool may_be_written(const char *name)
{
    int fd = open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat st;
    bool ok;

    if (fd < 0)
        return errno == ENOENT;
    ok = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
         begins_as_profile(fd);
    close(fd);
    return ok;
}

static bool is_file(const char *path)
{
    struct stat st;

    return strcmp(path, "-") != 0 && (stat(path, &st) != 0 || S_ISREG(st.st_mode));
}

// The folder of a run with --children=merge, as the run names it; NULL: the profile is not added to
// those of the other processes. If the folder is gone, the profile is added to their sum, but not
// to a file that the user names.
static char *tree_name(const struct spool_file *s, bool given)
{
    char *name = xasprintf("quern.tree.%u", s->h->tree_pid);
    struct stat st;
    bool there = lstat(name, &st) == 0;

    if (given && (!there || !children_is_root(s))) {
        free(name);
        return NULL;
    }
    if (!there ? errno == ENOENT
               : S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !recover_spool_is_open(&st))
        return name;
    warn("%s: not a folder of this user: the profiles of the other processes are not added", name);
    free(name);
    return NULL;
}

int recover_names(const struct spool_file *s, const struct recover_spool *r, const char *given,
                  struct recover_names *out, char *err, size_t err_size)
{
    char *name = plain_name(s), *cwd = util_cwd();
    const char *beside = given && is_file(given) ? given : name;
    struct output_files *files = &out->files;

    *out = (struct recover_names){ 0 };
    files->output = xstrdup(given ? given : name);
    out->shown = strcmp(files->output, "-") == 0 ? xstrdup("-") : util_absolute(cwd, files->output);
    if (!given)
        out->wanted = wanted_name(s, name);
    if (s->h->s_dump_counts)
        files->dump = xasprintf("%s.counts", beside);
    if (s->h->data.s_output)
        files->data = given ? xasprintf("%s.data", beside) : xasprintf("data.out.%d", s->h->pid);
    if (s->h->s_dump_code) {
        files->code = xasprintf("%s.code", beside);
        files->facts = xasprintf("%s" SPOOL_CODE_SUFFIX, r->name);
    }
    // `quern run` allows for one of the two.
    if ((s->h->flags & SPOOL_F_MERGE) && !(s->h->flags & SPOOL_F_BY_THREAD))
        files->tree = tree_name(s, given != NULL);
    bool ok = given || may_be_written(name);
    if (ok && files->data && !given && !may_be_written(files->data)) {
        snprintf(err, err_size, "%s: is there, and is no profile of this user", files->data);
        free(name);
        free(cwd);
        return -1;
    }
    if (!ok)
        snprintf(err, err_size, "%s: is there, and is no profile of this user", name);
    free(name);
    free(cwd);
    return ok ? 0 : -1;
}

void recover_names_free(struct recover_names *names)
{
    output_names_free(&names->files);
    free(names->shown);
    free(names->wanted);
}
