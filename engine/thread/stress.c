// SPDX-License-Identifier: MIT
// Preempts the thread again and again, for tests (stress.h). The kernel checks a thread's own
// processor time once a tick only, so shorter intervals use the wall clock. Then every system call
// is slow, and the timer is off during the client's call: a kick would restart a sleep forever.
#include "engine/thread/stress.h"

#include "engine/base/sys.h"
#include "engine/spool/spooler.h"
#include "engine/thread/kick.h"
#include "engine/thread/stop.h"
#include "engine/thread/threads.h"

#define STRESS_TICK_US 4000

static bool stress_by_wall_clock(void)
{
    return spool->stress_us && spool->stress_us < STRESS_TICK_US;
}

static void stress_arm(struct thread *t, u64 us)
{
    kick_arm(thread_own(t)->stress_timer, us, true);
}

void stress_start(struct thread *t)
{
    u64 clock = stress_by_wall_clock() ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;

    thread_own(t)->stress = STRESS_OFF;
    if (!spool->stress_us || kick_create(t, clock, STOP_KICK_MAGIC, &thread_own(t)->stress_timer))
        return;
    thread_own(t)->stress = STRESS_RUNS;
    stress_arm(t, spool->stress_us);
}

void stress_pause(struct thread *t)
{
    if (thread_own(t)->stress != STRESS_RUNS || !stress_by_wall_clock())
        return;
    thread_own(t)->stress = STRESS_PAUSED;
    stress_arm(t, 0);
}

void stress_resume(struct thread *t)
{
    if (thread_own(t)->stress != STRESS_PAUSED)
        return;
    thread_own(t)->stress = STRESS_RUNS;
    stress_arm(t, spool->stress_us);
}
