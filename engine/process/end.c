// SPDX-License-Identifier: MIT
// The end of a thread and of a process (end.h).
#include "engine/process/end.h"

#include "engine/base/mini.h"
#include "engine/base/sys.h"
#include "engine/codecache/tcache.h"
#include "engine/count/caches.h"
#include "engine/count/calls.h"
#include "engine/count/reftrace.h"
#include "engine/process/clerk.h"
#include "engine/process/finish.h"
#include "engine/process/rights.h"
#include "engine/process/tracer.h"
#include "engine/replay/log.h"
#include "engine/replay/replayer.h"
#include "engine/signal/common.h"
#include "engine/signal/die.h"
#include "engine/signal/mask.h"
#include "engine/signal/setup.h"
#include "engine/spool/spooler.h"
#include "engine/thread/looks.h"
#include "engine/thread/loop.h"
#include "engine/thread/world.h"
#include "engine/translate/kept.h"

static bool exit_signal_is_own; // the parent is to get something other than SIGCHLD
static s32 leader_code = -1; // exit status of the main thread, when it has ended before the process

static _Noreturn void leave_kernel_thread(int code)
{
    for (;;)
        sys_call1(SYS_exit, (u64)code);
}

_Noreturn void end_thread(struct thread *t, int code)
{
    struct thread_own *own = thread_own(t);
    bool last = true, profiled = threads_is_profiled(t);

    mask_close(t);
    // A signal of the process that this thread was the one to take: nobody else gets it any more.
    // The call is made anew.
    if (mask_is_due(t))
        loop_continue(t);
    if (own->borrowed) // the parent goes on with this block
        leave_kernel_thread(code);
    rights_thread_ends(t);

    // Of two that leave at once, exactly one is the last.
    threads_lock();
    __atomic_store_n(&own->exiting, true, __ATOMIC_SEQ_CST);
    for (struct thread *u = threads_first(); u && last; u = u->next)
        last = thread_own(u)->tgid != own->tgid || thread_own(u)->exiting;
    if (profiled && t->tid == own->tgid)
        leader_code = code & 0xff;
    threads_unlock();
    if (last && profiled)
        end_process(t, SPOOL_END_EXIT, leader_code >= 0 ? leader_code : code & 0xff);

    // While it is in the list the world waits for this thread: what takes locks is done before it
    // goes.
    log_drain(t);
    calls_thread_end(t);
    caches_thread_fini(t); // with the turn, if there are turns
    world_turn_give(t);
    looks_end(t);
    tcache_thread_fini(t);
    mask_pass_on(t);
    setup_thread_end(t);
    threads_remove(t);
    world_left();
    // From here on the slot may be taken as soon as the kernel has forgotten this thread.
    threads_slot_dying(t);
    leave_kernel_thread(code);
}

_Noreturn void end_process(struct thread *t, u32 kind, int code)
{
    s32 tgid = thread_own(t)->tgid;
    bool stopped = true;
    s32 bound;

    mask_close(t);
    bound = threads_is_profiled(t) ? replayer_bound(t) : -1;
    log_drain(t);
    if (!threads_is_profiled(t)) {
        // A process that shares or borrows this memory: what it counted stays with the one it came
        // from.
        if (!thread_own(t)->borrowed)
            threads_remove_process(tgid);
        common_forget(tgid);
        world_turn_give(t);
        if (kind == SPOOL_END_SIGNAL)
            die_natively(code);
        sys_exit_group(code);
    }
    if (threads_count_of(tgid) > 1 || world_is_ending())
        stopped = world_stop_for_end(t);
    log_drain_all(stopped ? tgid : LOG_NONE_STOPPED);
    replayer_bound_over(bound);
    reftrace_ends();
    replayer_stop();
    clerk_stop();
    if (stopped && threads_count() == threads_count_of(tgid))
        kept_save();
    if ((kind == SPOOL_END_SIGNAL && die_leaves_core(code)) || tracer_is_there() ||
        exit_signal_is_own) {
        if (finish_in_child(kind, code)) {
            engine_msg("warning: the profile was not written");
            spooler_say_kept();
        }
        if (kind == SPOOL_END_SIGNAL)
            die_as_client(t, code);
        sys_exit_group(code);
    }
    finish_process(kind, code);
}

void end_fork_child(u64 exit_signal)
{
    exit_signal_is_own = exit_signal != SIGCHLD;
    leader_code = -1;
}
