// SPDX-License-Identifier: MIT
// Processes that share their descriptors: one must not lose anything through the other
// that it does not lose natively. The runner sees from the status whether a profile was
// lost.
#define _GNU_SOURCE
#include "check.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static void shared(const char *what, void (*child)(void))
{
    int status = -1;
    long pid;

    fflush(stdout);
    pid = syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) {
        child();
        _exit(5);
    }
    CHECK(waitpid((pid_t)pid, &status, 0) == pid);
    SAY("%s: %x", what, (unsigned)status);
}

static void close_all(void)
{
    syscall(SYS_close_range, 3, ~0u, 0);
}

// Every number that could be the other's becomes a file of ours.
static void take_all(void)
{
    int fd = open("/dev/null", O_RDWR);

    for (int i = 3; i < 4200; i++)
        if (i != fd)
            dup2(fd, i);
}

static void forks(void)
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0)
        _exit(6);
    CHECK(waitpid(pid, &status, 0) == pid);
    _exit(WEXITSTATUS(status));
}

int main(void)
{
    struct rlimit limit;

    shared("closes", close_all);
    CHECK(fcntl(100, F_GETFD) == -1 && errno == EBADF);
    shared("takes", take_all);
    close_all();
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = 32;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    while (dup(0) >= 0)
        ;
    shared("forks, no number being left", forks);
    return check_failed;
}
