// SPDX-License-Identifier: MIT
// The system call gate, seen from C (gate.h). Its code is in stubs.S.
#include "engine/codecache/gate.h"

#include "engine/base/nolibc.h"
#include "engine/codecache/stubs.h"
#include "engine/spool/spooler.h"
#include "engine/thread/reentry.h"
#include "engine/thread/stopworld.h"
#include "engine/thread/stress.h"

bool gate_all_slow;

static u8 slow[GATE_CALLS];

void gate_init(const u8 table[GATE_CALLS])
{
    memcpy(slow, table, sizeof(slow));
    if ((spool->flags & (SPOOL_F_SERIALIZE | SPOOL_F_SYSTIME)) || spool->stress_us) {
        memset(slow, GATE_SLOW, sizeof(slow));
        gate_all_slow = true;
    }
}

void gate_thread_init(struct thread *t)
{
    memcpy((u8 *)t + TA_SLOW_TABLE, slow, sizeof(slow));
}

void gate_make_all_slow(void)
{
    memset(slow, GATE_SLOW, sizeof(slow));
    gate_all_slow = true;
    threads_lock();
    for (struct thread *t = threads_first(); t; t = t->next)
        memset((u8 *)t + TA_SLOW_TABLE, GATE_SLOW, GATE_CALLS);
    threads_unlock();
}

void gate_return(struct thread *t, long ret)
{
    t->regs[R_RAX] = (u64)ret;
    t->regs[R_RCX] = t->sc_next;
    t->regs[11] = t->rflags;
    t->pc = t->sc_next;
}

static _Noreturn void enter(struct thread *t)
{
    t->sc_cont = stubs_at(STUB_SYSCALL_DONE);
    reentry_enter(stubs_at(STUB_GATE_FROM_C));
}

static void put_args(u64 *r, const u64 args[6])
{
    r[R_RDI] = args[0];
    r[R_RSI] = args[1];
    r[R_RDX] = args[2];
    r[10] = args[3];
    r[8] = args[4];
    r[9] = args[5];
}

_Noreturn void gate_call(struct thread *t, const u64 args[6])
{
    u64 *r = t->regs;
    const u64 own[6] = { r[R_RDI], r[R_RSI], r[R_RDX], r[10], r[8], r[9] };

    memcpy(t->sc_args, own, sizeof(own));
    if (args)
        put_args(r, args);
    t->sc_args[6] = 1;
    t->sc_post = t->regs[R_RAX] + 1;
    stopworld_turn_give(t);
    stress_pause(t);
    enter(t);
}

_Noreturn void gate_restart(struct thread *t)
{
    stopworld_turn_give(t);
    enter(t); // the fragment's continuation may be gone
}

void gate_args_restore(struct thread *t)
{
    put_args(t->regs, t->sc_args);
    t->sc_args[6] = 0;
    t->sc_post = 0;
}
