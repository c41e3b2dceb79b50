// SPDX-License-Identifier: MIT
// The processor's time-stamp counter before and after each translation (timing.h). The kernel's
// clock needs a system call, which evicts the translator's memory from the caches and, in a virtual
// machine of some hypervisors, its pages from the TLB: a block timed this way took 6.6 us, against
// 4.9 on average.
#include "engine/translate/timing.h"

#include "engine/base/sys.h"
#include "engine/spool/spooler.h"

#define CLOCK_MONOTONIC_RAW 4

// Longer than any translation: another process had the processor meanwhile, or a page was read from
// a disk. Such a translation counts with the mean of the others.
#define INTERRUPTED_NS 1000000u

#define SETTLED   1024u // the length of a tick is measured again after so many translations
#define RATE_BITS 16

static bool on;
static u64 ticks, timed, missed; // sum of ticks, of so many; those not timed
static u64 cost;                 // of the two readings themselves
static u64 rate;                 // ns of a tick, with RATE_BITS fraction bits
static u64 first_tick, first_ns;

static u64 read_tsc(void)
{
    u32 low, high;

    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high) : : "memory");
    return (u64)high << 32 | low;
}

static u64 now_ns(void)
{
    struct k_timespec ts = { 0, 0 };

    sys_clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
    return (u64)ts.sec * 1000000000u + (u64)ts.nsec;
}

static void settle_rate(void)
{
    u64 at = read_tsc() - first_tick, ns = now_ns() - first_ns;

    for (; ns >> (63 - RATE_BITS); ns >>= 1)
        at >>= 1;
    if (at)
        rate = (ns << RATE_BITS) / at;
}

static u64 in_ns(u64 n)
{
    return n * rate >> RATE_BITS;
}

void timing_init(void)
{
    u32 state = PR_TSC_ENABLE;

    sys_call5(SYS_prctl, PR_GET_TSC, (u64)&state, 0, 0, 0); // the parent may have disabled it
    on = (spool->flags & SPOOL_F_VERBOSE) && state == PR_TSC_ENABLE;
    ticks = timed = missed = 0;
    if (!on)
        return;
    first_ns = now_ns();
    first_tick = read_tsc();
    cost = ~0ul;
    for (u32 i = 0; i < 16; i++) {
        u64 from = read_tsc(), n = read_tsc() - from;

        cost = n < cost ? n : cost;
    }
}

u64 timing_begin(void)
{
    return on ? read_tsc() : 0;
}

void timing_end(u64 begin, bool made)
{
    u64 n, all;

    if (!begin || !on)
        return;
    n = read_tsc() - begin;
    if (!made)
        return;
    all = timed + missed + 1;
    if (!(all & (all - 1)) || all % SETTLED == 0)
        settle_rate();
    // The thread may have moved to a processor whose counter is behind.
    if (n > cost && in_ns(n) < INTERRUPTED_NS) {
        ticks += n - cost;
        timed++;
    } else {
        missed++;
    }
    spool->ns_translating = in_ns(ticks + (missed && timed ? ticks / timed * missed : 0));
}

void timing_forbidden(void)
{
    on = false;
}
