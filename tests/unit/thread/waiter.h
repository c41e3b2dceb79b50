// SPDX-License-Identifier: MIT
//
// For tests of what is done with a lock held: a second thread that wants it, too. The kernel says
// whether it waits, so neither answer depends on the speed of the machine.
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

// The state of the thread as the kernel names it; 'S': it sleeps.
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

// Another thread starts `what`, which sleeps only for a lock. True: it sleeps until the lock is
// dropped; then call waiter_end(). False: it has finished `what`.
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
