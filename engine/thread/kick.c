// SPDX-License-Identifier: MIT
// Timers that kick a thread of this process (kick.h).
#include "engine/thread/kick.h"

#include "engine/base/sys.h"
#include "engine/thread/stop.h"

#define SIGEV_THREAD_ID 4

long kick_create(const struct thread *t, u64 clock, u64 value, s32 *timer)
{
    struct {
        u64 value;
        s32 signo, notify, tid;
        s32 pad[11];
    } event = { value, STOP_KICK_SIGNAL, SIGEV_THREAD_ID, t->tid, { 0 } };

    return sys_call3(SYS_timer_create, clock, (u64)&event, (u64)timer);
}

void kick_arm(s32 timer, u64 us, bool again)
{
    struct {
        struct k_timespec interval, value;
    } when = { { 0, 0 }, { 0, 0 } };

    when.value.sec = (s64)(us / 1000000);
    when.value.nsec = (s64)(us % 1000000) * 1000;
    if (again)
        when.interval = when.value;
    sys_call4(SYS_timer_settime, (u64)timer, 0, (u64)&when, 0);
}
