// SPDX-License-Identifier: MIT
// The main thread ends first; the process lives until the last thread, forks, maps files, and
// ends with that thread's status.
#define _GNU_SOURCE
#include "check.h"

#include <pthread.h>
#include <sys/wait.h>

static pthread_t main_thread;

static void *last(void *arg)
{
    void *ret;
    int status;
    pid_t pid;

    CHECK(pthread_join(main_thread, &ret) == 0 && ret == (void *)77);
    pid = fork();
    if (pid == 0)
        _exit(12);
    CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 12);
    CHECK(system("exit 4") == 4 << 8);
    SAY("main thread has gone");
    exit(check_failed);
    return arg;
}

int main(void)
{
    pthread_t t;

    main_thread = pthread_self();
    pthread_create(&t, NULL, last, NULL);
    pthread_exit((void *)77);
}
