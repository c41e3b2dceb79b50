// SPDX-License-Identifier: MIT
// A futex lock for engine data. Never held while client code or a client's system call runs, and
// never taken by a signal handler: an asynchronous signal in engine code is only noted. The order
// of the engine's locks is in engine/README.md; those of heap.c and spooler.c are leaves.
#ifndef QUERN_ENGINE_LOCK_H
#define QUERN_ENGINE_LOCK_H

#include "engine/base/sys.h"

// 0: free, 1: taken, 2: taken and perhaps waited for
struct lock {
    u32 w;
};

static inline bool lock_try(struct lock *l)
{
    u32 seen = 0;

    return __atomic_compare_exchange_n(&l->w, &seen, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

// The same, where a lock is held for less time than going to sleep and waking takes.
static inline bool lock_try_again(struct lock *l, u32 times)
{
    for (u32 i = 0; i < times; i++) {
        if (!__atomic_load_n(&l->w, __ATOMIC_RELAXED) && lock_try(l))
            return true;
        __builtin_ia32_pause();
    }
    return false;
}

static inline void lock_take(struct lock *l)
{
    u32 seen = 0;

    if (LIKELY(__atomic_compare_exchange_n(&l->w, &seen, 1, false, __ATOMIC_ACQUIRE,
                                           __ATOMIC_RELAXED)))
        return;
    while (__atomic_exchange_n(&l->w, 2, __ATOMIC_ACQUIRE) != 0)
        sys_futex(&l->w, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 2, NULL);
}

// False: the time was over.
static inline bool lock_take_within(struct lock *l, const struct k_timespec *time)
{
    if (lock_try(l))
        return true;
    while (__atomic_exchange_n(&l->w, 2, __ATOMIC_ACQUIRE) != 0)
        if (sys_futex(&l->w, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 2, time) == -ETIMEDOUT)
            return false;
    return true;
}

// Of a lock whose holder may have been killed, where is_orphan (NULL: it cannot) then says so: it
// is free, and what it guards is as the holder left it.
static inline void lock_take_of_dead(struct lock *l, bool (*is_orphan)(void))
{
    const struct k_timespec check = { 0, 100000000 }; // between two questions

    while (!lock_take_within(l, &check))
        if (is_orphan && is_orphan())
            __atomic_store_n(&l->w, 0, __ATOMIC_RELAXED);
}

static inline void lock_drop(struct lock *l)
{
    if (__atomic_exchange_n(&l->w, 0, __ATOMIC_RELEASE) == 2)
        sys_futex(&l->w, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL);
}

#endif
