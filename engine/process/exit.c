// SPDX-License-Identifier: MIT
// The end of a thread and of a process (exit.h).
#include "engine/process/exit.h"

#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/callgraph/calls.h"
#include "engine/codecache/tcache.h"
#include "engine/count/caches.h"
#include "engine/count/reftrace.h"
#include "engine/process/bgfinish.h"
#include "engine/process/finisher.h"
#include "engine/process/rights.h"
#include "engine/process/tracer.h"
#include "engine/replay/recordbuf.h"
#include "engine/replay/replayer.h"
#include "engine/signal/common.h"
#include "engine/signal/die.h"
#include "engine/signal/mask.h"
#include "engine/signal/setup.h"
#include "engine/spool/spooler.h"
#include "engine/thread/reentry.h"
#include "engine/thread/sampler.h"
#include "engine/thread/stopworld.h"
#include "engine/translate/pcache.h"

static bool exit_signal_is_own; // the parent gets another signal than SIGCHLD
static s32 leader_code = -1;    // exit status of the main thread if it ended before the process

static _Noreturn void leave_kernel_thread(int code)
{
    for (;;)
        sys_call1(SYS_exit, (u64)code);
}

_Noreturn void exit_thread(struct thread *t, int code)
{
    struct thread_own *own = thread_own(t);
    bool last = true, profiled = threads_is_profiled(t);

    mask_close(t);
    // This thread took a signal of the process, and no other thread will get it: deliver it, then
    // repeat the call.
    if (mask_is_due(t))
        reentry_continue(t);
    if (own->borrowed) // the parent goes on with this block
        leave_kernel_thread(code);
    rights_thread_ends(t);

    // If two threads exit at once, exactly one is the last.
    threads_lock();
    __atomic_store_n(&own->exiting, true, __ATOMIC_SEQ_CST);
    for (struct thread *u = threads_first(); u && last; u = u->next)
        last = thread_own(u)->tgid != own->tgid || thread_own(u)->exiting;
    if (profiled && t->tid == own->tgid)
        leader_code = code & 0xff;
    threads_unlock();
    if (last && profiled)
        exit_process(t, SPOOL_END_EXIT, leader_code >= 0 ? leader_code : code & 0xff);

    // Whoever stops the world waits for this thread while it is in the list: everything that takes
    // locks is done before the thread leaves the list.
    recordbuf_drain(t);
    calls_thread_end(t);
    caches_thread_fini(t); // with the turn, if there are turns
    stopworld_turn_give(t);
    sampler_end(t);
    tcache_thread_fini(t);
    mask_pass_on(t);
    setup_thread_end(t);
    threads_remove(t);
    stopworld_left();
    // From here on another thread may take the slot once the kernel has forgotten this one.
    threads_slot_dying(t);
    leave_kernel_thread(code);
}

_Noreturn void exit_process(struct thread *t, u32 kind, int code)
{
    s32 tgid = thread_own(t)->tgid;
    bool stopped = true;
    s32 bound;

    mask_close(t);
    bound = threads_is_profiled(t) ? replayer_bound(t) : -1;
    recordbuf_drain(t);
    if (!threads_is_profiled(t)) {
        // A process that shares or borrows this memory: its counts stay with the process that it
        // came from.
        if (!thread_own(t)->borrowed)
            threads_remove_process(tgid);
        common_forget(tgid);
        stopworld_turn_give(t);
        if (kind == SPOOL_END_SIGNAL)
            die_natively(code);
        sys_exit_group(code);
    }
    if (threads_count_of(tgid) > 1 || stopworld_is_ending())
        stopped = stopworld_stop_for_end(t);
    recordbuf_drain_all(stopped ? tgid : RECORDBUF_NONE_STOPPED);
    replayer_bound_over(bound);
    reftrace_ends();
    replayer_stop();
    bgfinish_stop();
    if (stopped && threads_count() == threads_count_of(tgid))
        pcache_save();
    if ((kind == SPOOL_END_SIGNAL && die_leaves_core(code)) || tracer_is_there() ||
        exit_signal_is_own) {
        if (finisher_in_child(kind, code)) {
            engine_msg("warning: the profile was not written");
            spooler_say_held();
        }
        if (kind == SPOOL_END_SIGNAL)
            die_as_client(t, code);
        sys_exit_group(code);
    }
    finisher_process(kind, code);
}

void exit_fork_child(u64 exit_signal)
{
    exit_signal_is_own = exit_signal != SIGCHLD;
    leader_code = -1;
}
