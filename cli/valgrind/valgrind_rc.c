// SPDX-License-Identifier: MIT
//
// Options from ~/.valgrindrc, $VALGRIND_OPTS and ./.valgrindrc, as in the core manual: words
// separated by blanks. The file of the working directory is read only if it is a regular file of
// this user that nobody else may write, and not that of the home directory again.
#include "cli/valgrind/valgrind.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/util.h"

#define BLANKS " \t\n\v\f\r"

void valgrind_words_add(struct valgrind_words *w, const char *word)
{
    w->word = xrealloc(w->word, (w->count + 2) * sizeof(*w->word));
    w->word[w->count++] = xstrdup(word);
    w->word[w->count] = NULL;
}

static void split(struct valgrind_words *w, const char *text)
{
    char *copy = xstrdup(text), *rest = copy;

    for (char *word; (word = strtok_r(rest, BLANKS, &rest));)
        valgrind_words_add(w, word);
    free(copy);
}

static char *read_all(FILE *f)
{
    size_t used = 0, got;
    char *text = xmalloc(4097);

    while ((got = fread(text + used, 1, 4096, f)) > 0) {
        used += got;
        text = xrealloc(text, used + 4097);
    }
    text[used] = '\0';
    return text;
}

static void read_file(struct valgrind_words *w, const char *path)
{
    FILE *f = fopen(path, "re");
    char *text;

    if (!f)
        return; // mostly there is no such file
    text = read_all(f);
    if (ferror(f))
        die(UTIL_USAGE, "%s: %s", path, strerror(errno));
    fclose(f);
    split(w, text);
    free(text);
}

// Somebody else's options would be executed with this user's rights.
static bool trusted(const char *path, const struct stat *st)
{
    if (S_ISREG(st->st_mode) && st->st_uid == geteuid() && !(st->st_mode & (S_IWGRP | S_IWOTH)))
        return true;
    warn("%s: not read: it must be a regular file of yours, writable by you alone", path);
    return false;
}

void valgrind_rc_read(struct valgrind_words *w)
{
    const char *home = getenv("HOME"), *options = getenv("VALGRIND_OPTS");
    char *at_home = home ? xasprintf("%s/.valgrindrc", home) : NULL;
    struct stat here, there;

    if (at_home)
        read_file(w, at_home);
    if (options)
        split(w, options);
    if (lstat("./.valgrindrc", &here) == 0 &&
        !(at_home && stat(at_home, &there) == 0 && there.st_dev == here.st_dev &&
          there.st_ino == here.st_ino) &&
        trusted("./.valgrindrc", &here))
        read_file(w, "./.valgrindrc");
    free(at_home);
}
