// SPDX-License-Identifier: MIT
// Preempts the thread again and again, for tests (stress.h). The kernel looks at a thread's own
// processor time once a tick only, so shorter intervals take the wall clock: then every call is
// slow, and the timer rests while the client's call is made, for a poke would make a sleep begin
// anew for ever.
#include "engine/thread/stress.h"

#include "engine/base/sys.h"
#include "engine/spool/spooler.h"
#include "engine/thread/stop.h"
#include "engine/thread/threads.h"

#define STRESS_TICK_US          4000
#define CLOCK_THREAD_CPUTIME_ID 3
#define SIGEV_THREAD_ID         4

static bool stress_by_wall_clock(void)
{
    return spool->stress_us && spool->stress_us < STRESS_TICK_US;
}

static void stress_arm(struct thread *t, u64 us)
{
    struct {
        struct k_timespec interval, value;
    } when;

    when.interval.sec = (s64)(us / 1000000);
    when.interval.nsec = (s64)(us % 1000000) * 1000;
    when.value = when.interval;
    sys_call4(SYS_timer_settime, (u64)thread_own(t)->stress_timer, 0, (u64)&when, 0);
}

void stress_start(struct thread *t)
{
    struct {
        u64 value;
        s32 signo, notify, tid;
        s32 pad[11];
    } event = { STOP_POKE_MAGIC, STOP_POKE_SIGNAL, SIGEV_THREAD_ID, t->tid, { 0 } };
    u64 clock = stress_by_wall_clock() ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;

    thread_own(t)->stress = STRESS_OFF;
    if (!spool->stress_us ||
        sys_call3(SYS_timer_create, clock, (u64)&event, (u64)&thread_own(t)->stress_timer))
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
