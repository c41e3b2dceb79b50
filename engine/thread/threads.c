// SPDX-License-Identifier: MIT
// Threads (threads.h): their areas and slots, and the list.
//
// Invariants
// - An area is reused only when the kernel no longer knows its thread: the exiting thread runs its
//   last instructions on its engine stack.

#include "engine/thread/threads.h"

#include "engine/base/heap.h"
#include "engine/base/limits.h"
#include "engine/base/nolibc.h"
#include "engine/base/pages.h"
#include "engine/spool/spooler.h"

// TAKEN: a mapping of the client is there.
enum slot_state { SLOT_TAKEN, SLOT_FREE, SLOT_LIVE, SLOT_DYING, SLOT_COUNTERS };

static struct lock list_lock;
static struct thread *list;
static u32 count;
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
    u32 first = slots_high < SPOOL_THREADS_FIXED ? slots_high : SPOOL_THREADS_FIXED;

    return THREAD_AREA_BASE + (first ? first : 1) * (u64)THREAD_AREA_STRIDE;
}

struct thread *threads_of_address(u64 addr)
{
    u64 offset;
    u32 slot = slotmem_slot_of(addr, &offset);

    return slot < (slots_high ? slots_high : 1) && offset < TA_COUNTERS ? thread_at_slot(slot)
                                                                        : NULL;
}

bool threads_is_profiled(const struct thread *t)
{
    return thread_own(t)->tgid == profiled_pid;
}

// ---- Areas ----

#define LOG_PART(i)                                                        \
    {                                                                      \
        TA_RECORDS + (i)*TA_RECORD_STRIDE,                                 \
            TA_RECORDS + (i)*TA_RECORD_STRIDE + TA_RECORD_SIZE + PAGE_SIZE \
    }
_Static_assert(TA_RECORD_BUFFERS == 4 && TA_LL_PIECES_END <= TA_RECORDS &&
                   TA_D1 + TA_D1_SIZE <= TA_RECORDS && TA_RECORDS_END <= TA_COUNTERS,
               "space for buffers");

static const struct {
    u64 start, end;
} area_parts[] = {
    { 0, TA_ENGINE_STACK },
    { TA_ENGINE_STACK + PAGE_SIZE, TA_ENGINE_STACK_TOP },
    { TA_SIGNAL_STACK + PAGE_SIZE, TA_SIGNAL_STACK_TOP },
    { TA_REPLAY, TA_REPLAY_END },
    { TA_D1, TA_D1 + TA_D1_SIZE },
    LOG_PART(0),
    LOG_PART(1),
    LOG_PART(2),
    LOG_PART(3),
};

// The gaps between these, as guard regions (MADV_GUARD_INSTALL) of one mapping.
static const struct {
    u64 start, end;
} area_guards[] = {
    { TA_ENGINE_STACK, TA_ENGINE_STACK + PAGE_SIZE },
    { TA_SIGNAL_STACK, TA_SIGNAL_STACK + PAGE_SIZE },
    { TA_RECORDS + TA_RECORD_SIZE, TA_RECORDS + TA_RECORD_STRIDE },
    { TA_RECORDS + TA_RECORD_STRIDE + TA_RECORD_SIZE, TA_RECORDS + 2 * TA_RECORD_STRIDE },
    { TA_RECORDS + 2 * TA_RECORD_STRIDE + TA_RECORD_SIZE, TA_RECORDS + 3 * TA_RECORD_STRIDE },
    { TA_RECORDS + 3 * TA_RECORD_STRIDE + TA_RECORD_SIZE, TA_RECORDS_END },
};

// The first areas are 16 mappings each: guard pages have no access, and record buffers are not
// copied for a forked child. A process may have 65,530 mappings (vm.max_map_count), and 2,400 such
// areas use them up. So further areas are one mapping each, where the kernel has guard regions
// (Linux 6.13).
#define SLOTS_OF_PARTS 32u
static enum { GUARDS_UNKNOWN, GUARDS_THERE, GUARDS_NONE } guards;

static bool slot_has_guards(u32 slot)
{
    return slot >= SLOTS_OF_PARTS && guards == GUARDS_THERE;
}

bool threads_has_guards(const struct thread *t)
{
    return slot_has_guards(t->slot);
}

static long area_protect(u64 base)
{
    long ret = 0;

    for (u32 i = 0; i < ARRAY_SIZE(area_parts) && !ret; i++)
        ret = sys_mprotect(base + area_parts[i].start, area_parts[i].end - area_parts[i].start,
                           PROT_READ | PROT_WRITE);
    return ret;
}

static long area_guard(u64 base)
{
    long ret = sys_mprotect(base, TA_COUNTERS, PROT_READ | PROT_WRITE);

    for (u32 i = 0; i < ARRAY_SIZE(area_guards) && !ret; i++)
        ret = sys_madvise(base + area_guards[i].start, area_guards[i].end - area_guards[i].start,
                          MADV_GUARD_INSTALL);
    return ret;
}

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
    if (slot >= SLOTS_OF_PARTS && guards == GUARDS_UNKNOWN)
        guards = sys_madvise(base, PAGE_SIZE, MADV_GUARD_INSTALL) ||
                         sys_madvise(base, PAGE_SIZE, MADV_GUARD_REMOVE)
                     ? GUARDS_NONE
                     : GUARDS_THERE;
    ret = slot_has_guards(slot) ? area_guard(base) : area_protect(base);
    if (ret) {
        sys_munmap(base, TA_COUNTERS);
        return ret;
    }
    // Further threads touch less of their areas.
    if (slot == 0)
        pages_huge(base, TA_ENGINE_STACK);
    return 0;
}

// On the heap; the slot's next thread reuses them.
struct reused {
    struct sim_state *sim;
    struct signal_state *sig;
    u64 *misses;
};

static struct thread_own *own_at(u32 slot)
{
    return (struct thread_own *)((u64)thread_at_slot(slot) + TA_OWN);
}
_Static_assert(sizeof(struct thread) <= TA_OWN && TA_OWN + sizeof(struct thread_own) <= PAGE_SIZE,
               "on one page");

static bool slot_is_free(u32 slot)
{
    if (slots[slot] == SLOT_DYING &&
        sys_tgkill(own_at(slot)->tgid, own_at(slot)->dying_tid, 0) == -ESRCH)
        slots[slot] = SLOT_FREE;
    return slots[slot] == SLOT_FREE;
}

// Makes a slot that has not been used before; -errno. @holds(list_lock)
static long slot_new(u32 places)
{
    while (slots_high < places) {
        u32 i = slots_high;
        long ret = area_make(i);

        if (ret && ret != -EEXIST)
            return ret;
        slots[i] = ret ? SLOT_TAKEN : SLOT_LIVE;
        slots_high++;
        if (!ret)
            return i;
    }
    return -ENOSPC;
}

// Finds a slot and makes it live. -errno when there is none; -ENOSPC: there are no addresses for
// one. @holds(list_lock)
static long slot_take(struct reused *reused)
{
    for (u32 i = 0; i < slots_high; i++) {
        if (!slot_is_free(i))
            continue;
        reused->sim = thread_at_slot(i)->sim;
        reused->sig = thread_at_slot(i)->sig;
        reused->misses = thread_at_slot(i)->misses;
        // Only the block: whoever fills a table clears it first, and pages that are present do not
        // fault (13 faults remain of 33 for each new thread).
        memset(thread_at_slot(i), 0, sizeof(struct thread));
        slots[i] = SLOT_LIVE;
        return i;
    }
    return slot_new(slotmem_count());
}

// @holds(list_lock)
static void list_remove(struct thread *t)
{
    if (list != t && !t->before)
        return;
    if (t->before)
        t->before->next = t->next;
    else
        list = t->next;
    if (t->next)
        t->next->before = t->before;
    t->before = NULL;
    __atomic_store_n(&count, count - 1, __ATOMIC_RELAXED);
}

// A live slot with its counters; -errno when there is none.
static long slot_with_counters(struct reused *reused)
{
    for (;;) {
        u32 places = slotmem_count();
        long slot, ret;

        lock_take(&list_lock);
        slot = slot_take(reused);
        lock_drop(&list_lock);
        if (slot == -ENOSPC && slotmem_more(places))
            continue;
        if (slot < 0)
            return slot;
        ret = spooler_thread_slot((u32)slot);
        if (!ret)
            return slot;
        lock_take(&list_lock);
        slots[slot] = ret == -EEXIST ? SLOT_TAKEN : SLOT_FREE;
        lock_drop(&list_lock);
        if (ret != -EEXIST)
            return ret;
    }
}

struct thread *threads_new(struct thread *parent)
{
    struct reused reused = { NULL, NULL, NULL };
    long slot = slot_with_counters(&reused);
    struct thread *t;

    if (slot < 0)
        return NULL;
    t = thread_at_slot((u32)slot);
    t->sim = reused.sim;
    t->sig = reused.sig;
    t->self = t;
    t->slot = (u32)slot;
    t->counters = slotmem_counters(t->slot);
    t->misses = reused.misses ? reused.misses : t->counters;
    t->engine_sp = (u64)t + TA_ENGINE_STACK_TOP - 64;
    t->state = TS_ENGINE;
    t->own = own_at(t->slot);
    memset(t->own, 0, sizeof(*t->own));
    t->own->tgid = parent ? thread_own(parent)->tgid : sys_getpid();
    return t;
}

// Takes a slot that has not been used before: the thread of a reused slot had second counters, too.
void threads_more_counters(struct thread *t)
{
    long slot;

    if (t->misses != t->counters)
        return;
    lock_take(&list_lock);
    slot = slot_new(SPOOL_THREADS_FIXED);
    if (slot >= 0)
        slots[slot] = SLOT_COUNTERS;
    lock_drop(&list_lock);
    if (slot >= 0 && !spooler_thread_slot((u32)slot))
        t->misses = slotmem_counters((u32)slot);
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
    t->before = NULL;
    if (list)
        list->before = t;
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
    t->next = t->before = NULL;
    count = 1;
    list_lock.w = 0;
    t->tid = sys_gettid();
    thread_own(t)->tgid = profiled_pid;
}

void threads_set_profiled(s32 pid)
{
    profiled_pid = pid;
}
