// SPDX-License-Identifier: MIT
// Threads that wait in calls which the engine checks first (open of a FIFO, a lock on a file,
// ppoll, sigtimedwait, wait4, vfork), while the others do what stops the world:
// fork, new threads, code that is mapped and unmapped. A thread that holds a lock across a waiting
// call hangs here.
#define _GNU_SOURCE
#include "check.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

static char fifo[64], locked[64];
static volatile int waiting;

static void about_to_wait(void)
{
    __atomic_fetch_add(&waiting, 1, __ATOMIC_SEQ_CST);
}

static void *opens(void *arg)
{
    int fd;

    about_to_wait();
    fd = open(fifo, O_RDONLY);
    CHECK(fd >= 0);
    close(fd);
    return arg;
}

static void *locks(void *arg)
{
    struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    int fd = open(locked, O_RDWR);

    about_to_wait();
    CHECK(fcntl(fd, F_SETLKW, &fl) == 0);
    close(fd);
    return arg;
}

static void *polls(void *arg)
{
    struct pollfd p = { *(int *)arg, POLLIN, 0 };
    sigset_t mask;

    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    about_to_wait();
    CHECK(ppoll(&p, 1, NULL, &mask) == 1);
    return NULL;
}

static void *takes(void *arg)
{
    sigset_t s;

    sigemptyset(&s);
    sigaddset(&s, SIGUSR1);
    about_to_wait();
    CHECK(sigwaitinfo(&s, NULL) == SIGUSR1);
    return arg;
}

static void *waits(void *arg)
{
    int status;

    about_to_wait();
    CHECK(waitpid(*(pid_t *)arg, &status, 0) == *(pid_t *)arg && WEXITSTATUS(status) == 5);
    return NULL;
}

// The kernel holds this thread until its child is gone.
static void *vforks(void *arg)
{
    int fd = *(int *)arg, status;
    char c;
    pid_t pid;

    about_to_wait();
    pid = vfork();
    if (pid == 0)
        _exit(read(fd, &c, 1) == 1 ? 6 : 7);
    CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 6);
    return NULL;
}

static void *nothing(void *arg)
{
    return arg;
}

static void disturb(void)
{
    unsigned char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_t t;
    void *h;
    pid_t pid = fork();
    int status;

    if (pid == 0)
        _exit(8);
    CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 8);
    CHECK(pthread_create(&t, NULL, nothing, NULL) == 0 && pthread_join(t, NULL) == 0);
    for (int i = 0; i < 30; i++) {
        mprotect(p, 4096, PROT_READ | PROT_WRITE);
        p[0] = 0xb8; // mov $i, %eax; ret
        memcpy(p + 1, &i, 4);
        p[5] = 0xc3;
        mprotect(p, 4096, PROT_READ | PROT_EXEC);
        CHECK(((int (*)(void))(uintptr_t)p)() == i);
    }
    munmap(p, 4096);
    h = dlopen("libz.so.1", RTLD_NOW);
    if (h)
        dlclose(h);
}

int main(void)
{
    struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    int to_poll[2], to_vfork[2], to_child[2], fd;
    pid_t child, holder;
    pthread_t t[6];
    sigset_t s;
    char c;

    sigemptyset(&s);
    sigaddset(&s, SIGUSR1);
    sigprocmask(SIG_BLOCK, &s, NULL);
    snprintf(fifo, sizeof(fifo), "/tmp/quern-fifo.%d", getpid());
    snprintf(locked, sizeof(locked), "/tmp/quern-lock.%d", getpid());
    CHECK(mkfifo(fifo, 0600) == 0);
    CHECK(close(open(locked, O_RDWR | O_CREAT, 0600)) == 0);
    CHECK(pipe(to_poll) == 0 && pipe(to_vfork) == 0 && pipe(to_child) == 0);
    child = fork();
    if (child == 0)
        _exit(read(to_child[0], &c, 1) == 1 ? 5 : 4);
    // locks belong to processes: another one has to hold it
    int is_held[2], let_go[2];
    CHECK(pipe(is_held) == 0 && pipe(let_go) == 0);
    holder = fork();
    if (holder == 0) {
        fd = open(locked, O_RDWR);
        _exit(fcntl(fd, F_SETLK, &fl) == 0 && write(is_held[1], "x", 1) == 1 &&
                      read(let_go[0], &c, 1) == 1
                  ? 0
                  : 1);
    }
    CHECK(read(is_held[0], &c, 1) == 1);

    pthread_create(&t[0], NULL, opens, NULL);
    pthread_create(&t[1], NULL, locks, NULL);
    pthread_create(&t[2], NULL, polls, &to_poll[0]);
    pthread_create(&t[3], NULL, takes, NULL);
    pthread_create(&t[4], NULL, waits, &child);
    pthread_create(&t[5], NULL, vforks, &to_vfork[0]);
    while (waiting < 6)
        usleep(1000);
    usleep(50000);
    for (int i = 0; i < 5; i++)
        disturb();
    SAY("disturbed");

    fd = open(fifo, O_WRONLY);
    CHECK(fd >= 0);
    CHECK(write(let_go[1], "x", 1) == 1 && write(to_poll[1], "x", 1) == 1);
    kill(getpid(), SIGUSR1);
    CHECK(write(to_child[1], "x", 1) == 1 && write(to_vfork[1], "x", 1) == 1);
    for (int i = 0; i < 6; i++)
        CHECK(pthread_join(t[i], NULL) == 0);
    CHECK(waitpid(holder, NULL, 0) == holder);
    close(fd);
    unlink(fifo);
    unlink(locked);
    SAY("and went on");
    return check_failed;
}
