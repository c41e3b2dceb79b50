// SPDX-License-Identifier: MIT
//
// The programs that run under quern, and the way to them: a request is written into the spool,
// which this user alone may open, and a signal that only the engine sees makes one of the threads
// look at it. A thread that runs is asked first; then those that wait in the kernel, one after
// another.
#include "cli/control/control.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cli/shared/util.h"

enum {
    TAKE_MS = 10000, // until which a thread must have taken a request
    STEP_MS = 10,    // between two of them that are asked, twice as long in each further round
    LONGEST_MS = 640,
};

// ---- Programs ----

// The file of a process's spool; NULL: it has none, or is another user's. To be freed.
static char *spool_path(long pid)
{
    char *path = xasprintf("/proc/%ld/maps", pid), *found = NULL, *line = NULL;
    FILE *f = fopen(path, "re");
    size_t size = 0;

    while (f && !found && getline(&line, &size, f) > 0) {
        char *name = strchr(line, '/');

        if (!name || !strstr(name, "/quern.spool."))
            continue;
        name[strcspn(name, "\n")] = '\0';
        found = xstrdup(name);
    }
    if (f)
        fclose(f);
    free(line);
    free(path);
    return found;
}

// Its command line is what the spool says. False: the process is another that has it mapped.
static bool open_run(struct control_run *r, long pid)
{
    char *path = spool_path(pid);
    size_t size = SPOOL_TEXT_OFF + SPOOL_TEXT_SIZE;
    struct spool_header *h = MAP_FAILED;
    struct stat st;
    const char *text;

    r->fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    free(path);
    if (r->fd >= 0 && fstat(r->fd, &st) == 0 && (uint64_t)st.st_size >= size)
        h = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
    if (h == MAP_FAILED || h->magic != SPOOL_MAGIC || h->version != SPOOL_VERSION ||
        h->state != SPOOL_RUNNING || h->pid != pid || !h->control.hears) {
        if (h != MAP_FAILED)
            munmap(h, size);
        if (r->fd >= 0)
            close(r->fd);
        return false;
    }
    text = (const char *)h + SPOOL_TEXT_OFF;
    r->pid = (pid_t)pid;
    r->h = h;
    r->command = h->s_cmd < h->text_used
                     ? xasprintf("%.*s", (int)(h->text_used - h->s_cmd), text + h->s_cmd)
                     : xstrdup("");
    return true;
}

static int compare_runs(const void *x, const void *y)
{
    const struct control_run *a = x, *b = y;

    return a->pid < b->pid ? -1 : a->pid > b->pid;
}

struct control_run *control_find(size_t *count)
{
    struct control_run *all = NULL, one;
    DIR *d = opendir("/proc");
    struct dirent *e;
    uint64_t pid;

    *count = 0;
    while (d && (e = readdir(d))) {
        if (!util_number(e->d_name, INT32_MAX, &pid) || !open_run(&one, (long)pid))
            continue;
        all = xrealloc(all, (*count + 1) * sizeof(*all));
        all[(*count)++] = one;
    }
    if (d)
        closedir(d);
    if (*count)
        qsort(all, *count, sizeof(*all), compare_runs);
    return all;
}

// ---- Threads ----

struct task {
    pid_t tid;
    char state; // as /proc has it
};

static char state_of(pid_t pid, pid_t tid)
{
    char *path = xasprintf("/proc/%d/task/%d/stat", pid, tid), text[512] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
    const char *end = n > 0 ? strrchr(text, ')') : NULL;

    if (fd >= 0)
        close(fd);
    free(path);
    return end && end[1] == ' ' ? end[2] : 'X';
}

// Those that run first.
static int compare_tasks(const void *x, const void *y)
{
    const struct task *a = x, *b = y;

    if ((a->state == 'R') != (b->state == 'R'))
        return a->state == 'R' ? -1 : 1;
    return a->tid < b->tid ? -1 : a->tid > b->tid;
}

// NULL: the process is gone.
static struct task *tasks_of(pid_t pid, size_t *count)
{
    char *path = xasprintf("/proc/%d/task", pid);
    DIR *d = opendir(path);
    struct task *all = NULL;
    struct dirent *e;
    uint64_t tid;

    *count = 0;
    while (d && (e = readdir(d))) {
        if (!util_number(e->d_name, INT32_MAX, &tid))
            continue;
        all = xrealloc(all, (*count + 1) * sizeof(*all));
        all[*count].tid = (pid_t)tid;
        all[(*count)++].state = state_of(pid, (pid_t)tid);
    }
    if (d)
        closedir(d);
    free(path);
    if (*count)
        qsort(all, *count, sizeof(*all), compare_tasks);
    return all;
}

static int poke(pid_t pid, pid_t tid)
{
    siginfo_t info;

    memset(&info, 0, sizeof(info));
    info.si_signo = SPOOL_ASK_SIGNAL;
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr = (void *)(uintptr_t)SPOOL_ASK_MAGIC; // NOLINT: a number
    return syscall(SYS_rt_tgsigqueueinfo, pid, tid, SPOOL_ASK_SIGNAL, &info) == 0 ? 0 : errno;
}

// ---- A request ----

// Until *word is n, or the time is over.
static bool wait_for(uint32_t *word, uint32_t n, long ms)
{
    struct timespec step = { ms / 1000, ms % 1000 * 1000000 };
    uint32_t seen = __atomic_load_n(word, __ATOMIC_ACQUIRE);

    if (seen != n)
        syscall(SYS_futex, word, FUTEX_WAIT, seen, &step, NULL, 0);
    return __atomic_load_n(word, __ATOMIC_ACQUIRE) == n;
}

static bool is_gone(const struct control_run *r)
{
    char state = state_of(r->pid, r->pid);

    return r->h->state != SPOOL_RUNNING || state == 'Z' || state == 'X';
}

static char *why_not(const struct control_run *r)
{
    size_t n;
    struct task *task = tasks_of(r->pid, &n);
    bool stopped = n > 0;

    for (size_t i = 0; i < n; i++)
        stopped &= task[i].state == 'T' || task[i].state == 't';
    free(task);
    if (stopped)
        return xstrdup("is stopped: it will be done when the program goes on");
    return xasprintf("none of its threads has answered within %d s: it will be done when one of "
                     "them comes back from the kernel",
                     TAKE_MS / 1000);
}

// Asks one thread after another until one has taken the request n.
static char *make_take(struct control_run *r, uint32_t n)
{
    struct spool_control *c = &r->h->control;

    for (int ms = 0, step = STEP_MS; ms < TAKE_MS; step = step < LONGEST_MS ? 2 * step : step) {
        size_t count;
        struct task *task = tasks_of(r->pid, &count);
        bool asleep = true;

        for (size_t i = 0; i < count && ms < TAKE_MS; i++) {
            // Before it executes something else its profile is written: no signal meets that.
            int error = r->h->state == SPOOL_RUNNING ? poke(r->pid, task[i].tid) : ESRCH;

            if (error == EPERM || error == ENOSYS || error == EAGAIN) {
                free(task);
                return xasprintf("cannot be asked: %s", strerror(error));
            }
            asleep &= task[i].state == 'T' || task[i].state == 't';
            ms += step;
            if (wait_for(&c->taken, n, step)) {
                free(task);
                return NULL;
            }
        }
        free(task);
        if (is_gone(r))
            return xstrdup("has ended");
        if (asleep) // the signals that it has suffice
            ms = TAKE_MS;
    }
    return why_not(r);
}

char *control_ask(struct control_run *r, uint32_t what, const char *hint)
{
    struct spool_control *c = &r->h->control;
    uint32_t n;
    char *why;

    while (flock(r->fd, LOCK_EX) != 0)
        if (errno != EINTR)
            return xasprintf("cannot be asked: %s", strerror(errno));
    n = c->asked + 1;
    c->what = what;
    c->result = 0;
    snprintf(c->hint, sizeof(c->hint), "%s", hint ? hint : "");
    __atomic_store_n(&c->asked, n, __ATOMIC_RELEASE);
    why = make_take(r, n);
    while (!why && !wait_for(&c->answered, n, 100))
        if (is_gone(r) && c->answered != n)
            why = xstrdup("has ended before it was done");
    if (!why && c->result)
        why = xasprintf("not done: %s", strerror(-c->result));
    flock(r->fd, LOCK_UN);
    return why;
}
