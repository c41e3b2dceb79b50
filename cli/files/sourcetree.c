// SPDX-License-Identifier: MIT
//
// Lists the files below a folder once, when the first source is not found otherwise. Links to
// folders are not followed, and folders whose name begins with a dot are left out, as .git is.
// source.c calls it; what it finds is opened by trust.c, as everything that a profile names.
#include "cli/files/sourcetree.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/base/util.h"

enum {
    FILES_MAX = 200000, // more are hardly a source tree: `-I /` may name everything
    DEPTH_MAX = 40,
};

struct tree {
    char *folder;
    char **path;
    size_t files;
    bool full;
    struct tree *next;
};

static bool is_folder(const char *path, const struct dirent *e)
{
    struct stat st;

    if (e->d_type != DT_UNKNOWN)
        return e->d_type == DT_DIR;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void add(struct tree *t, char *path)
{
    if (!(t->files & (t->files - 1)))
        t->path = xrealloc(t->path, (t->files ? t->files * 2 : 1) * sizeof(*t->path));
    t->path[t->files++] = path;
    t->full = t->files == FILES_MAX;
}

static void list(struct tree *t, const char *folder, unsigned depth)
{
    DIR *d = opendir(folder);
    struct dirent *e;

    while (d && !t->full && (e = readdir(d))) {
        char *path;

        if (e->d_name[0] == '.')
            continue;
        path = xasprintf("%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/", e->d_name);
        if (!is_folder(path, e)) {
            add(t, path);
            continue;
        }
        if (depth < DEPTH_MAX)
            list(t, path, depth + 1);
        free(path);
    }
    if (d)
        closedir(d);
}

static const struct tree *tree_of(const char *folder)
{
    static struct tree *known;
    struct tree *t = known;

    while (t && strcmp(t->folder, folder) != 0)
        t = t->next;
    if (t)
        return t;
    t = xcalloc(1, sizeof(*t));
    *t = (struct tree){ .folder = xstrdup(folder), .next = known };
    known = t;
    if (strspn(folder, "/") != strlen(folder)) // not the whole system
        list(t, folder, 0);
    if (t->full)
        t->files = 0; // what was listed is by chance
    return t;
}

// How many parts the ends of two paths have in common. "." counts nothing; a path is compared as it
// is written, so that "../" ends the search.
static size_t common(const char *a, const char *b)
{
    const char *x = a + strlen(a), *y = b + strlen(b);
    size_t parts = 0;

    for (;;) {
        const char *p = x, *q = y;

        while (p > a && p[-1] != '/')
            p--;
        while (q > b && q[-1] != '/')
            q--;
        if (x - p == 1 && *p == '.' && p > a) {
            x = p - 1;
            continue;
        }
        if (x == p || x - p != y - q || memcmp(p, q, (size_t)(x - p)) != 0 ||
            (x - p == 2 && memcmp(p, "..", 2) == 0))
            return parts;
        parts++;
        if (p == a || q == b)
            return parts;
        x = p - 1;
        y = q - 1;
    }
}

char *sourcetree_find(const char *folder, const char *name)
{
    const struct tree *t = tree_of(folder);
    size_t best = strchr(name, '/') ? 1 : 0;
    const char *found = NULL;

    for (size_t i = 0; i < t->files; i++) {
        size_t parts = common(name, t->path[i]);

        if (parts > best) {
            best = parts;
            found = t->path[i];
        } else if (parts == best) {
            found = NULL; // not the only one
        }
    }
    return found ? xstrdup(found) : NULL;
}
