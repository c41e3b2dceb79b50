// SPDX-License-Identifier: MIT
//
// A child that continues in the functions of its parent, and programs executed in memory borrowed
// by vfork: in the caller's function and in the library's.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int work(int n)
{
    volatile int sum = 0;

    for (int i = 0; i < n; i++)
        sum += i;
    return sum;
}

static int child(void)
{
    return work(1000);
}

static int middle(int n)
{
    pid_t pid;

    work(10);
    pid = fork();
    if (pid == 0)
        return child() == 0;
    waitpid(pid, NULL, 0);
    return work(n) == 0;
}

int main(void)
{
    char *argv[] = { "true", NULL };
    pid_t pid;

    if (middle(50))
        return 1;
    for (int i = 0; i < 3; i++) {
        pid = vfork();
        if (pid == 0) {
            execv("/bin/true", argv);
            _exit(1);
        }
        waitpid(pid, NULL, 0);
    }
    for (int i = 0; i < 5; i++) {
        if (posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ) == 0)
            waitpid(pid, NULL, 0);
        work(7);
    }
    return 0;
}
