// SPDX-License-Identifier: MIT
//
// Finds the programs that run under quern, and sends them requests: a request is written into the
// spool, which only this user may open, and a signal that only the engine sees makes a thread read
// it. Running threads get the signal first, then those that wait in the kernel, one after another.
#include "cli/control/control.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/util.h"
#include "cli/files/running.h"

enum {
    TAKE_MS = 10000, // time in which a thread must take a request
    STEP_MS = 10,    // from one thread to the next; doubled in each further round
    LONGEST_MS = 640,
};

// ---- Programs ----

// A string of the spool, or "". To be freed.
static char *text_at(const struct control_run *r, uint32_t at)
{
    uint64_t used = r->h.text_used < SPOOL_TEXT_SIZE ? r->h.text_used : SPOOL_TEXT_SIZE;
    size_t n = at < used ? used - at : 0;
    char *text = xmalloc(n + 1);
    ssize_t got = n ? pread(r->fd, text, n, (off_t)(SPOOL_TEXT_OFF + at)) : 0;

    text[got > 0 ? got : 0] = '\0';
    return xrealloc(text, strlen(text) + 1);
}

// Command line and program come from the spool. False: no spool, or that of another process.
static bool open_run(struct control_run *r, long pid)
{
    const struct spool_header *h = &r->h;

    r->live = MAP_FAILED;
    r->fd = running_spool(pid, O_RDWR);
    if (r->fd < 0 && errno == EMFILE)
        running_die("/proc");
    if (r->fd >= 0 && pread(r->fd, &r->h, sizeof(r->h), 0) == sizeof(r->h) &&
        h->magic == SPOOL_MAGIC && h->version == SPOOL_VERSION && h->state == SPOOL_RUNNING &&
        h->pid == pid && h->control.hears)
        r->live = mmap(NULL, sizeof(*r->live), PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
    if (r->live == MAP_FAILED) {
        if (r->fd >= 0)
            close(r->fd);
        return false;
    }
    r->pid = (pid_t)pid;
    r->command = text_at(r, h->s_cmd);
    r->program = text_at(r, h->s_program);
    r->spool = text_at(r, h->s_spool);
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

    if (!d && errno == EMFILE)
        running_die("/proc");
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
    char state; // of /proc/PID/task/TID/stat
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

// Running threads first.
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

static int send_signal(pid_t pid, pid_t tid)
{
    siginfo_t info;

    memset(&info, 0, sizeof(info));
    info.si_signo = SPOOL_REQUEST_SIGNAL;
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr = (void *)(uintptr_t)SPOOL_REQUEST_MAGIC; // NOLINT: a number
    return syscall(SYS_rt_tgsigqueueinfo, pid, tid, SPOOL_REQUEST_SIGNAL, &info) == 0 ? 0 : errno;
}

// ---- A request ----

// Waits until *word is n. False: it is not after `ms`.
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

    return __atomic_load_n(&r->live->state, __ATOMIC_RELAXED) != SPOOL_RUNNING || state == 'Z' ||
           state == 'X';
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
        return xstrdup("is stopped; the request is done when the program continues");
    return xasprintf("no thread has answered within %d s; the request is done when one of them "
                     "returns from the kernel",
                     TAKE_MS / 1000);
}

// Signals one thread after another until one has taken the request n.
static char *make_take(struct control_run *r, uint32_t n)
{
    struct spool_control *c = &r->live->control;

    for (int ms = 0, step = STEP_MS; ms < TAKE_MS; step = step < LONGEST_MS ? 2 * step : step) {
        size_t count;
        struct task *task = tasks_of(r->pid, &count);
        bool asleep = true;

        for (size_t i = 0; i < count && ms < TAKE_MS; i++) {
            // Not while an exec has the profile written: the finisher gets no signal.
            int error = __atomic_load_n(&r->live->state, __ATOMIC_RELAXED) == SPOOL_RUNNING
                            ? send_signal(r->pid, task[i].tid)
                            : ESRCH;

            if (error == EPERM || error == ENOSYS || error == EAGAIN) {
                free(task);
                return xasprintf("cannot be signalled: %s", strerror(error));
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
        if (asleep) // more signals would not help
            ms = TAKE_MS;
    }
    return why_not(r);
}

// Allows one request at a time. NULL, or why there is no lock.
static char *lock(const struct control_run *r)
{
    const struct timespec step = { 0, STEP_MS * 1000000 };

    for (int ms = 0; flock(r->fd, LOCK_EX | LOCK_NB) != 0; ms += STEP_MS) {
        if (errno != EINTR && errno != EWOULDBLOCK)
            return xasprintf("cannot lock its spool: %s", strerror(errno));
        if (ms >= TAKE_MS)
            return xasprintf("another process has locked its spool for %d s; try again later",
                             TAKE_MS / 1000);
        nanosleep(&step, NULL);
    }
    return NULL;
}

static char *ask(struct control_run *r, uint32_t what, const char *hint)
{
    struct spool_control *c = &r->live->control;
    uint32_t n = c->asked + 1;
    int32_t result;
    char *why;

    c->what = what;
    c->result = 0;
    snprintf(c->hint, sizeof(c->hint), "%s", hint ? hint : "");
    __atomic_store_n(&c->asked, n, __ATOMIC_RELEASE);
    why = make_take(r, n);
    while (!why && !wait_for(&c->answered, n, 100))
        if (is_gone(r) && __atomic_load_n(&c->answered, __ATOMIC_ACQUIRE) != n)
            why = xstrdup("has ended before the request was done");
    result = __atomic_load_n(&c->result, __ATOMIC_RELAXED);
    if (!why && result)
        why = xasprintf("the request failed: %s",
                        strerror(result < 0 && result > -4096 ? -result : EINVAL));
    return why;
}

static sigjmp_buf cut_off;

static void on_sigbus(int sig)
{
    (void)sig;
    siglongjmp(cut_off, 1);
}

char *control_ask(struct control_run *r, uint32_t what, const char *hint)
{
    struct sigaction a = { .sa_handler = on_sigbus }, old;
    char *volatile why = lock(r);

    if (why)
        return why;
    sigaction(SIGBUS, &a, &old);
    if (sigsetjmp(cut_off, 1) == 0)
        why = ask(r, what, hint);
    else
        why = xstrdup("its spool was truncated");
    sigaction(SIGBUS, &old, NULL);
    flock(r->fd, LOCK_UN);
    return why;
}
