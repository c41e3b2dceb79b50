// SPDX-License-Identifier: MIT
// exit, a fatal signal and exec while other threads compute, wait, and make threads: in children,
// many times.
#define _GNU_SOURCE
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static pthread_mutex_t never = PTHREAD_MUTEX_INITIALIZER;

static void *compute(void *arg)
{
    for (volatile unsigned long i = 0;; i++)
        ;
    return arg;
}

static void *wait_for_ever(void *arg)
{
    pthread_mutex_lock(&never);
    return arg;
}

static void *nothing(void *arg)
{
    return arg;
}

static void *breed(void *arg)
{
    for (;;) {
        pthread_t t;

        if (pthread_create(&t, NULL, nothing, NULL) == 0)
            pthread_join(t, NULL);
    }
    return arg;
}

static void *finish(void *arg)
{
    usleep(2000);
    switch ((long)arg) {
    case 0: _exit(21);
    case 1: kill(getpid(), SIGTERM); break;
    case 2: *(volatile int *)8 = 1; break;
    case 3: execl("/bin/sh", "sh", "-c", "exit 22", (char *)NULL); break;
    case 4: abort();
    default: exit(23);
    }
    for (;;)
        pause();
    return arg;
}

int main(void)
{
    struct rlimit no_core = { 0, 0 };
    static const int expect[] = { 21, 1000 + SIGTERM, 1000 + SIGSEGV, 22, 1000 + SIGABRT, 23 };

    setrlimit(RLIMIT_CORE, &no_core);
    pthread_mutex_lock(&never);
    for (long i = 0; i < 24; i++) {
        pid_t pid = fork();
        int status;

        if (pid == 0) {
            pthread_t t[4];

            pthread_create(&t[0], NULL, compute, NULL);
            pthread_create(&t[1], NULL, wait_for_ever, NULL);
            pthread_create(&t[2], NULL, breed, NULL);
            if (i & 8) {
                pthread_create(&t[3], NULL, finish, (void *)(i % 6));
                compute(NULL);
            }
            finish((void *)(i % 6));
        }
        CHECK(waitpid(pid, &status, 0) == pid);
        status = WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
        if (status != expect[i % 6])
            SAY("round %ld: %d instead of %d", i, status, expect[i % 6]);
        CHECK(status == expect[i % 6]);
    }
    SAY("24 ends");
    return check_failed;
}
