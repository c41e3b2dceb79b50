// SPDX-License-Identifier: MIT
// A timer for each thread on its own processor time (sampler.h): it interrupts a system call only
// while the kernel executes it, so it interrupts few.
#include "engine/thread/sampler.h"

#include "engine/base/sys.h"
#include "engine/spool/config.h"
#include "engine/thread/kick.h"
#include "engine/thread/stop.h"
#include "engine/thread/threads.h"

#define FIRST_US 10000u
#define LAST_US  4000000u // a longer interval could miss a phase of the program

void sampler_start(struct thread *t)
{
    thread_own(t)->look_us = 0;
    if (!tb_config.watch ||
        kick_create(t, CLOCK_THREAD_CPUTIME_ID, STOP_LOOK_MAGIC, &thread_own(t)->look_timer))
        return;
    thread_own(t)->look_us = FIRST_US;
    kick_arm(thread_own(t)->look_timer, FIRST_US, false);
}

void sampler_next(struct thread *t)
{
    struct thread_own *o = thread_own(t);

    if (!o->look_us)
        return;
    o->look_us = o->look_us < LAST_US ? o->look_us * 3 / 2 : o->look_us;
    kick_arm(o->look_timer, o->look_us, false);
}

void sampler_end(struct thread *t)
{
    if (thread_own(t)->look_us)
        sys_call1(SYS_timer_delete, (u64)thread_own(t)->look_timer);
    thread_own(t)->look_us = 0;
}
