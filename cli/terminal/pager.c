// SPDX-License-Identifier: MIT
//
// The pager is a child: this process keeps its own exit status, and waits at its end, also when a
// signal ends it: otherwise shell and pager would read the keyboard at the same time.
#include "cli/terminal/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/util.h"
#include "cli/terminal/colour.h"

static pid_t pager;

static bool is_in_path(const char *program)
{
    const char *path = getenv("PATH");

    while (path && *path) {
        size_t n = strcspn(path, ":");
        char *file = xasprintf("%.*s/%s", (int)n, path, program);
        bool there = access(file, X_OK) == 0;

        free(file);
        if (there)
            return true;
        path += n + (path[n] == ':');
    }
    return false;
}

// The command, or NULL.
static const char *wanted(void)
{
    const char *command = getenv("PAGER"), *term = getenv("TERM");

    if (isatty(STDOUT_FILENO) != 1 || !term || !*term || strcmp(term, "dumb") == 0)
        return NULL;
    if (!command)
        return is_in_path("less") ? "less" : NULL;
    return *command && strcmp(command, "cat") != 0 ? command : NULL;
}

// less shows escape sequences as text unless -R or -r says otherwise; of other pagers nothing is
// known.
static bool shows_colours(const char *command)
{
    const char *less = getenv("LESS");
    size_t n = strcspn(command, " ");

    return n >= 4 && strncmp(command + n - 4, "less", 4) == 0 &&
           (n == 4 || command[n - 5] == '/') && (!less || strpbrk(less, "Rr"));
}

// Both ends of the pipe are the terminal again: the pager reads the end of its input. Nothing here
// but system calls, for a handler calls it.
static void wait_for_pager(void)
{
    int status, null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (pager <= 0)
        return;
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    while (waitpid(pager, &status, 0) < 0 && errno == EINTR)
        ;
    pager = 0;
}

static void at_exit(void)
{
    fflush(stdout);
    wait_for_pager();
}

static void on_signal(int sig)
{
    wait_for_pager();
    signal(sig, SIG_DFL);
    raise(sig);
}

static _Noreturn void execute(const char *command, int in)
{
    dup2(in, STDIN_FILENO);
    setenv("LESS", "FRX", 0);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(UTIL_NOTFOUND);
}

// The pager handles the keys. Also where the caller ignores SIGPIPE this process ends by it.
static void catch_signals(void)
{
    static const int signals[] = { SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT };

    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
        signal(signals[i], on_signal);
    atexit(at_exit);
}

void pager_start(void)
{
    const char *command = wanted();
    sigset_t all, old;
    int ends[2];

    if (!command || pager || pipe2(ends, O_CLOEXEC) != 0)
        return;
    fflush(stdout);
    colour_keep(shows_colours(command));
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &old);
    pager = fork();
    if (pager == 0) {
        sigprocmask(SIG_SETMASK, &old, NULL);
        execute(command, ends[0]);
    }
    close(ends[0]);
    if (pager > 0) {
        if (isatty(STDERR_FILENO) == 1)
            dup2(ends[1], STDERR_FILENO);
        dup2(ends[1], STDOUT_FILENO);
        catch_signals();
    }
    close(ends[1]);
    sigprocmask(SIG_SETMASK, &old, NULL);
}
