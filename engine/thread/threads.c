// SPDX-License-Identifier: MIT
// Threads (threads.h): their areas and slots, and the list.
//
// Invariants
// - An area is used again only when the kernel no longer knows the thread that lived there: the
//   exiting thread runs its last instructions on its engine stack.

#include "engine/thread/threads.h"

#include "engine/base/heap.h"
#include "engine/base/limits.h"
#include "engine/base/mini.h"
#include "engine/base/pages.h"
#include "engine/spool/spooler.h"

enum slot_state { SLOT_UNUSED, SLOT_FREE, SLOT_LIVE, SLOT_DYING, SLOT_COUNTERS };

static struct lock list_lock;
static struct thread *list;
static u32 count;
static struct thread_own owns[SPOOL_THREADS_MAX];
static u8 slots[SPOOL_THREADS_MAX]; // enum slot_state
static u32 slots_high;              // slots ever used

static s32 profiled_pid;

void threads_lock(void)
{
    lock_take(&list_lock);
}

void threads_unlock(void)
{
    lock_drop(&list_lock);
}

u32 threads_count(void)
{
    return __atomic_load_n(&count, __ATOMIC_RELAXED);
}

struct thread *threads_first(void)
{
    return list;
}

u64 threads_area_end(void)
{
    return (u64)thread_at_slot(slots_high ? slots_high : 1);
}

struct thread *thread_of_address(u64 addr)
{
    struct thread *t;

    if (addr < THREAD_AREA_BASE || addr >= threads_area_end())
        return NULL;
    t = thread_at_slot((u32)((addr - THREAD_AREA_BASE) / THREAD_AREA_STRIDE));
    return (u64)addr - (u64)t < TA_COUNTERS ? t : NULL;
}

bool threads_is_profiled(const struct thread *t)
{
    return thread_own(t)->tgid == profiled_pid;
}

// ---- Areas ----

#define LOG_PART(i)                                                                      \
    {                                                                                    \
        TA_LOG + (i)*TA_LOG_STRIDE, TA_LOG + (i)*TA_LOG_STRIDE + TA_LOG_SIZE + PAGE_SIZE \
    }
_Static_assert(TA_LOGS == 4 && TA_LOG + TA_LOGS * TA_LOG_STRIDE <= TA_REPLAY, "room for buffers");

static const struct {
    u64 start, end;
} area_parts[] = {
    { 0, TA_ENGINE_STACK },
    { TA_ENGINE_STACK + PAGE_SIZE, TA_ENGINE_STACK_TOP },
    { TA_SIGNAL_STACK + PAGE_SIZE, TA_SIGNAL_STACK_TOP },
    LOG_PART(0),
    LOG_PART(1),
    LOG_PART(2),
    LOG_PART(3),
    { TA_REPLAY, TA_REPLAY_END },
    { TA_D1, TA_D1 + TA_D1_SIZE },
};

// Memory for a slot that has not been used yet, zeroed. 0 or -errno.
static long area_make(u32 slot)
{
    u64 base = (u64)thread_at_slot(slot);
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    long ret = limits_mmap(base, TA_COUNTERS, PROT_NONE, flags, -1, 0);

    if (sys_failed(ret))
        return ret;
    if (ret != (long)base) { // a kernel that does not know FIXED_NOREPLACE took it for a hint
        sys_munmap((u64)ret, TA_COUNTERS);
        return -EEXIST;
    }
    for (u32 i = 0; i < ARRAY_SIZE(area_parts); i++) {
        u64 start = base + area_parts[i].start, len = area_parts[i].end - area_parts[i].start;

        ret = sys_mprotect(start, len, PROT_READ | PROT_WRITE);
        if (ret)
            return ret;
    }
    // Of a thread beside others less is touched.
    if (slot == 0)
        pages_huge(base, TA_ENGINE_STACK);
    return 0;
}

// On the heap, and of use to the slot's next thread.
struct kept {
    struct sim_state *sim;
    struct signal_state *sig;
    u64 *misses;
};

// Finds a slot and makes it live; -errno when there is none. @holds(list_lock)
static long slot_take(struct kept *kept)
{
    long ret;

    for (u32 i = 0; i < slots_high; i++) {
        if (slots[i] == SLOT_DYING && sys_tgkill(owns[i].tgid, owns[i].dying_tid, 0) == -ESRCH)
            slots[i] = SLOT_FREE;
        if (slots[i] != SLOT_FREE)
            continue;
        kept->sim = thread_at_slot(i)->sim;
        kept->sig = thread_at_slot(i)->sig;
        kept->misses = thread_at_slot(i)->misses;
        // The block alone: tables are emptied by those who fill them, and pages that are there need
        // no fault (of 33 for each new thread 13 remain).
        memset(thread_at_slot(i), 0, sizeof(struct thread));
        slots[i] = SLOT_LIVE;
        return i;
    }
    while (slots_high < SPOOL_THREADS_MAX) {
        u32 i = slots_high;

        ret = area_make(i);
        if (ret == -EEXIST) { // the kernel has put something of the client's there
            slots_high++;
            continue;
        }
        if (ret)
            return ret;
        slots_high++;
        slots[i] = SLOT_LIVE;
        return i;
    }
    return -EAGAIN;
}

// @holds(list_lock)
static void list_remove(struct thread *t)
{
    struct thread **at;

    for (at = &list; *at && *at != t; at = &(*at)->next)
        ;
    if (*at) {
        *at = t->next;
        __atomic_store_n(&count, count - 1, __ATOMIC_RELAXED);
    }
}

struct thread *threads_new(struct thread *parent)
{
    struct kept kept = { NULL, NULL, NULL };
    struct thread *t;
    long slot;

    lock_take(&list_lock);
    slot = slot_take(&kept);
    lock_drop(&list_lock);
    if (slot < 0)
        return NULL;
    t = thread_at_slot((u32)slot);
    t->sim = kept.sim;
    t->sig = kept.sig;
    t->self = t;
    t->slot = (u32)slot;
    t->counters = (u64 *)((u64)t + TA_COUNTERS);
    t->misses = kept.misses ? kept.misses : t->counters;
    t->engine_sp = (u64)t + TA_ENGINE_STACK_TOP - 64;
    t->state = TS_ENGINE;
    t->own = &owns[slot];
    memset(&owns[slot], 0, sizeof(owns[slot]));
    owns[slot].tgid = parent ? thread_own(parent)->tgid : sys_getpid();
    if (spooler_thread_slot(t->slot)) {
        threads_free(t);
        return NULL;
    }
    return t;
}

void threads_more_counters(struct thread *t)
{
    struct kept none;
    long slot;

    if (t->misses != t->counters)
        return;
    lock_take(&list_lock);
    slot = slot_take(&none);
    if (slot >= 0)
        slots[slot] = SLOT_COUNTERS;
    lock_drop(&list_lock);
    if (slot >= 0 && !spooler_thread_slot((u32)slot))
        t->misses = (u64 *)((u64)thread_at_slot((u32)slot) + TA_COUNTERS);
}

void threads_free(struct thread *t)
{
    lock_take(&list_lock);
    list_remove(t);
    slots[t->slot] = SLOT_FREE;
    lock_drop(&list_lock);
}

void threads_list_add(struct thread *t)
{
    lock_take(&list_lock);
    t->next = list;
    list = t;
    __atomic_store_n(&count, count + 1, __ATOMIC_RELAXED);
    if (spool->threads_used < (u64)t->slot + 1)
        spool->threads_used = (u64)t->slot + 1;
    lock_drop(&list_lock);
}

void threads_remove(struct thread *t)
{
    thread_own(t)->dying_tid = t->tid;
    lock_take(&list_lock);
    list_remove(t);
    t->state = TS_DEAD;
    lock_drop(&list_lock);
}

void threads_remove_process(s32 tgid)
{
    lock_take(&list_lock);
    for (struct thread *u = list, *next; u; u = next) {
        next = u->next;
        if (thread_own(u)->tgid == tgid) {
            list_remove(u);
            u->state = TS_DEAD;
            thread_own(u)->dying_tid = u->tid;
            slots[u->slot] = SLOT_DYING;
        }
    }
    lock_drop(&list_lock);
}

bool threads_is_gone(const struct thread *t)
{
    const struct thread_own *own = thread_own(t);
    u32 loans = __atomic_load_n(&own->loans, __ATOMIC_SEQ_CST);
    bool borrowed = __atomic_load_n(&own->borrowed, __ATOMIC_SEQ_CST);
    s32 tid = __atomic_load_n(&t->tid, __ATOMIC_SEQ_CST);
    s32 tgid = __atomic_load_n(&own->tgid, __ATOMIC_SEQ_CST);

    return tid && !borrowed && sys_tgkill(tgid, tid, 0) == -ESRCH &&
           __atomic_load_n(&own->loans, __ATOMIC_SEQ_CST) == loans;
}

void threads_remove_gone(struct thread *t)
{
    list_remove(t);
    slots[t->slot] = SLOT_FREE;
}

void threads_slot_dying(struct thread *t)
{
    __atomic_store_n(&slots[t->slot], SLOT_DYING, __ATOMIC_SEQ_CST);
}

u32 threads_count_of(s32 tgid)
{
    u32 n = 0;

    lock_take(&list_lock);
    for (struct thread *u = list; u; u = u->next)
        n += thread_own(u)->tgid == tgid;
    lock_drop(&list_lock);
    return n;
}

struct thread *threads_next_live(u32 *slot)
{
    while (*slot < slots_high) {
        u32 i = (*slot)++;

        if (__atomic_load_n(&slots[i], __ATOMIC_RELAXED) == SLOT_LIVE)
            return thread_at_slot(i);
    }
    return NULL;
}

void threads_fork_child(struct thread *t)
{
    profiled_pid = sys_getpid();
    for (struct thread *u = list; u; u = u->next)
        if (u != t)
            slots[u->slot] = SLOT_FREE;
    for (u32 i = 0; i < slots_high; i++)
        if (slots[i] == SLOT_DYING)
            slots[i] = SLOT_FREE;
    list = t;
    t->next = NULL;
    count = 1;
    list_lock.w = 0;
    t->tid = sys_gettid();
    thread_own(t)->tgid = profiled_pid;
}

void threads_set_profiled(s32 pid)
{
    profiled_pid = pid;
}
