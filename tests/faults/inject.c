// SPDX-License-Identifier: MIT
//
// See inject.h. In a program that calls none of it, the environment decides:
//
//     QUERN_INJECT=memory:7          the 7th allocation fails, and with `memory:7+` all after it
//     QUERN_INJECT=write:2:28        the 2nd write fails with errno 28
//     QUERN_INJECT=read:short        one byte each; read:eintr: EINTR before each
//     QUERN_INJECT_COUNT=FILE        at the end: `kind calls` a line, and if the fault occurred
//     QUERN_INJECT_IN=finish         only in a process whose first argument is this
//     QUERN_INJECT_ALONE=1           not in children that it forks
#include "tests/faults/inject.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

struct inject inject;

static const char *const kind_name[] = { "memory", "open", "read", "write", "rename", "thread" };

static struct {
    enum inject_kind kind;
    long at;
    int error;
    bool on, interrupted, thread_first;
    enum inject_mode mode;
    bool transfers[INJECT_COUNT]; // which of read and write `mode` applies to
} plan;

static pid_t alone; // the only process whose calls fail; 0: all do

void inject_begin(enum inject_kind kind, long n, int error, bool on)
{
    memset(&inject, 0, sizeof(inject));
    memset(&plan, 0, sizeof(plan));
    plan.kind = kind;
    plan.at = n;
    plan.error = error;
    plan.on = on;
}

void inject_transfer(enum inject_mode mode)
{
    inject_begin(INJECT_MEMORY, 0, 0, false);
    plan.mode = mode;
    plan.transfers[INJECT_READ] = plan.transfers[INJECT_WRITE] = true;
}

void inject_thread_first(void)
{
    inject_begin(INJECT_THREAD, 0, 0, false);
    plan.thread_first = true;
}

void inject_end(void)
{
    memset(&plan, 0, sizeof(plan));
}

// Does this call fail? Then errno is set.
static bool fails(enum inject_kind kind)
{
    if (alone && alone != getpid())
        return false;
    long n = __atomic_add_fetch(&inject.calls[kind], 1, __ATOMIC_RELAXED);

    if (!plan.at || kind != plan.kind || !(n == plan.at || (plan.on && n > plan.at)))
        return false;
    inject.hit = true;
    errno = plan.error;
    return true;
}

static void *block(void *p)
{
    if (p)
        __atomic_add_fetch(&inject.blocks, 1, __ATOMIC_RELAXED);
    return p;
}

static int descriptor(int fd)
{
    if (fd >= 0)
        __atomic_add_fetch(&inject.descriptors, 1, __ATOMIC_RELAXED);
    return fd;
}

// ---- Memory ----

#define WRAP(type, name, ...)        \
    type __real_##name(__VA_ARGS__); \
    type __wrap_##name(__VA_ARGS__); \
    type __wrap_##name(__VA_ARGS__)

WRAP(void *, malloc, size_t size)
{
    return fails(INJECT_MEMORY) ? NULL : block(__real_malloc(size));
}

WRAP(void *, calloc, size_t count, size_t size)
{
    return fails(INJECT_MEMORY) ? NULL : block(__real_calloc(count, size));
}

WRAP(void *, realloc, void *old, size_t size)
{
    if (fails(INJECT_MEMORY))
        return NULL;
    return old ? __real_realloc(old, size) : block(__real_realloc(old, size));
}

WRAP(char *, strdup, const char *s)
{
    return fails(INJECT_MEMORY) ? NULL : block(__real_strdup(s));
}

WRAP(char *, strndup, const char *s, size_t n)
{
    return fails(INJECT_MEMORY) ? NULL : block(__real_strndup(s, n));
}

WRAP(int, vasprintf, char **out, const char *format, va_list ap)
{
    if (fails(INJECT_MEMORY))
        return -1;
    int n = __real_vasprintf(out, format, ap);
    if (n >= 0)
        block(*out);
    return n;
}

WRAP(char *, realpath, const char *path, char *resolved)
{
    if (resolved)
        return __real_realpath(path, resolved);
    return fails(INJECT_MEMORY) ? NULL : block(__real_realpath(path, NULL));
}

WRAP(char *, getcwd, char *buf, size_t size)
{
    if (buf)
        return __real_getcwd(buf, size);
    return fails(INJECT_MEMORY) ? NULL : block(__real_getcwd(NULL, size));
}

WRAP(void, free, void *p)
{
    if (p)
        __atomic_sub_fetch(&inject.blocks, 1, __ATOMIC_RELAXED);
    __real_free(p);
}

// A map of a file is memory, too.
WRAP(void *, mmap, void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
    return fails(INJECT_MEMORY) ? MAP_FAILED : __real_mmap(at, size, prot, flags, fd, offset);
}

// ---- Descriptors ----

WRAP(int, open, const char *path, int flags, ...)
{
    va_list ap;

    va_start(ap, flags);
    mode_t mode = va_arg(ap, mode_t);
    va_end(ap);
    return fails(INJECT_OPEN) ? -1 : descriptor(__real_open(path, flags, mode));
}

WRAP(int, openat, int at, const char *path, int flags, ...)
{
    va_list ap;

    va_start(ap, flags);
    mode_t mode = va_arg(ap, mode_t);
    va_end(ap);
    return fails(INJECT_OPEN) ? -1 : descriptor(__real_openat(at, path, flags, mode));
}

WRAP(int, dup, int fd)
{
    return fails(INJECT_OPEN) ? -1 : descriptor(__real_dup(fd));
}

WRAP(int, mkostemp, char *path, int flags)
{
    return fails(INJECT_OPEN) ? -1 : descriptor(__real_mkostemp(path, flags));
}

WRAP(int, mkstemp, char *path)
{
    return fails(INJECT_OPEN) ? -1 : descriptor(__real_mkstemp(path));
}

WRAP(int, memfd_create, const char *name, unsigned flags)
{
    return fails(INJECT_OPEN) ? -1 : descriptor(__real_memfd_create(name, flags));
}

WRAP(FILE *, fopen, const char *path, const char *mode)
{
    return fails(INJECT_OPEN) ? NULL : __real_fopen(path, mode);
}

WRAP(DIR *, opendir, const char *path)
{
    return fails(INJECT_OPEN) ? NULL : __real_opendir(path);
}

WRAP(int, close, int fd)
{
    if (fd >= 0)
        __atomic_sub_fetch(&inject.descriptors, 1, __ATOMIC_RELAXED);
    return __real_close(fd);
}

// ---- Reading and writing ----

// The size of a transfer of `size`: 0 when it is interrupted.
static bool transfer(enum inject_kind kind, size_t *size)
{
    if (!plan.transfers[kind] || !*size)
        return true;
    inject.hit = true;
    if (plan.mode == INJECT_SHORT)
        *size = 1;
    plan.interrupted = plan.mode == INJECT_EINTR && !plan.interrupted;
    if (plan.interrupted)
        errno = EINTR;
    return !plan.interrupted;
}

WRAP(ssize_t, read, int fd, void *buf, size_t size)
{
    if (fails(INJECT_READ) || !transfer(INJECT_READ, &size))
        return -1;
    return __real_read(fd, buf, size);
}

WRAP(ssize_t, pread, int fd, void *buf, size_t size, off_t offset)
{
    if (fails(INJECT_READ) || !transfer(INJECT_READ, &size))
        return -1;
    return __real_pread(fd, buf, size, offset);
}

WRAP(ssize_t, write, int fd, const void *buf, size_t size)
{
    // Messages report the other faults.
    if (fd == STDERR_FILENO)
        return __real_write(fd, buf, size);
    if (fails(INJECT_WRITE) || !transfer(INJECT_WRITE, &size))
        return -1;
    return __real_write(fd, buf, size);
}

WRAP(int, rename, const char *from, const char *to)
{
    return fails(INJECT_RENAME) ? -1 : __real_rename(from, to);
}

WRAP(int, pthread_create, pthread_t *thread, const pthread_attr_t *attributes,
     void *(*start)(void *), void *arg)
{
    if (fails(INJECT_THREAD))
        return EAGAIN;
    int rc = __real_pthread_create(thread, attributes, start, arg);
    while (rc == 0 && plan.thread_first &&
           !__atomic_load_n(&inject.calls[INJECT_OPEN], __ATOMIC_RELAXED))
        usleep(100);
    return rc;
}

// ---- What ends a process without its exit handlers; the time, which a report holds ----

static void say(void);

WRAP(_Noreturn void, _exit, int status)
{
    say();
    __real__exit(status);
}

WRAP(int, execv, const char *path, char *const *argv)
{
    say();
    return __real_execv(path, argv);
}

WRAP(time_t, time, time_t *at)
{
    (void)at;
    return 1000000000; // 2001-09-09
}

// ---- By the environment ----

static bool chosen; // this process is the one

static void say(void)
{
    const char *path = getenv("QUERN_INJECT_COUNT"), *in = getenv("QUERN_INJECT_IN");

    if (!path || (in && !chosen))
        return;
    int fd = __real_open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);

    if (fd < 0)
        return;
    for (int i = 0; i < INJECT_COUNT; i++)
        dprintf(fd, "%s %ld\n", kind_name[i], inject.calls[i]);
    dprintf(fd, "hit %d\n", inject.hit);
    __real_close(fd);
}

static void take(const char *text)
{
    for (int i = 0; i < INJECT_COUNT; i++) {
        size_t n = strlen(kind_name[i]);
        if (strncmp(text, kind_name[i], n) != 0 || text[n] != ':')
            continue;
        text += n + 1;
        plan.kind = (enum inject_kind)i;
        if (strcmp(text, "short") == 0 || strcmp(text, "eintr") == 0) {
            plan.mode = *text == 's' ? INJECT_SHORT : INJECT_EINTR;
            plan.transfers[i] = true;
            return;
        }
        char *end;
        plan.at = strtol(text, &end, 10);
        plan.on = *end == '+';
        end += plan.on;
        plan.error = *end == ':' ? atoi(end + 1) : i == INJECT_MEMORY ? ENOMEM : EMFILE;
        return;
    }
}

__attribute__((constructor)) static void begin(int argc, char **argv)
{
    const char *in = getenv("QUERN_INJECT_IN"), *what = getenv("QUERN_INJECT");

    chosen = !in || (argc > 1 && strcmp(argv[1], in) == 0);
    if (!chosen)
        return;
    alone = getenv("QUERN_INJECT_ALONE") ? getpid() : 0;
    if (what)
        take(what);
    if (getenv("QUERN_INJECT_COUNT"))
        atexit(say);
}
