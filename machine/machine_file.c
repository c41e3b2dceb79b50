// SPDX-License-Identifier: MIT
//
// Machine files on disk; a pipe is read, too. What is in them is machine_read.c's.
#include "machine/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// -errno, or the number of bytes, at most `size`.
static ssize_t read_all(int fd, char *to, size_t size)
{
    size_t used = 0;

    while (used < size) {
        ssize_t n = read(fd, to + used, size - used);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        used += (size_t)n;
    }
    return (ssize_t)used;
}

static bool failed(struct machine_error *e, int error)
{
    *e = (struct machine_error){ 0 };
    snprintf(e->text, sizeof(e->text), "%s", strerror(error));
    return false;
}

void machine_file_name(const char *path, char *to)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t n = strlen(name), suffix = strlen(MACHINE_SUFFIX);

    if (n > suffix && strcmp(name + n - suffix, MACHINE_SUFFIX) == 0)
        n -= suffix;
    if (n > MACHINE_NAME_MAX)
        n = MACHINE_NAME_MAX;
    for (size_t i = 0; i < n; i++)
        to[i] = (unsigned char)name[i] < ' ' || name[i] == 0x7f ? '_' : name[i];
    to[n] = '\0';
}

bool machine_file(struct machine *m, const char *path, struct machine_error *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *text;
    ssize_t n;
    bool ok;

    if (fd < 0)
        return failed(e, errno);
    text = malloc(MACHINE_FILE_MAX + 1);
    n = text ? read_all(fd, text, MACHINE_FILE_MAX + 1) : -ENOMEM;
    close(fd);
    if (n < 0) {
        ok = failed(e, (int)-n);
    } else if (n > MACHINE_FILE_MAX) {
        *e = (struct machine_error){ 0 };
        snprintf(e->text, sizeof(e->text), "larger than 1 MiB: not a machine file");
        ok = false;
    } else {
        ok = machine_read(m, text, (size_t)n, e);
        machine_file_name(path, m->name);
    }
    free(text);
    return ok;
}
