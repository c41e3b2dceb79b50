// SPDX-License-Identifier: MIT
//
// The thread waits on a condition, which can end it at once. It writes nothing in the first second
// of the command, and is not started where standard error is not a terminal.
#include "cli/terminal/progress.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/text.h"
#include "cli/base/util.h"
#include "cli/terminal/colour.h"

enum { FIRST_MS = 1000, NEXT_MS = 200 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    bool running, ending, drawn;
    bool has_begun; // `began` is when the first work of the command began
    char what[256];
    struct timespec began;
} line = { .lock = PTHREAD_MUTEX_INITIALIZER };
static uint64_t done, total;

static struct timespec after(struct timespec t, long ms)
{
    t.tv_nsec += ms * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

// One write: back to the start of the line, the text, erase the rest. Never wider than the
// terminal, or the next write would not replace it.
static void draw(void)
{
    struct winsize size = { 0 };
    char text[320], out[340];
    uint64_t all = __atomic_load_n(&total, __ATOMIC_RELAXED);
    uint64_t part = __atomic_load_n(&done, __ATOMIC_RELAXED);
    struct timespec now;
    int n, width = 80;

    clock_gettime(CLOCK_MONOTONIC, &now);
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1)
        width = size.ws_col;
    if (all && part <= all)
        snprintf(text, sizeof(text), "quern: %s: %d %%", line.what,
                 (int)(100.0 * (double)part / (double)all));
    else
        snprintf(text, sizeof(text), "quern: %s (%ld s)", line.what,
                 (long)(now.tv_sec - line.began.tv_sec));
    n = snprintf(out, sizeof(out), "\r%.*s\033[K", (int)text_cut(text, (size_t)width - 1), text);
    (void)util_write_all(STDERR_FILENO, out, (size_t)n);
    line.drawn = true;
}

static void erase(void)
{
    static const char out[] = "\r\033[K";

    if (line.drawn)
        (void)util_write_all(STDERR_FILENO, out, sizeof(out) - 1);
    line.drawn = false;
}

static void *run(void *unused)
{
    struct timespec until;

    (void)unused;
    pthread_mutex_lock(&line.lock);
    until = after(line.began, FIRST_MS);
    while (!line.ending) {
        if (pthread_cond_timedwait(&line.wake, &line.lock, &until) != ETIMEDOUT)
            continue;
        draw();
        until = after(until, NEXT_MS);
    }
    pthread_mutex_unlock(&line.lock);
    return NULL;
}

// Erases the line before a message is printed.
static void make_room(void)
{
    pthread_mutex_lock(&line.lock);
    erase();
    pthread_mutex_unlock(&line.lock);
}

static bool start(void)
{
    pthread_condattr_t attr;
    sigset_t all, old;
    bool made;

    if (!line.has_begun)
        clock_gettime(CLOCK_MONOTONIC, &line.began);
    line.has_begun = true;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&line.wake, &attr);
    pthread_condattr_destroy(&attr);
    // Signals go to the thread that works.
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    made = pthread_create(&line.thread, NULL, run, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (made)
        util_before_message(make_room);
    return made;
}

void progress_begin(const char *fmt, ...)
{
    va_list ap;

    if (!line.running && !colour_wanted(STDERR_FILENO))
        return;
    pthread_mutex_lock(&line.lock);
    va_start(ap, fmt);
    text_format(line.what, sizeof(line.what), fmt, ap);
    va_end(ap);
    progress_step(0, 0);
    if (!line.running) {
        line.ending = false;
        line.running = start();
    }
    pthread_mutex_unlock(&line.lock);
}

void progress_writing(const char *out)
{
    if (strcmp(out, "-") != 0)
        progress_begin("writing %s", out);
    else if (isatty(STDOUT_FILENO) == 1)
        progress_end();
    else
        progress_begin("writing standard output");
}

void progress_step(uint64_t now, uint64_t all)
{
    __atomic_store_n(&total, all, __ATOMIC_RELAXED);
    __atomic_store_n(&done, now, __ATOMIC_RELAXED);
}

void progress_end(void)
{
    if (!line.running)
        return;
    pthread_mutex_lock(&line.lock);
    line.ending = true;
    pthread_cond_signal(&line.wake);
    pthread_mutex_unlock(&line.lock);
    pthread_join(line.thread, NULL);
    erase();
    util_before_message(NULL);
    line.running = false;
}
