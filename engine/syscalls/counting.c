// SPDX-License-Identifier: MIT
// Switches counting (counting.h). During a switch every thread is in C or in a system call, and no
// fragment of the other kind is left: tb_config is right for all fragments.
#include "engine/syscalls/counting.h"

#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/callgraph/calls.h"
#include "engine/callgraph/contexts.h"
#include "engine/callgraph/functions.h"
#include "engine/codecache/tcache.h"
#include "engine/codecache/vmmap.h"
#include "engine/count/caches.h"
#include "engine/count/reftrace.h"
#include "engine/count/vtsc.h"
#include "engine/objects/lineuse.h"
#include "engine/objects/objtable.h"
#include "engine/objects/sharing.h"
#include "engine/process/finisher.h"
#include "engine/process/fork.h"
#include "engine/replay/recordbuf.h"
#include "engine/spool/config.h"
#include "engine/spool/copy.h"
#include "engine/spool/spooler.h"
#include "engine/thread/stopworld.h"

static void set(bool on)
{
    if (!tb_config.sink)
        tb_config.sink = spooler_counters(1);
    config_count(on);
    spool->control.counts = on;
    if (tb_config.recording)
        stubs_record(on);
}

// A thread's call stack starts with the function that it is in.
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
    stopworld_stop(t);
    if (on != tb_config.counts) {
        recordbuf_drain_all(0);
        if (!on)
            each_thread(calls_thread_end);
        set(on);
        tcache_flush_all();
        recordbuf_flush();
        if (spool->flags & SPOOL_F_CALLS) // as Callgrind does; Cachegrind does not
            caches_clear();
        if (on)
            each_thread(calls_begin);
        if (spool->flags & SPOOL_F_VERBOSE)
            engine_msg("counting is switched %s", on ? "on" : "off");
    }
    stopworld_resume(t);
}

// ---- Zero ----

// Untouched counters are holes of the file, and stay holes.
static void zero_counters(u64 *counters, u64 from, u64 to)
{
    for (; from < to; from++) {
        if (counters[from])
            counters[from] = 0;
    }
}

static void zero_slot(u32 slot)
{
    u64 *counters = slotmem_counters(slot);
    struct calls_kept kept = calls_keep(counters);
    u64 at = 0, first, end, owner = spool->owner ? counters[spool->owner] : 0;

    for (u32 i = 0; contexts_state(i, &first, &end); i++) {
        zero_counters(counters, at, first);
        at = end;
    }
    zero_counters(counters, at, spool->counters_used);
    if (owner)
        counters[spool->owner] = owner;
    calls_zero(counters, slot, kept);
}

// Number of executed blocks, from counters and accounts.
static u64 blocks_executed(void)
{
    u64 sum = 0;

    for (u32 slot = 0; slot < spool->threads_used; slot++) {
        u64 *counters = slotmem_counters(slot);
        const struct spool_block *b;

        if (!spooler_slot_in_use(slot))
            continue;
        for (u64 at = 0; at < spool->blocks_used;
             at += (sizeof(*b) + b->insns * sizeof(struct spool_insn) + 7) & ~7ul) {
            b = spooler_block_at((u32)(at / 8));
            sum += counters[b->counter] * (b->flags & SPOOL_B_SUM ? b->insns : 1u);
        }
        for (u32 i = 0; tb_config.contexts && i < spool->edges_used; i++)
            if (spooler_edge_at(i)->kind == SPOOL_EDGE_ACCOUNT)
                sum += counters[spooler_edge_at(i)->counter];
    }
    return sum;
}

static void zero(void)
{
    struct spool_partial *partial = (struct spool_partial *)(SPOOLER_BASE + SPOOL_PARTIAL_OFF);

    reftrace_zeroed();
    spool->n_blocks_gone += blocks_executed();
    for (struct thread *u = threads_first(); u; u = u->next)
        vtsc_before_clear(u);
    for (u32 slot = 0; slot < spool->threads_used; slot++) {
        if (spooler_slot_in_use(slot))
            zero_slot(slot);
    }
    calls_zero_left();
    if (tb_config.data) {
        objtable_zero();
        sharing_zero();
        lineuse_zero();
    }
    for (u64 i = 0; i < spool->partial_used; i++)
        partial[i].count = 0;
}

void counting_init(void)
{
    spool->control.counts = true;
    spool->control.hears = true;
    // The counts so far are in the parent's profile, and must be in the sum once.
    if ((spool->flags & SPOOL_F_MERGE) && (spool->flags & SPOOL_F_CALLS))
        fork_on_child = zero;
    functions_demangle = finisher_demangle;
    if (spool->flags & SPOOL_F_NOT_AT_START)
        set(false);
}

void counting_zero(struct thread *t)
{
    stopworld_stop(t);
    recordbuf_drain_all(0);
    zero();
    stopworld_resume(t);
}

// ---- Dumps ----

// The finisher has left the part's counts in the copy.
static void add_dumped(int fd)
{
    u64 part[SPOOL_DUMPED];

    if (sys_pread(fd, part, sizeof(part), offsetof(struct spool_header, dumped)) != sizeof(part))
        return;
    for (u32 i = 0; i < SPOOL_DUMPED; i++)
        spool->dumped[i] += part[i];
}

// The names of parts end in numbers, unless all parts go to one file.
static int dump(const char *why)
{
    const char *name = spooler_string(spool->s_output);
    char output[4096], desc[2048], path[4096];
    int fd, ret;

    if (spool->flags & SPOOL_F_COMBINE)
        nolibc_format(output, sizeof(output), "%s", name);
    else
        nolibc_format(output, sizeof(output), "%s.%u", name, spool->dumps + 1);
    nolibc_format(desc, sizeof(desc), "Trigger: %s", why);
    fd = copy_for_dump(output, desc, path, sizeof(path));
    if (fd < 0)
        return fd;
    ret = finisher_dump(fd);
    if (!ret)
        add_dumped(fd);
    sys_close(fd);
    if (ret)
        sys_unlink(path);
    return ret;
}

// If a part cannot be written, the next one has its counts.
int counting_dump(struct thread *t, const char *why)
{
    int ret;

    if ((spool->flags & SPOOL_F_STAT) || spooler_is_lost())
        return -EINVAL;
    stopworld_stop(t);
    recordbuf_drain_all(0);
    ret = dump(why);
    if (ret) {
        engine_msg("warning: part %u of the profile cannot be written: error %d", spool->dumps + 1,
                   -ret);
    } else {
        spool->dumps++;
        zero();
        spool->n_blocks_dumped = spool->n_blocks_gone;
    }
    stopworld_resume(t);
    return ret;
}
