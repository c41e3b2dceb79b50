// SPDX-License-Identifier: MIT
//
// --progress: starts the process that says how much has been counted so far (cli/progress.c). It is
// no child of the program, which waits for its own, and holds none of its descriptors: whoever
// reads the end of a pipe must not wait for it.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/util.h"
#include "cli/run/run.h"

enum { PIDFD = STDERR_FILENO + 1 }; // in that process

static void close_from(int first)
{
    if (syscall(SYS_close_range, first, ~0u, 0) == 0)
        return;
    for (int fd = first; fd < sysconf(_SC_OPEN_MAX); fd++) // before Linux 5.9
        close(fd);
}

static _Noreturn void execute(const char *whole, char **argv, int pidfd, int log_fd)
{
    int null = open("/dev/null", O_RDWR);
    sigset_t none;

    // Above all numbers that are set below.
    pidfd = fcntl(pidfd, F_DUPFD, 2 * RUN_FD_MIN);
    log_fd = fcntl(log_fd, F_DUPFD, 2 * RUN_FD_MIN);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    dup2(log_fd, STDERR_FILENO);
    if (dup2(pidfd, PIDFD) == PIDFD) {
        close_from(PIDFD + 1);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        execv(whole, argv);
    }
    _exit(UTIL_NOTFOUND);
}

void run_progress_start(const char *whole, uint64_t seconds, int log_fd)
{
    int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0), status;
    char pid[16], every[24], number[16];
    char *argv[] = { (char *)"quern", (char *)"--progress", number, pid, every, NULL };
    pid_t child;

    util_wait_children();
    if (pidfd < 0) {
        warn("--progress: this kernel is too old for it (pidfd_open of Linux 5.3)");
        return;
    }
    snprintf(number, sizeof(number), "%d", PIDFD);
    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    snprintf(every, sizeof(every), "%llu", (unsigned long long)seconds);
    child = fork();
    if (child == 0) {
        if (fork() == 0)
            execute(whole, argv, pidfd, log_fd);
        _exit(UTIL_OK);
    }
    close(pidfd);
    if (child < 0 || waitpid(child, &status, 0) != child)
        warn("--progress: no process can be made for it");
}
