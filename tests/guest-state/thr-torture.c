// SPDX-License-Identifier: MIT
// Many threads that disturb each other: posix_spawn while libraries are loaded and
// unloaded, code that is rewritten through another mapping while threads run it, code mapped and
// unmapped at one address, signals to sixteen threads, a fault in every thread at once.
#define _GNU_SOURCE
#include "check.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>

extern char **environ;
static volatile int stop;

static void *spawner(void *arg)
{
    char *argv[] = { (char *)"true", NULL };
    long bad = 0;

    for (int i = 0; i < 6; i++) {
        pid_t pid;
        int status;

        if (posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ) ||
            waitpid(pid, &status, 0) != pid || status)
            bad++;
        if (posix_spawn(&pid, "/no/such", NULL, NULL, argv, environ) != ENOENT)
            bad++;
    }
    (void)arg;
    return (void *)bad;
}

static void *loader(void *arg)
{
    long bad = 0;

    while (!stop) {
        void *h = dlopen("libutil.so.1", RTLD_NOW | RTLD_LOCAL);
        void *m = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);

        if (m) {
            unsigned long (*crc)(unsigned long, const unsigned char *, unsigned) = NULL;

            *(void **)&crc = dlsym(m, "crc32");
            if (!crc || crc(0, (const unsigned char *)"123456789", 9) != 0xcbf43926)
                bad++;
            dlclose(m);
        }
        if (h)
            dlclose(h);
    }
    (void)arg;
    return (void *)bad;
}

// mov $n, %eax; ret. Aligned, so that a reader sees the old number or the new one.
static unsigned char *rw, *rx;
static volatile int newest;

static void *runner(void *arg)
{
    int (*fn)(void) = (int (*)(void))(uintptr_t)(rx + 3);
    int last = 0;
    long bad = 0;

    while (!stop) {
        int floor = newest, n = fn();

        // never older than the value written before the call and seen, never going back
        if (n < last || n < floor)
            bad++;
        last = n;
    }
    (void)arg;
    return (void *)bad;
}

static void *mapper(void *arg)
{
    unsigned char *p = arg;
    long bad = 0;

    for (int i = 0; i < 300; i++) {
        if (mmap(p, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
            p)
            return (void *)1000;
        p[0] = 0xb8;
        memcpy(p + 1, &i, 4);
        p[5] = 0xc3;
        mprotect(p, 4096, PROT_READ | PROT_EXEC);
        if (((int (*)(void))(uintptr_t)p)() != i)
            bad++;
        if (i % 3 == 0)
            munmap(p, 4096);
    }
    return (void *)bad;
}

static __thread volatile int hits;
static void on_usr(int sig)
{
    (void)sig;
    hits++;
}

static void on_segv(int sig, siginfo_t *si, void *p)
{
    ucontext_t *uc = p;

    (void)sig;
    (void)si;
    uc->uc_mcontext.gregs[REG_RAX]++;
    uc->uc_mcontext.gregs[REG_RIP] += 2;
}

static void *target(void *arg)
{
    unsigned long x = (unsigned long)arg + 1;

    while (hits < 50) {
        for (int i = 0; i < 200; i++) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
        }
        usleep(100);
    }
    return (void *)(long)(x == 0);
}

static void *faulter(void *arg)
{
    long n = 0;

    for (int i = 0; i < 1500; i++)
        __asm__ volatile("movb %%cl, (%%rbx)" : "+a"(n) : "b"(arg) : "memory");
    return (void *)(n != 1500 ? 1L : 0L);
}

static void join_all(pthread_t *t, int n)
{
    for (int i = 0; i < n; i++) {
        void *ret;

        pthread_join(t[i], &ret);
        CHECK(ret == NULL);
    }
}

int main(void)
{
    pthread_t t[32], l[2];
    struct sigaction sa;

    for (int i = 0; i < 2; i++)
        pthread_create(&l[i], NULL, loader, NULL);
    for (int i = 0; i < 8; i++)
        pthread_create(&t[i], NULL, spawner, NULL);
    join_all(t, 8);
    stop = 1;
    join_all(l, 2);
    SAY("spawning and loading");

    int fd = memfd_create("code", 0);
    CHECK(ftruncate(fd, 4096) == 0);
    rw = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    rx = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
    rw[3] = 0xb8;
    rw[8] = 0xc3;
    stop = 0;
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, runner, NULL);
    for (int i = 1; i < 400; i++) {
        __atomic_store_n((int *)(rw + 4), i, __ATOMIC_SEQ_CST);
        usleep(50);
        // what this thread runs after its own write is the new code
        CHECK(((int (*)(void))(uintptr_t)(rx + 3))() == i);
        newest = i;
    }
    stop = 1;
    join_all(t, 4);
    SAY("rewriting");

    unsigned char *where = mmap(NULL, 8 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 8; i++)
        pthread_create(&t[i], NULL, mapper, where + i * 4096);
    join_all(t, 8);
    SAY("mapping");

    memset(&sa, 0, sizeof(sa));
    sa.sa_handler = on_usr;
    sa.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &sa, NULL);
    for (int i = 0; i < 16; i++)
        pthread_create(&t[i], NULL, target, (void *)(long)i);
    for (int n = 0; n < 400; n++) {
        for (int i = 0; i < 16; i++)
            pthread_kill(t[i], SIGUSR1);
        usleep(300);
    }
    join_all(t, 16);
    SAY("signals");

    char *bad = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sa.sa_sigaction = on_segv;
    sa.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &sa, NULL);
    for (int i = 0; i < 16; i++)
        pthread_create(&t[i], NULL, faulter, bad);
    join_all(t, 16);
    SAY("faults");
    return check_failed;
}
