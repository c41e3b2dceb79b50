// SPDX-License-Identifier: MIT
// Signals of a process that no thread lets in yet (common.h).
//
// Invariants
// - A thread that writes or takes the contents of an entry has set its state from FREE or FULL to
//   BUSY. There is no lock, because handlers call this.
#include "engine/signal/common.h"

#include "engine/base/nolibc.h"

#define ENTRIES 64

enum { FREE, BUSY, FULL };

static struct entry {
    u32 state;
    s32 tgid;
    struct k_siginfo info;
} table[ENTRIES];

static u32 used;      // entries that are not free: mostly 0, and then nobody searches the table
static bool was_used; // an entry was used at some time

static bool turn(struct entry *p, u32 from, u32 to)
{
    return __atomic_compare_exchange_n(&p->state, &from, to, false, __ATOMIC_SEQ_CST,
                                       __ATOMIC_SEQ_CST);
}

static void clear(struct entry *p)
{
    __atomic_store_n(&p->state, FREE, __ATOMIC_SEQ_CST);
    __atomic_fetch_sub(&used, 1, __ATOMIC_SEQ_CST);
}

static bool is_of(const struct entry *p, s32 tgid, u64 set)
{
    return __atomic_load_n(&p->state, __ATOMIC_SEQ_CST) == FULL && p->tgid == tgid &&
           (SIGBIT(p->info.signo) & set);
}

bool common_put(s32 tgid, const struct k_siginfo *info)
{
    if (info->signo < SIGRTMIN && (common_pending(tgid) & SIGBIT(info->signo)))
        return true;
    __atomic_store_n(&was_used, true, __ATOMIC_SEQ_CST);
    for (struct entry *p = table; p < table + ENTRIES; p++) {
        if (!turn(p, FREE, BUSY))
            continue;
        p->tgid = tgid;
        p->info = *info;
        __atomic_fetch_add(&used, 1, __ATOMIC_SEQ_CST);
        __atomic_store_n(&p->state, FULL, __ATOMIC_SEQ_CST);
        return true;
    }
    return false;
}

// As the kernel: the lowest number first.
static struct entry *lowest(s32 tgid, u64 set)
{
    struct entry *best = NULL;

    for (struct entry *p = table; p < table + ENTRIES; p++)
        if (is_of(p, tgid, set) && (!best || p->info.signo < best->info.signo))
            best = p;
    return best;
}

int common_take(s32 tgid, u64 set, struct k_siginfo *info)
{
    if (!__atomic_load_n(&used, __ATOMIC_SEQ_CST))
        return 0;
    for (struct entry *p; (p = lowest(tgid, set));) {
        if (!turn(p, FULL, BUSY))
            continue;
        if (p->tgid != tgid || !(SIGBIT(p->info.signo) & set)) { // a different signal by now
            __atomic_store_n(&p->state, FULL, __ATOMIC_SEQ_CST);
            continue;
        }
        *info = p->info;
        clear(p);
        return info->signo;
    }
    return 0;
}

u64 common_pending(s32 tgid)
{
    u64 pending = 0;

    if (!__atomic_load_n(&used, __ATOMIC_SEQ_CST))
        return 0;
    for (struct entry *p = table; p < table + ENTRIES; p++)
        if (is_of(p, tgid, ~0ul))
            pending |= SIGBIT(p->info.signo);
    return pending;
}

void common_forget(s32 tgid)
{
    if (!__atomic_load_n(&was_used, __ATOMIC_SEQ_CST)) // a child then does not touch the table
        return;
    for (struct entry *p = table; p < table + ENTRIES; p++) {
        if (!tgid)
            p->state = FREE;
        else if (is_of(p, tgid, ~0ul) && turn(p, FULL, BUSY))
            clear(p);
    }
    if (!tgid)
        used = 0;
}
