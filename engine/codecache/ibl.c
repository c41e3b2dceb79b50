// SPDX-License-Identifier: MIT
// Each thread's table of indirect branch targets (ibl.h).
#include "engine/codecache/ibl.h"

#include "engine/base/sys.h"
#include "engine/codecache/stubs.h"
#include "engine/thread/threads.h"
#include "share/spool.h"

// The table of a slot's last thread is reused if no entry has been forgotten since: nobody removes
// entries from it. 20 page faults of a new thread's 33 came from its table.
static u64 forgotten = 1;
static bool filled[SPOOL_THREADS_MAX]; // a new slot's is empty, and on one large page with the rest
static u64 saved_at[SPOOL_THREADS_MAX]; // `forgotten` when the slot's last thread ended

static void empty(struct thread *t)
{
    u64 *table = (u64 *)((u8 *)t->self + TA_IBL);

    if (filled[t->slot])
        sys_madvise((u64)table, TA_IBL_ENTRIES * 16, MADV_DONTNEED);
    filled[t->slot] = true;
    // Entry 0 is the only one whose empty key (0) can match a target (0): it leads to the miss
    // path.
    table[1] = stubs_at(STUB_IBL_MISS);
    // The first thread of a short program touches most of its pages: to read, then to write.
    if (t->slot == 0)
        sys_populate((u64)table, TA_IBL_ENTRIES * 16);
}

void ibl_begin(struct thread *t)
{
    if (saved_at[t->slot] != forgotten)
        empty(t);
}

void ibl_end(struct thread *t)
{
    saved_at[t->slot] = forgotten;
}

void ibl_reset(struct thread *t)
{
    forgotten++;
    empty(t);
}

void ibl_fill(struct thread *t, const struct fragment *f)
{
    u64 *e = (u64 *)((u8 *)t->self + TA_IBL) + ibl_index(f->pc) * 2;

    if (f->flags & (FRAGMENT_STEP | FRAGMENT_DEAD))
        return;
    // the thread itself writes; it is not in a look-up now
    e[0] = -f->pc;
    e[1] = fragment_entry(f);
}

bool ibl_has(const struct thread *t, const struct fragment *f)
{
    return *((const u64 *)((const u8 *)t->self + TA_IBL) + ibl_index(f->pc) * 2) == -f->pc;
}

// The entry's key stays: a concurrent look-up finds the old host address or the new one.
static void redirect(u64 pc, u64 host)
{
    struct thread *t;
    u32 slot = 0;

    // also a new thread that has taken its slot's table over and is not in the list yet
    while ((t = threads_next_live(&slot))) {
        u64 *e = (u64 *)((u8 *)t + TA_IBL) + ibl_index(pc) * 2;

        if (e[0] == -pc)
            __atomic_store_n(&e[1], host, __ATOMIC_RELEASE);
    }
}

void ibl_move(const struct fragment *f)
{
    redirect(f->pc, fragment_entry(f));
}

void ibl_forget(u64 pc)
{
    forgotten++;
    redirect(pc, stubs_at(STUB_IBL_MISS));
}
