// SPDX-License-Identifier: MIT
//
// `quern --demangle FD`: the engine has patterns for names of functions, and a module with mangled
// names. The file holds these, each with its NUL; this command replaces them, in the same order, by
// what symbols/ makes of them, empty where the name stays the same. So patterns match the names
// that profiles show, and the engine needs no demangler.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/util.h"
#include "cli/cli.h"
#include "symbols/demangle.h"

static char *read_file(int fd, size_t *bytes)
{
    struct stat st;
    char *text;
    size_t n = 0;
    ssize_t got;

    if (fstat(fd, &st) != 0 || st.st_size < 0)
        return NULL;
    text = xmalloc((size_t)st.st_size + 1);
    while (n < (size_t)st.st_size &&
           (got = pread(fd, text + n, (size_t)st.st_size - n, (off_t)n)) > 0)
        n += (size_t)got;
    text[n] = '\0';
    *bytes = n;
    return text;
}

int cmd_demangle(int argc, char **argv)
{
    size_t bytes, size = 0;
    uint64_t fd;
    char *names, *out = NULL;
    FILE *f;

    if (argc != 2 || !util_number(argv[1], INT32_MAX, &fd) || !(names = read_file((int)fd, &bytes)))
        die(UTIL_USAGE, "--demangle is for the engine alone");
    f = open_memstream(&out, &size);
    if (!f)
        die(UTIL_USAGE, "out of memory");
    for (const char *s = names; s < names + bytes; s += strlen(s) + 1) {
        char *readable = demangle(s);

        fputs(readable ? readable : "", f);
        fputc('\0', f);
        free(readable);
    }
    if (fclose(f) != 0 || ftruncate((int)fd, 0) != 0 || lseek((int)fd, 0, SEEK_SET) != 0)
        return UTIL_USAGE;
    return util_write_all((int)fd, out, size) == 0 ? 0 : UTIL_USAGE;
}
