// SPDX-License-Identifier: MIT
// The signal state of processes and threads, at their start and exit (setup.h).
#include "engine/signal/setup.h"

#include "engine/base/heap.h"
#include "engine/base/nolibc.h"
#include "engine/signal/action.h"
#include "engine/signal/frame.h"
#include "engine/signal/handler.h"
#include "engine/spool/spooler.h"

static struct signal_table *initial_table;

static u64 initial_mask;

void setup_process(void)
{
    u64 all = SIGNAL_ALL_BUT_SYNC;

    sys_sigprocmask(SIG_SETMASK, &all, NULL);
    initial_mask = spool->start_mask;
    frame_init();
    action_init((u64)handler_entry, (u64)frame_restorer);
    initial_table = action_table_inherited();
}

void setup_thread(struct thread *t, struct thread *parent, bool share_table)
{
    struct signal_state *s = t->sig;

    if (!s)
        s = t->sig = heap_alloc(sizeof(*s));
    else
        memset(s, 0, sizeof(*s));
    if (!parent) {
        s->mask = initial_mask;
        s->table = initial_table;
    } else {
        s->mask = parent->sig->mask;
        s->alt.flags = 2; // SS_DISABLE
        if (share_table) {
            s->table = parent->sig->table;
            __atomic_fetch_add(&s->table->refs, 1, __ATOMIC_RELAXED);
        } else {
            s->table = action_table_copy(parent->sig->table);
        }
    }
    s->blocked = true;
    t->stop |= STOP_SIGNAL;
}

void setup_thread_end(struct thread *t)
{
    action_table_drop(t->sig->table);
    t->sig->table = NULL;
}

void setup_thread_start(struct thread *t)
{
    struct k_stack ss = { (u64)t + TA_SIGNAL_STACK + PAGE_SIZE, 0, 0,
                          TA_SIGNAL_STACK_TOP - TA_SIGNAL_STACK - PAGE_SIZE };
    long ret = sys_call2(SYS_sigaltstack, (u64)&ss, 0);

    if (ret)
        engine_die("cannot set the signal stack of thread %d: error %ld", t->tid, -ret);
}
