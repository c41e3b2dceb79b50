// SPDX-License-Identifier: MIT
//
// The helpers that util.h declares. Used by every command of cli/; may end the process, since only
// commands call it.
#include "cli/base/util.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/text.h"

static void (*before_message)(void);

void util_before_message(void (*f)(void))
{
    before_message = f;
}

_Static_assert((int)TEXT_NO_MEMORY == (int)UTIL_USAGE, "one status for a lack of memory");

static void message(const char *fmt, va_list ap)
{
    struct text_line line;

    if (before_message)
        before_message();
    // One write, so that the messages of several processes do not mix within a line.
    text_line_make(&line, "quern: ", fmt, ap, "\n");
    (void)util_write_all(STDERR_FILENO, line.at, line.used);
    text_line_free(&line);
}

void warn(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    message(fmt, ap);
    va_end(ap);
}

void die(int status, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    message(fmt, ap);
    va_end(ap);
    exit(status);
}

void *xmalloc(size_t size)
{
    void *p = malloc(size ? size : 1);

    if (!p)
        die(UTIL_USAGE, "out of memory (%zu bytes wanted)", size);
    return p;
}

void *xcalloc(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size ? size : 1);

    if (!p)
        die(UTIL_USAGE, "out of memory (%zu times %zu bytes wanted)", count, size);
    return p;
}

void *xrealloc(void *old, size_t size)
{
    void *p = realloc(old, size ? size : 1);

    if (!p)
        die(UTIL_USAGE, "out of memory (%zu bytes wanted)", size);
    return p;
}

char *xstrdup(const char *s)
{
    size_t n = strlen(s) + 1;

    return memcpy(xmalloc(n), s, n);
}

char *xasprintf(const char *fmt, ...)
{
    va_list ap;
    char *s;
    int n;

    va_start(ap, fmt);
    n = vasprintf(&s, fmt, ap);
    va_end(ap);
    if (n < 0)
        die(UTIL_USAGE, "out of memory");
    return s;
}

bool util_number(const char *s, uint64_t max, uint64_t *out)
{
    uint64_t n = 0;

    if (!*s)
        return false;
    for (; *s; s++) {
        unsigned digit = (unsigned)(*s - '0');

        if (digit > 9 || n > (UINT64_MAX - digit) / 10)
            return false;
        n = n * 10 + digit;
    }
    if (n > max)
        return false;
    *out = n;
    return true;
}

char *util_commas(char *buf, uint64_t n)
{
    char digits[24];
    int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n);
    char *out = buf;

    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            *out++ = ',';
        *out++ = digits[i];
    }
    *out = '\0';
    return buf;
}

char *util_absolute(const char *cwd, const char *path)
{
    if (path[0] == '/')
        return xstrdup(path);
    while (path[0] == '.' && path[1] == '/')
        for (path += 2; *path == '/'; path++)
            ;
    if (!*path || strcmp(path, ".") == 0)
        return xstrdup(cwd);
    return xasprintf("%s/%s", strcmp(cwd, "/") == 0 ? "" : cwd, path);
}

char *util_cwd(void)
{
    char *cwd = getcwd(NULL, 0);

    if (!cwd && errno == ENOMEM)
        die(UTIL_USAGE, "out of memory");
    // A removed working directory is no error; only paths relative to it will fail.
    return cwd ? cwd : xstrdup(".");
}

char *util_dirname(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return xstrdup(".");
    if (slash == path)
        return xstrdup("/");
    return xasprintf("%.*s", (int)(slash - path), path);
}

const char *util_basename(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

char *util_column(char **line)
{
    char *from = *line, *tab = from ? strchr(from, '\t') : NULL;

    *line = tab ? tab + 1 : NULL;
    if (tab)
        *tab = '\0';
    return from;
}

char *util_shell_word(char *to, const char *word)
{
    if (!*word) {
        *to++ = '\'';
        *to++ = '\'';
    }
    for (; *word; word++) {
        if (strchr(" \t\"'\\$`*?[](){}<>|&;!#~", *word))
            *to++ = '\\';
        *to++ = *word == '\n' || *word == '\r' ? '_' : *word;
    }
    *to = '\0';
    return to;
}

char *util_self(void)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

    if (n < 0)
        die(UTIL_USAGE, "/proc/self/exe: %s; /proc must be mounted", strerror(errno));
    path[n] = '\0';
    return xstrdup(path);
}

static struct sigaction children; // what the caller had set for SIGCHLD
static bool children_changed;

void util_wait_children(void)
{
    struct sigaction wait = { .sa_handler = SIG_DFL };

    if (!children_changed)
        children_changed = sigaction(SIGCHLD, &wait, &children) == 0;
}

void util_pass_children(void)
{
    if (children_changed)
        sigaction(SIGCHLD, &children, NULL);
}

int util_write_all(int fd, const void *buf, size_t size)
{
    const char *p = buf;

    while (size > 0) {
        ssize_t n = write(fd, p, size);

        if (n < 0) {
            if (errno == EINTR)
                continue;
            return -errno;
        }
        p += n;
        size -= (size_t)n;
    }
    return 0;
}
