// SPDX-License-Identifier: MIT
// Threads make children that borrow their memory while another one forks repeatedly, which
// stops all of them: at each moment of a child's start and end, no thread is lost.
#define _GNU_SOURCE
#include "check.h"

#include <pthread.h>
#include <sys/wait.h>

#define THREADS  3
#define CHILDREN 300

static volatile int running = THREADS;

static void *borrower(void *arg)
{
    for (int i = 0; i < CHILDREN; i++) {
        int status = -1;
        pid_t pid = vfork();

        if (pid == 0)
            _exit(7);
        CHECK(waitpid(pid, &status, 0) == pid && status == 7 << 8);
    }
    __atomic_fetch_sub(&running, 1, __ATOMIC_SEQ_CST);
    return arg;
}

int main(void)
{
    pthread_t thread[THREADS];

    fflush(stdout);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&thread[i], NULL, borrower, NULL) == 0);
    while (__atomic_load_n(&running, __ATOMIC_SEQ_CST)) {
        int status = -1;
        pid_t pid = fork();

        if (pid == 0)
            _exit(0);
        CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    }
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(thread[i], NULL) == 0);
    SAY("none is lost");
    return check_failed;
}
