// SPDX-License-Identifier: MIT
// Times of system calls (systime.h).
#include "engine/syscalls/systime.h"

#include "engine/base/sys.h"
#include "engine/callgraph/calls.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/thread/threads.h"

#define NS          1000000000l
#define SYSCALL_LEN 2

static void now(u64 clock, s64 at[2])
{
    sys_call2(SYS_clock_gettime, clock, (u64)at);
}

static u64 since(u64 clock, const s64 from[2])
{
    s64 at[2];

    now(clock, at);
    return (u64)((at[0] - from[0]) * NS + at[1] - from[1]);
}

static bool is_on(void)
{
    return tb_config.calls && (tb_config.flags & SPOOL_F_SYSTIME);
}

void systime_begin(struct thread *t)
{
    struct thread_own *own = thread_own(t);

    if (!is_on())
        return;
    now(CLOCK_MONOTONIC, own->called);
    if (tb_config.flags & SPOOL_F_SYSCPU)
        now(CLOCK_THREAD_CPUTIME_ID, own->called_cpu);
}

void systime_end(struct thread *t)
{
    struct thread_own *own = thread_own(t);
    u64 time, cpu = 0;

    if (!is_on() || !own->called[0])
        return;
    if (tb_config.flags & SPOOL_F_SYSCPU)
        cpu = since(CLOCK_THREAD_CPUTIME_ID, own->called_cpu);
    time = since(CLOCK_MONOTONIC, own->called);
    own->called[0] = 0;
    calls_syscall(t, t->pc - SYSCALL_LEN, time / spool->systime_unit, cpu / spool->systime_unit);
}
