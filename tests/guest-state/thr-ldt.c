// SPDX-License-Identifier: MIT
// A thread runs with a selector of the local descriptor table in %ss, and another thread removes
// the entry: SIGSEGV, as for a general protection fault, at once or when it loads the selector
// the next time, and the program continues. Repeatedly, so that it happens in translated code
// and in the engine.
#define _GNU_SOURCE
#include "check.h"

#include <asm/ldt.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>

#define ROUNDS 20
#define TURNS  20000 // loads of a selector whose entry is gone: the first one faults

static sigjmp_buf back;
static volatile int ready, taken, ended, seen, code;

static int entry(int present)
{
    struct user_desc d;

    memset(&d, 0, sizeof(d));
    d.read_exec_only = !present;
    d.seg_not_present = !present;
    if (present) {
        d.limit = 0xfffff;
        d.seg_32bit = 1;
        d.limit_in_pages = 1;
        d.useable = 1;
    }
    return (int)syscall(SYS_modify_ldt, 1, &d, sizeof(d));
}

static void handler(int sig, siginfo_t *si, void *p)
{
    (void)sig;
    (void)p;
    code = si->si_code;
    siglongjmp(back, 1);
}

static void *victim(void *arg)
{
    volatile unsigned long turns = 0;
    volatile int more = TURNS;

    (void)arg;
    if (sigsetjmp(back, 1) == 0) {
        while (more) {
            more -= taken;
            // Every time: a call that the thread makes resets it to the kernel's own.
            __asm__ volatile("mov %0, %%ss" : : "r"((short)7));
            ready = 1;
            for (int i = 0; i < 1000; i++)
                turns = turns + 1;
        }
        return NULL;
    }
    seen++;
    ended = 1;
    return NULL;
}

int main(void)
{
    struct sigaction act;
    pthread_t thread;

    memset(&act, 0, sizeof(act));
    act.sa_flags = SA_SIGINFO;
    act.sa_sigaction = handler;
    sigaction(SIGSEGV, &act, NULL);
    sigaction(SIGBUS, &act, NULL);
    if (entry(1)) {
        SAY("no local descriptor table here");
        return 0;
    }
    for (int i = 0; i < ROUNDS; i++) {
        ready = taken = ended = 0;
        CHECK(entry(1) == 0);
        CHECK(pthread_create(&thread, NULL, victim, NULL) == 0);
        while (!ready && !ended)
            usleep(100);
        CHECK(entry(0) == 0);
        taken = 1;
        pthread_join(thread, NULL);
        if (!ready || !ended) { // under PVM, a hypervisor, natively as well
            SAY("changes of the table are not seen here");
            return 0;
        }
        CHECK(ended);
    }
    CHECK(seen == ROUNDS);
    CHECK(code == SI_KERNEL);
    SAY("taken away");
    return check_failed;
}
