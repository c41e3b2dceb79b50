// SPDX-License-Identifier: MIT
//
// io_uring_enter(2) submits, then waits. When a signal ends the wait it returns only the number
// submitted. Signals that the engine sends must not end it: a child sends them while the call
// sleeps, and then completes what it waits for. A signal that the program handles ends it.
//
// skip: io_uring is not permitted here
// varies: a child, and loops that wait for it

#include <linux/io_uring.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "engine-signal.h"

#define ENTRIES 4

static struct io_uring_params params;
static int ring, ends[2];
static char *sq, *cq, got[8];
static struct io_uring_sqe *sqes;
static volatile int handled;

static unsigned *word(char *at, unsigned offset)
{
    return (unsigned *)(void *)(at + offset);
}

static bool make_ring(void)
{
    ring = (int)syscall(SYS_io_uring_setup, ENTRIES, &params);
    if (ring < 0)
        return false;
    sq = mmap(NULL, params.sq_off.array + params.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED,
              ring, IORING_OFF_SQ_RING);
    cq = mmap(NULL, params.cq_off.cqes + params.cq_entries * 16, PROT_READ | PROT_WRITE, MAP_SHARED,
              ring, IORING_OFF_CQ_RING);
    sqes = mmap(NULL, params.sq_entries * sizeof(*sqes), PROT_READ | PROT_WRITE, MAP_SHARED, ring,
                IORING_OFF_SQES);
    return sq != MAP_FAILED && cq != MAP_FAILED && sqes != MAP_FAILED;
}

// A read of one byte from the pipe.
static void queue_read(void)
{
    unsigned tail = *word(sq, params.sq_off.tail), i = tail & (params.sq_entries - 1);

    memset(&sqes[i], 0, sizeof(sqes[i]));
    sqes[i].opcode = IORING_OP_READ;
    sqes[i].fd = ends[0];
    sqes[i].addr = (unsigned long)got;
    sqes[i].len = 1;
    word(sq, params.sq_off.array)[i] = i;
    __atomic_store_n(word(sq, params.sq_off.tail), tail + 1, __ATOMIC_RELEASE);
}

static unsigned completed(void)
{
    return __atomic_load_n(word(cq, params.cq_off.tail), __ATOMIC_ACQUIRE) -
           *word(cq, params.cq_off.head);
}

static void take_all(void)
{
    unsigned n = completed();

    __atomic_store_n(word(cq, params.cq_off.head), *word(cq, params.cq_off.head) + n,
                     __ATOMIC_RELEASE);
}

// -- the child --

static char file_text[4096];

static const char *read_parent(const char *what)
{
    char name[64];
    ssize_t n;
    FILE *file;

    snprintf(name, sizeof(name), "/proc/%d/%s", getppid(), what);
    file = fopen(name, "r");
    n = file ? (ssize_t)fread(file_text, 1, sizeof(file_text) - 1, file) : 0;
    file_text[n] = 0;
    if (file)
        fclose(file);
    return file_text;
}

static void until_it_sleeps(void)
{
    for (;;) {
        const char *state = strrchr(read_parent("stat"), ')');

        if (state && state[2] == 'S')
            return;
        usleep(1000);
    }
}

static void until_met(int signo)
{
    while (engine_signal_pending(read_parent("status"), signo))
        usleep(1000);
}

static void kick(unsigned long value)
{
    engine_signal_send(getppid(), getppid(), value);
    until_met(ENGINE_SIGNAL);
}

enum child { WRITES, SIGNALS, NOTHING };

static pid_t begin(enum child does)
{
    static const unsigned long values[] = { KICK, ASK, KICK };
    pid_t pid = fork();

    if (pid)
        return pid;
    for (int i = 0; i < 3; i++) {
        until_it_sleeps();
        kick(values[i]);
    }
    until_it_sleeps();
    if (does == WRITES && write(ends[1], "x", 1) != 1)
        _exit(1);
    if (does == SIGNALS)
        kill(getppid(), SIGUSR1);
    _exit(0);
}

static void finish(pid_t pid)
{
    int status = -1;

    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(status == 0);
}

static long enter(unsigned submit, unsigned wait, unsigned flags, void *arg, unsigned long size)
{
    return syscall(SYS_io_uring_enter, ring, submit, wait, flags | IORING_ENTER_GETEVENTS, arg,
                   size);
}

static void handler(int signo)
{
    (void)signo;
    handled++;
}

static void check_wait(void)
{
    pid_t pid;

    queue_read();
    pid = begin(WRITES);
    CHECK(enter(1, 1, 0, NULL, 0) == 1);
    CHECK(completed() == 1);
    finish(pid);
    take_all();
    // Submitted before.
    queue_read();
    CHECK(syscall(SYS_io_uring_enter, ring, 1, 0, 0, NULL, 0) == 1);
    pid = begin(WRITES);
    CHECK(enter(0, 1, 0, NULL, 0) == 0);
    CHECK(completed() == 1);
    finish(pid);
    take_all();
}

// A handled signal ends the wait, also one that only the call unblocks.
static void check_signal(void)
{
    unsigned long blocked = 1ul << (SIGUSR1 - 1), none = 0, mask = 0;
    sigset_t set;
    pid_t pid;

    queue_read();
    pid = begin(SIGNALS);
    CHECK(enter(1, 1, 0, NULL, 0) == 1);
    CHECK(completed() == 0);
    CHECK(handled == 1);
    finish(pid);
    CHECK(write(ends[1], "x", 1) == 1);
    CHECK(enter(0, 1, 0, NULL, 0) == 0);
    take_all();
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
    queue_read();
    pid = begin(SIGNALS);
    CHECK(enter(1, 1, 0, &none, 8) == 1);
    CHECK(completed() == 0);
    CHECK(handled == 2);
    CHECK(syscall(SYS_rt_sigprocmask, 0, NULL, &mask, 8) == 0);
    CHECK(mask & blocked);
    finish(pid);
    CHECK(write(ends[1], "x", 1) == 1);
    CHECK(enter(0, 1, 0, NULL, 0) == 0);
    take_all();
    CHECK(sigprocmask(SIG_UNBLOCK, &set, NULL) == 0);
}

// Its timeout. Until it expires nothing else ends the wait.
static void check_time(void)
{
    struct __kernel_timespec time = { 1, 0 };
    struct io_uring_getevents_arg arg = { .ts = (unsigned long)&time };
    struct timespec before, after;
    pid_t pid;

    if (!(params.features & IORING_FEAT_EXT_ARG))
        return;
    queue_read();
    clock_gettime(CLOCK_MONOTONIC, &before);
    pid = begin(NOTHING);
    CHECK(enter(1, 1, IORING_ENTER_EXT_ARG, &arg, sizeof(arg)) == 1);
    clock_gettime(CLOCK_MONOTONIC, &after);
    CHECK((after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec - before.tv_nsec >=
          1000000000);
    CHECK(completed() == 0);
    CHECK(time.tv_sec == 1 && time.tv_nsec == 0 && arg.ts == (unsigned long)&time);
    finish(pid);
    CHECK(write(ends[1], "x", 1) == 1);
    CHECK(enter(0, 1, 0, NULL, 0) == 0);
    take_all();
}

int main(void)
{
    struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };

    if (!make_ring())
        return 77;
    CHECK(engine_signal_ignore() == 0);
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    CHECK(pipe(ends) == 0);
    check_wait();
    check_signal();
    check_time();
    return check_failed;
}
