// SPDX-License-Identifier: MIT
// Processes that die while they are busy: a signal at any moment while threads start
// and end, and several fatal signals from several senders at once. Each ends by the signal, soon,
// and leaves no spool (the runner looks).
#define _GNU_SOURCE
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

static void *brief(void *arg)
{
    return arg;
}

static void *spins(void *arg)
{
    for (;;)
        __asm__ volatile("");
    return arg;
}

static void breed(void)
{
    pthread_attr_t at;
    pthread_t t;

    pthread_attr_init(&at);
    pthread_attr_setdetachstate(&at, PTHREAD_CREATE_DETACHED);
    for (;;)
        if (pthread_create(&t, &at, brief, NULL))
            usleep(100);
}

static void pause_us(long us)
{
    struct timespec ts = { us / 1000000, us % 1000000 * 1000 };

    nanosleep(&ts, NULL);
}

static int is_killed(pid_t pid, int sig)
{
    int status = -1;

    return waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == sig;
}

int main(void)
{
    static const int fatal[] = { SIGTERM, SIGTERM, SIGSEGV, SIGABRT };

    for (int i = 0; i < 12; i++) {
        pid_t pid = fork();

        if (pid == 0)
            breed();
        pause_us(2000 + i * 2500);
        CHECK(kill(pid, fatal[i & 3]) == 0);
        CHECK(is_killed(pid, fatal[i & 3]));
    }
    SAY("killed while it makes threads");

    // Eight threads, four senders. (The core flag is not checked: it depends on the machine's
    // limits.)
    for (int i = 0; i < 4; i++) {
        pid_t target = fork(), sender[4];

        if (target == 0) {
            pthread_t t;

            for (int k = 0; k < 7; k++)
                pthread_create(&t, NULL, spins, NULL);
            spins(NULL);
        }
        pause_us(20000);
        for (int k = 0; k < 4; k++) {
            sender[k] = fork();
            if (sender[k] == 0) {
                for (int n = 0; n < 200 && kill(target, SIGTERM) == 0; n++)
                    ;
                _exit(0);
            }
        }
        CHECK(is_killed(target, SIGTERM));
        for (int k = 0; k < 4; k++)
            CHECK(waitpid(sender[k], NULL, 0) == sender[k]);
    }
    SAY("many fatal signals at once");
    return check_failed;
}
