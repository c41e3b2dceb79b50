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
    thread_own(t)->sample_us = 0;
    if (!tb_config.watch ||
        kick_create(t, CLOCK_THREAD_CPUTIME_ID, STOP_SAMPLE_MAGIC, &thread_own(t)->sample_timer))
        return;
    thread_own(t)->sample_us = FIRST_US;
    kick_arm(thread_own(t)->sample_timer, FIRST_US, false);
}

void sampler_next(struct thread *t)
{
    struct thread_own *o = thread_own(t);

    if (!o->sample_us)
        return;
    o->sample_us = o->sample_us < LAST_US ? o->sample_us * 3 / 2 : o->sample_us;
    kick_arm(o->sample_timer, o->sample_us, false);
}

void sampler_end(struct thread *t)
{
    if (thread_own(t)->sample_us)
        sys_call1(SYS_timer_delete, (u64)thread_own(t)->sample_timer);
    thread_own(t)->sample_us = 0;
}
