// SPDX-License-Identifier: MIT
//
// Waits ten seconds in the kernel, by the call that is its argument, and prints the call's
// result and how many tenths of a second it took. Requests of quern control meanwhile may change
// neither.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SECONDS = 10, THREADS = 16 };

static int ends[2]; // a pipe that nobody writes to

static void handler(int sig)
{
    (void)sig;
}

static long wait_nanosleep(void)
{
    return nanosleep(&(struct timespec){ SECONDS, 0 }, NULL);
}

static long wait_clock_nanosleep(void)
{
    return clock_nanosleep(CLOCK_REALTIME, 0, &(struct timespec){ SECONDS, 0 }, NULL);
}

static long wait_poll(void)
{
    return poll(NULL, 0, SECONDS * 1000);
}

static long wait_ppoll(void)
{
    return ppoll(NULL, 0, &(struct timespec){ SECONDS, 0 }, NULL);
}

static long wait_epoll(void)
{
    struct epoll_event event;

    return epoll_wait(epoll_create1(0), &event, 1, SECONDS * 1000);
}

static long wait_select(void)
{
    return select(0, NULL, NULL, NULL, &(struct timeval){ SECONDS, 0 });
}

static long wait_pause(void)
{
    alarm(SECONDS);
    return pause();
}

static long wait_read(void)
{
    char byte;

    alarm(SECONDS);
    return read(ends[0], &byte, 1);
}

static void block_alarm(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGALRM);
    sigprocmask(SIG_BLOCK, set, NULL);
    alarm(SECONDS);
}

static long wait_sigsuspend(void)
{
    sigset_t set, none;

    sigemptyset(&none);
    block_alarm(&set);
    return sigsuspend(&none);
}

static long wait_sigwait(void)
{
    sigset_t set;

    block_alarm(&set);
    return sigwaitinfo(&set, NULL);
}

static long wait_sigtimedwait(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return sigtimedwait(&set, NULL, &(struct timespec){ SECONDS, 0 });
}

static long wait_semtimedop(void)
{
    struct sembuf down = { .sem_op = -1 };
    int set = semget(IPC_PRIVATE, 1, 0600), error;
    long ret = semtimedop(set, &down, 1, &(struct timespec){ SECONDS, 0 });

    error = errno;
    semctl(set, 0, IPC_RMID);
    errno = error;
    return ret;
}

static long wait_aio(long number)
{
    aio_context_t context = 0;
    struct io_event event;

    if (syscall(SYS_io_setup, 1, &context) != 0)
        return -1;
    return syscall(number, context, 1, 1, &event, &(struct timespec){ SECONDS, 0 }, NULL);
}

static long wait_io_getevents(void)
{
    return wait_aio(SYS_io_getevents);
}

static long wait_io_pgetevents(void)
{
    return wait_aio(SYS_io_pgetevents);
}

static long wait_futex(void)
{
    static int word;

    return syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &(struct timespec){ SECONDS, 0 });
}

// An operation whose result is the time at its end.
static long wait_futex_until(void)
{
    static int word;
    struct timespec end;

    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += SECONDS;
    return syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 0, &end, NULL,
                   FUTEX_BITSET_MATCH_ANY);
}

static long wait_child(void)
{
    int status;

    if (fork() == 0) {
        sleep(SECONDS);
        _exit(3);
    }
    return wait(&status) > 0 ? WEXITSTATUS(status) : -1;
}

static void *reader(void *unused)
{
    char byte;

    (void)unused;
    return (void *)read(ends[0], &byte, 1);
}

static long wait_threads(void)
{
    pthread_t t[THREADS];
    long sum = 0;
    void *got;

    for (int i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, reader, NULL);
    sleep(SECONDS);
    close(ends[1]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(t[i], &got);
        sum += (long)got;
    }
    return sum;
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static long wait_forks(void)
{
    double end = now() + SECONDS;
    long bad = 0;
    int status;

    while (now() < end) {
        if (fork() == 0)
            _exit(7);
        bad += wait(&status) < 0 || WEXITSTATUS(status) != 7;
    }
    return bad;
}

static long wait_busy(void)
{
    double end = now() + SECONDS;

    while (now() < end)
        ;
    return 0;
}

// Not ten seconds, but until the end of standard input.
static long wait_told(void)
{
    struct pollfd in = { 0, POLLIN, 0 };

    while (poll(&in, 1, 0) == 0)
        ;
    return 0;
}

static const struct {
    const char *name;
    long (*wait)(void);
} calls[] = {
    { "nanosleep", wait_nanosleep },
    { "clock_nanosleep", wait_clock_nanosleep },
    { "poll", wait_poll },
    { "ppoll", wait_ppoll },
    { "epoll", wait_epoll },
    { "select", wait_select },
    { "pause", wait_pause },
    { "read", wait_read },
    { "sigsuspend", wait_sigsuspend },
    { "sigwait", wait_sigwait },
    { "sigtimedwait", wait_sigtimedwait },
    { "semtimedop", wait_semtimedop },
    { "io_getevents", wait_io_getevents },
    { "io_pgetevents", wait_io_pgetevents },
    { "futex", wait_futex },
    { "futex_until", wait_futex_until },
    { "child", wait_child },
    { "threads", wait_threads },
    { "forks", wait_forks },
    { "busy", wait_busy },
    { "told", wait_told },
};

int main(int argc, char **argv)
{
    struct sigaction act = { .sa_handler = handler };

    if (sigaction(SIGALRM, &act, NULL) || pipe(ends))
        return 1;
    for (size_t i = 0; argc > 1 && i < sizeof(calls) / sizeof(*calls); i++) {
        double begin = now();
        long ret;

        if (strcmp(calls[i].name, argv[1]) != 0)
            continue;
        errno = 0;
        ret = calls[i].wait();
        printf("%s %ld %s %d\n", argv[1], ret, ret < 0 ? strerror(errno) : "-",
               (int)((now() - begin) * 10));
        return 0;
    }
    return 2;
}
