// SPDX-License-Identifier: MIT
// Each thread's table of indirect branch targets (ibl.h).
#include "engine/codecache/ibl.h"

#include "engine/base/sys.h"
#include "engine/codecache/stubs.h"
#include "engine/thread/threads.h"

void ibl_reset(struct thread *t)
{
    u64 *table = (u64 *)((u8 *)t->self + TA_IBL);

    sys_madvise((u64)table, TA_IBL_ENTRIES * 16, MADV_DONTNEED);
    // Entry 0 is the only one whose empty key (0) can match a target (0): it leads to the miss
    // path.
    table[1] = stubs_at(STUB_IBL_MISS);
}

void ibl_fill(struct thread *t, const struct fragment *f)
{
    u64 *e = (u64 *)((u8 *)t->self + TA_IBL) + ibl_index(f->pc) * 2;

    if (f->flags & (FRAGMENT_STEP | FRAGMENT_DEAD))
        return;
    // the thread itself writes; it is not in the lookup now
    e[0] = -f->pc;
    e[1] = f->hpc;
}

void ibl_forget(u64 pc)
{
    threads_lock();
    for (struct thread *t = threads_first(); t; t = t->next) {
        u64 *e = (u64 *)((u8 *)t->self + TA_IBL) + ibl_index(pc) * 2;

        if (e[0] == -pc) // the entry keeps its key
            __atomic_store_n(&e[1], stubs_at(STUB_IBL_MISS), __ATOMIC_RELEASE);
    }
    threads_unlock();
}
