// SPDX-License-Identifier: MIT
//
// For tests of what is done with a lock held: a second thread that wants it, too. Whether it waits
// the kernel says, so neither answer depends on how quick the machine is.
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct waiter {
    pthread_t thread;
    void (*what)(void);
    int tid, done;
    bool is;
} waiter;

static void *waiter_run(void *arg)
{
    (void)arg;
    __atomic_store_n(&waiter.tid, gettid(), __ATOMIC_SEQ_CST);
    waiter.what();
    __atomic_store_n(&waiter.done, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

// The kernel's word for what the thread does; 'S': it sleeps.
static char waiter_state(int tid)
{
    char path[64], text[256] = "";
    FILE *f;

    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
    f = fopen(path, "re");
    if (!f)
        return 0;
    text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
    fclose(f);
    return strrchr(text, ')') ? strrchr(text, ')')[2] : 0;
}

// Another thread begins with `what`, which sleeps for nothing but a lock. True: it does sleep,
// until the lock is dropped; waiter_end() follows then. False: it did what it wanted.
static bool waiter_waits(void (*what)(void))
{
    int tid;

    waiter = (struct waiter){ .what = what, .is = true };
    if (pthread_create(&waiter.thread, NULL, waiter_run, NULL))
        return false;
    for (;;) {
        tid = __atomic_load_n(&waiter.tid, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&waiter.done, __ATOMIC_SEQ_CST))
            return false;
        if (tid && waiter_state(tid) == 'S')
            return true;
        sched_yield();
    }
}

static void waiter_end(void)
{
    if (waiter.is)
        pthread_join(waiter.thread, NULL);
    waiter.is = false;
}
