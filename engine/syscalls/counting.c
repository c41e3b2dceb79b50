// SPDX-License-Identifier: MIT
// The switch of counting (counting.h). Every thread is in C or in a system call meanwhile, and no
// fragment of the other kind is left; so whoever asks tb_config is told of one kind only.
#include "engine/syscalls/counting.h"

#include "engine/base/mini.h"
#include "engine/codecache/tcache.h"
#include "engine/codecache/vmmap.h"
#include "engine/count/calls.h"
#include "engine/count/ticks.h"
#include "engine/replay/log.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/thread/world.h"

static void set(bool on)
{
    if (!tb_config.sink)
        tb_config.sink = spooler_counters(1);
    config_count(on);
    if (tb_config.defer)
        stubs_record(on);
}

void counting_init(void)
{
    if (spool->flags & SPOOL_F_NOT_AT_START)
        set(false);
}

// The calls that a thread has open begin with the function that it is in.
static void calls_begin(struct thread *t)
{
    struct vmmap_info stack;

    calls_thread_start(t);
    if (vmmap_find(t->regs[R_RSP], &stack))
        t->calls_end = stack.end;
}

static void each_thread(void (*what)(struct thread *t))
{
    for (struct thread *t = threads_first(); t; t = t->next)
        what(t);
}

void counting_switch(struct thread *t, bool on)
{
    world_stop(t);
    if (on != tb_config.counts) {
        log_drain_all(0);
        if (!on)
            each_thread(calls_thread_end);
        set(on);
        tcache_flush_all();
        log_flush();
        if (on)
            each_thread(calls_begin);
        if (spool->flags & SPOOL_F_VERBOSE)
            engine_msg("counting is switched %s", on ? "on" : "off");
    }
    world_resume(t);
}

// ---- Zero ----

// Counters that nobody has touched are holes of the file, and stay holes.
static void zero_slot(u32 slot)
{
    u64 *counters = (u64 *)(THREAD_AREA_BASE + slot * (u64)THREAD_AREA_STRIDE + TA_COUNTERS);
    u64 top = tb_config.calls ? counters[tb_config.calls_top] : 0;

    for (u64 i = 0; i < spool->counters_used; i++) {
        if (counters[i])
            counters[i] = 0;
    }
    calls_zero(counters, slot, top);
}

void counting_zero(struct thread *t)
{
    struct spool_partial *partial = (struct spool_partial *)(SPOOLER_BASE + SPOOL_PARTIAL_OFF);

    world_stop(t);
    log_drain_all(0);
    for (struct thread *u = threads_first(); u; u = u->next)
        ticks_keep(u);
    for (u32 slot = 0; slot < spool->threads_used; slot++) {
        if (spooler_slot_in_use(slot))
            zero_slot(slot);
    }
    calls_zero_left();
    for (u64 i = 0; i < spool->partial_used; i++)
        partial[i].count = 0;
    world_resume(t);
}
