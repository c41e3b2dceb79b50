// SPDX-License-Identifier: MIT
// Records and their buffers (log.h).
#include "engine/replay/log.h"

#include "engine/base/mini.h"
#include "engine/base/sys.h"
#include "engine/codecache/where.h"
#include "engine/count/caches.h"
#include "engine/replay/area.h"
#include "engine/replay/replay.h"
#include "engine/spool/config.h"
#include "engine/thread/threads.h"
#include "engine/thread/world.h"

static u64 begin_of(const struct thread *t)
{
    return (u64)t->self + TA_LOG;
}

static u64 end_of(const struct thread *t)
{
    return begin_of(t) + TA_LOG_SIZE;
}

// The turn goes from thread to thread, and with it the caches: what was recorded with them is
// replayed first.
static void turn(struct thread *t)
{
    struct thread *before = caches_holder();

    if (before && before != t)
        log_drain(before);
    caches_turn(t);
}

void log_init(void)
{
    if (!tb_config.defer)
        return;
    replay_init();
    world_on_turn = turn;
}

void log_thread_init(struct thread *t)
{
    t->log = begin_of(t);
    t->log_tail = NULL;
    if (!tb_config.defer)
        return;
    // The replay of a full buffer reads one word more.
    sys_mprotect(end_of(t), PAGE_SIZE, PROT_READ | PROT_WRITE);
    *(u64 *)end_of(t) = LOG_END;
    if (sys_mprotect(end_of(t), PAGE_SIZE, PROT_READ))
        engine_die("cannot protect the end of a thread's buffer");
}

bool log_has_room(void)
{
    return !tb_config.defer || area_has_room();
}

u32 log_next_id(void)
{
    return area_next_id();
}

void log_publish(const struct log_draft *d)
{
    replay_publish(d);
}

void log_flush(void)
{
    if (tb_config.defer)
        area_flush();
}

void log_drain(struct thread *t)
{
    u64 begin = begin_of(t), end = t->log;

    if (!tb_config.defer)
        return;
    t->log = begin;
    replay_run(t, (const u64 *)begin, (const u64 *)end);
}

void log_drain_all(s32 stopped)
{
    if (!tb_config.defer)
        return;
    threads_lock();
    for (struct thread *t = threads_first(); t; t = t->next) {
        u32 state = __atomic_load_n(&t->state, __ATOMIC_SEQ_CST);

        // Of those that are stopped one may come from a system call and look at its stop word now,
        // which makes it run for a moment. Of others, one that runs records.
        if (!stopped || thread_own(t)->tgid == stopped ||
            (state != TS_RUNNING && state != TS_HELPER))
            log_drain(t);
    }
    threads_unlock();
}

void log_edge(struct thread *t, u32 id, u32 k)
{
    if (!id || area_block(id)->tail != LOG_COND)
        return;
    if (t->log + 8 > end_of(t))
        log_drain(t);
    *(u64 *)t->log = k ? LOG_NOT_TAKEN : LOG_TAKEN;
    t->log += 8;
}

void log_left(struct thread *t, const struct where_left *left)
{
    u64 start = t->log;

    if (!left->open && !left->closed)
        return;
    if (left->closed)
        start -= area_block(left->log)->slots * 8ul;
    t->log = start;
    log_drain(t);
    t->log = begin_of(t);
    replay_part(t, (const u64 *)start, left->insn);
}

bool log_full(struct thread *t, u64 addr, u64 hpc, u64 *r11)
{
    u64 begin = begin_of(t), end = end_of(t), start = *r11, ahead = 0;
    struct where_left left;

    if (!tb_config.defer || addr - end >= LOG_RECORD_MAX * 8ul)
        return false;
    left = where_left(t, hpc);
    if (left.closed)
        ahead = area_block(left.log)->slots * 8ul;
    start -= ahead;
    t->log = start;
    log_drain(t);
    memcpy((void *)begin, (const void *)start, end - start); // what there is of the record
    t->log = *r11 = begin + ahead;
    return true;
}
