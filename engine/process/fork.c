// SPDX-License-Identifier: MIT
// The four kinds of clone (fork.h). In all of them the kernel gets the client's own flags and
// pointers; only the stack is replaced, and clone3's structure is a copy. Signals are blocked from
// before the call until the child's thread block is valid.
//
// Without CLONE_VM: the world is stopped, so no engine lock is held in the copy; the child makes
// its
//   own spool.
// CLONE_VM and CLONE_VFORK: the child runs in the parent's thread block and on its engine stack
//   while the parent waits in the kernel. The fields that the child changes are saved on the heap
//   and restored when the parent goes on.
//   DIFFERS: Valgrind makes it a fork, and counts for the child what it executes before its exec;
//   Quern counts that for the parent, whose memory and counters the child uses.
// CLONE_VM and CLONE_THREAD, or CLONE_VM alone: the child has its own thread block.

#include "engine/process/fork.h"

#include "engine/base/clientmem.h"
#include "engine/base/heap.h"
#include "engine/base/nolibc.h"
#include "engine/callgraph/calls.h"
#include "engine/codecache/gate.h"
#include "engine/codecache/tcache.h"
#include "engine/count/caches.h"
#include "engine/count/reftrace.h"
#include "engine/count/vtsc.h"
#include "engine/objects/many.h"
#include "engine/objects/mappings.h"
#include "engine/objects/objects.h"
#include "engine/process/bgfinish.h"
#include "engine/process/exit.h"
#include "engine/process/pretranslate.h"
#include "engine/process/rights.h"
#include "engine/process/seccomp.h"
#include "engine/process/threadstart.h"
#include "engine/replay/recordbuf.h"
#include "engine/replay/replayer.h"
#include "engine/signal/action.h"
#include "engine/signal/common.h"
#include "engine/signal/mask.h"
#include "engine/signal/setup.h"
#include "engine/spool/copy.h"
#include "engine/spool/fds.h"
#include "engine/spool/spooler.h"
#include "engine/thread/reentry.h"
#include "engine/thread/sampler.h"
#include "engine/thread/stopworld.h"
#include "engine/thread/stress.h"
#include "sim/branch.h"

// struct clone_args
enum {
    CA_FLAGS,
    CA_PIDFD,
    CA_CHILD_TID,
    CA_PARENT_TID,
    CA_EXIT_SIGNAL,
    CA_STACK,
    CA_STACK_SIZE,
    CA_TLS,
};
#define CLONE_ARGS_SIZE_VER0 64
#define CLONE_ARGS_MAX       4096 // the kernel's limit

// A call as the kernel gets it.
struct request {
    u64 flags;
    u64 stack;   // the child's stack pointer; 0: the parent's
    u64 args[6]; // number, rdi, rsi, rdx, r10, r8
    u64 *clone3; // copy of the client's structure, or NULL
    u64 clone3_size;
};

// The parent's state, restored after a child in a borrowed thread block.
struct vfork_save {
    struct thread thread;
    struct signal_state sig;
    struct thread_own own;
    struct calls_save calls;
    u64 flags; // of the call
    struct fds_saved fds;
    u8 clone3[CLONE_ARGS_MAX];
};

long fork_clone_thread(const u64 args[6]);
_Noreturn void fork_clone_borrow(const u64 args[6], struct thread *t);
_Noreturn void fork_thread_child(struct thread *t);
_Noreturn void fork_borrow_parent(struct thread *t, long ret);
_Noreturn void fork_borrow_child(struct thread *t);

void (*fork_on_child)(void);

static void clone3_copy_free(struct request *rq)
{
    heap_free(rq->clone3, CLONE_ARGS_MAX);
    rq->clone3 = NULL;
}

// base: lowest address of the child's stack; sp: its stack pointer. Both 0: the caller's stack.
static void set_stack(struct request *rq, u64 base, u64 sp)
{
    if (rq->clone3) {
        rq->clone3[CA_STACK] = base;
        rq->clone3[CA_STACK_SIZE] = sp - base;
    } else if (rq->args[0] == SYS_clone) {
        rq->args[2] = sp;
    }
}

static u64 fs_base(const struct thread *t, const struct request *rq)
{
    if (!(rq->flags & CLONE_SETTLS))
        return t->client_fs_base;
    return rq->clone3 ? rq->clone3[CA_TLS] : rq->args[5];
}

// In the child: drops the signals that the parent has noted.
static void forget_noted(struct thread *t)
{
    t->sig->async.full = false;
    t->sig->sync.full = false;
    t->sig->held_count = 0;
}

static void fork_copy(struct thread *t, struct request *rq)
{
    s32 parent = thread_own(t)->tgid;
    bool others = threads_count() > 1, profiled = threads_is_profiled(t);
    u64 ticks = t->vtsc_base;
    u64 seed = vtsc_random(t); // with one sequence, both processes would choose the same names
    u64 mask = 0, all = ~0ul;
    struct copy_fork copy;
    long ret;

    // The parent must not wait for its child with the world stopped: with other threads it does not
    // wait.
    if (others && (rq->flags & CLONE_VFORK)) {
        rq->flags &= ~(u64)CLONE_VFORK;
        if (rq->clone3)
            rq->clone3[CA_FLAGS] = rq->flags;
        else
            rq->args[1] = rq->flags;
    }
    if (others)
        stopworld_stop(t);
    mask_close(t);
    if (signal_is_noted(t)) {
        if (others)
            stopworld_resume(t);
        clone3_copy_free(rq);
        return;
    }
    recordbuf_drain_all(0);
    reftrace_flush();
    pretranslate_before_fork(t);
    caches_before_fork();
    if (profiled) // a borrower's child, for which the memory's owner cannot wait, is of no use
        bgfinish_before_fork();
    set_stack(rq, 0, 0);
    copy_fork_before(&copy, (rq->flags & CLONE_FILES) != 0);
    if ((spool->flags & (SPOOL_F_MERGE | SPOOL_F_CALLS)) ==
        SPOOL_F_MERGE) // the child's counters begin at 0, its time does not
        vtsc_before_clear(t);
    // Signals noted at the fork are the parent's. A signal to the child after the fork must arrive
    // after forget_noted(), even one that the engine never blocks otherwise (SIGSEGV by kill()).
    sys_sigprocmask(SIG_SETMASK, &all, &mask);
    ret = sys_call5((long)rq->args[0], rq->args[1], rq->args[2], rq->args[3], rq->args[4],
                    rq->args[5]);
    if (ret == 0) {
        t->random = seed;
        threads_fork_child(t);
        stopworld_fork_child(t);
        exit_fork_child(rq->clone3 ? rq->clone3[CA_EXIT_SIGNAL] : rq->args[1] & CSIGNAL);
        stress_start(t);
        sampler_start(t);
        forget_noted(t);
        common_forget(0);
        sys_sigprocmask(SIG_SETMASK, &mask, NULL);
        copy_fork_child(&copy, parent, (rq->flags & CLONE_FILES) != 0);
        tcache_fork_child();
        pretranslate_fork_child();
        bgfinish_fork_child();
        rights_fork_child(rq->flags);
        caches_fork_child();
        replayer_fork_child();
        reftrace_fork_child((rq->flags & CLONE_FILES) != 0);
        calls_fork_child(t);
        if (fork_on_child)
            fork_on_child();
        // a copy of a process that borrowed the memory: it has its own table anyway
        if (!profiled)
            thread_own(t)->borrowed = false;
        if (rq->flags & CLONE_CLEAR_SIGHAND)
            action_table_reset(t->sig->table);
        if (rq->stack)
            thread_set_sp(t, rq->stack);
        t->client_fs_base = fs_base(t, rq);
        ret = 0;
    } else {
        sys_sigprocmask(SIG_SETMASK, &mask, NULL);
        t->vtsc_base = ticks;
        copy_fork_parent(&copy, ret > 0);
        if (others)
            stopworld_resume(t);
    }
    clone3_copy_free(rq);
    gate_return(t, ret);
}

// ---- With its own thread block ----

_Noreturn void fork_thread_child(struct thread *t)
{
    threadstart_start(t);
    if (t->sc_args[0] & CLONE_CLEAR_SIGHAND)
        action_table_reset(t->sig->table);
    stopworld_turn_take(t);
    reentry_continue(t);
}

static void fork_thread(struct thread *t, struct request *rq)
{
    struct thread *c;
    u64 *top;
    long ret;

    mask_close(t);
    if (signal_is_noted(t)) {
        clone3_copy_free(rq);
        return;
    }
    c = threadstart_new(t);
    if (!c) {
        clone3_copy_free(rq);
        gate_return(t, -EAGAIN);
        return;
    }
    memcpy(c->regs, t->regs, sizeof(c->regs));
    c->rflags = t->rflags;
    c->sc_next = t->sc_next;
    c->client_gs = t->client_gs;
    c->client_gs_base = t->client_gs_base;
    c->client_fs_base = fs_base(t, rq);
    c->sc_args[0] = rq->flags;
    gate_return(c, 0);
    if (rq->stack)
        thread_set_sp(c, rq->stack);
    c->pc = c->sc_next;
    mappings_thread_stack(t, thread_sp(c));
    if (rq->flags & CLONE_SETTLS)
        mappings_tls(t, c->client_fs_base);
    objects_thread_init(c); // it comes after these
    many_thread_init(c);
    calls_thread_start(c);
    setup_thread(c, t, (rq->flags & CLONE_SIGHAND) != 0);
    seccomp_inherit(c, t);
    rights_inherit(c, t);
    threads_list_add(c);

    top = (u64 *)(c->engine_sp - 8);
    *top = (u64)c;
    set_stack(rq, (u64)c + TA_ENGINE_STACK + PAGE_SIZE, (u64)top);
    if (rq->flags & CLONE_VFORK)
        stopworld_blocking_begin(t);
    ret = fork_clone_thread(rq->args);
    if (rq->flags & CLONE_VFORK)
        stopworld_blocking_end(t);
    if (ret < 0)
        threadstart_abort(c);
    clone3_copy_free(rq);
    gate_return(t, ret);
}

// ---- In a borrowed thread block ----

_Noreturn void fork_borrow_child(struct thread *t)
{
    t->tid = sys_gettid();
    thread_own(t)->tgid = sys_getpid();
    thread_own(t)->stress = STRESS_OFF; // timers are the parent's
    thread_own(t)->sample_us = 0;
    if (t->sc_args[0] & CLONE_CLEAR_SIGHAND)
        action_table_reset(t->sig->table);
    if (t->sc_args[1])
        thread_set_sp(t, t->sc_args[1]);
    t->client_fs_base = t->sc_args[2];
    gate_return(t, 0);
    reentry_continue(t);
}

_Noreturn void fork_borrow_parent(struct thread *t, long ret)
{
    struct vfork_save *save = t->vfork;
    struct signal_table *table = t->sig->table;
    bool has_turn = thread_own(t)->has_turn;

    // The child may have died anywhere. t->next is not restored: the list may have changed.
    *t->sig = save->sig;
    if (!(save->flags & CLONE_FILES))
        fds_restore(&save->fds);
    t->tid = save->thread.tid;
    thread_own(t)->tgid = save->own.tgid;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    save->own.loans = thread_own(t)->loans;
    *thread_own(t) = save->own; // not borrowed any more
    thread_own(t)->has_turn = has_turn;
    __atomic_add_fetch(&thread_own(t)->loans, 1, __ATOMIC_SEQ_CST);
    if (table != t->sig->table)
        action_table_drop(table);
    memcpy(t->regs, save->thread.regs, sizeof(t->regs));
    t->rflags = save->thread.rflags;
    t->pc = save->thread.pc;
    t->sc_next = save->thread.sc_next;
    t->client_gs = save->thread.client_gs;
    t->client_gs_base = save->thread.client_gs_base;
    t->client_fs_base = save->thread.client_fs_base;
    recordbuf_drain(t); // records of a child that was killed: it has its own branch history
    t->hist = save->thread.hist;
    reftrace_history(t, t->hist >> SIM_BRANCH_ADDR_BITS);
    calls_borrow_end(t, &save->calls);
    t->escape_fragment = save->thread.escape_fragment;
    t->escape_delta = save->thread.escape_delta;
    t->sc_post = 0;
    t->own = save->thread.own;
    t->vfork = save->thread.vfork;
    heap_free(save, sizeof(*save));
    __atomic_exchange_n(&t->state, TS_ENGINE, __ATOMIC_SEQ_CST);
    __atomic_fetch_or(&t->stop, STOP_SIGNAL, __ATOMIC_SEQ_CST);
    gate_return(t, ret);
    reentry_continue(t);
}

static void fork_borrow(struct thread *t, struct request *rq)
{
    struct vfork_save *save;
    u64 args[6];

    mask_close(t);
    if (signal_is_noted(t)) {
        clone3_copy_free(rq);
        return;
    }
    recordbuf_drain(t); // makes the branch history current
    save = heap_alloc(sizeof(*save));
    save->thread = *t;
    save->sig = *t->sig;
    save->own = *thread_own(t);
    calls_borrow_begin(t, &save->calls);
    save->flags = rq->flags;
    fds_save(&save->fds);
    // From here until the parent's state is restored, tid and tgid may not match: whoever stops the
    // world must not take the thread for dead.
    thread_own(t)->borrowed = true;
    __atomic_add_fetch(&thread_own(t)->loans, 1, __ATOMIC_SEQ_CST);
    t->vfork = save;
    t->sc_args[0] = rq->flags;
    t->sc_args[1] = rq->stack;
    t->sc_args[2] = fs_base(t, rq);
    set_stack(rq, 0, 0);
    memcpy(args, rq->args, sizeof(args));
    // the parent's frames are overwritten: the kernel reads the copy in `save`, freed with it
    if (rq->clone3) {
        memcpy(save->clone3, rq->clone3, rq->clone3_size);
        args[1] = (u64)save->clone3;
        clone3_copy_free(rq);
    }
    if (!(rq->flags & CLONE_SIGHAND))
        t->sig->table = action_table_copy(t->sig->table);
    fork_clone_borrow(args, t);
}

// ---- The calls ----

static void fork_any(struct thread *t, struct request *rq)
{
    if (!(rq->flags & CLONE_VM))
        fork_copy(t, rq);
    else if ((rq->flags & CLONE_VFORK) && !(rq->flags & CLONE_THREAD))
        fork_borrow(t, rq);
    else
        fork_thread(t, rq);
}

void fork_sys_fork(struct thread *t)
{
    struct request rq = { SIGCHLD, 0, { SYS_clone, SIGCHLD }, NULL, 0 };

    fork_any(t, &rq);
}

void fork_sys_vfork(struct thread *t)
{
    u64 flags = CLONE_VM | CLONE_VFORK | SIGCHLD;
    struct request rq = { flags, 0, { SYS_clone, flags }, NULL, 0 };

    fork_any(t, &rq);
}

void fork_sys_clone(struct thread *t)
{
    u64 flags = thread_arg(t, 0), stack = thread_arg(t, 1);
    struct request rq = {
        (u32)flags,
        stack,
        { SYS_clone, flags, stack, thread_arg(t, 2), thread_arg(t, 3), thread_arg(t, 4) },
        NULL,
        0
    };

    fork_any(t, &rq);
}

void fork_sys_clone3(struct thread *t)
{
    u64 addr = thread_arg(t, 0), size = thread_arg(t, 1);
    struct request rq = { 0 };

    // The kernel's checks of the fields that are replaced.
    if (size > CLONE_ARGS_MAX) {
        gate_return(t, -E2BIG);
        return;
    }
    if (size < CLONE_ARGS_SIZE_VER0) {
        gate_return(t, -EINVAL);
        return;
    }
    rq.clone3 = heap_alloc(CLONE_ARGS_MAX);
    rq.clone3_size = size;
    if (clientmem_read(rq.clone3, addr, size)) {
        clone3_copy_free(&rq);
        gate_return(t, -EFAULT);
        return;
    }
    if ((rq.clone3[CA_STACK] == 0) != (rq.clone3[CA_STACK_SIZE] == 0)) {
        clone3_copy_free(&rq);
        gate_return(t, -EINVAL);
        return;
    }
    rq.flags = rq.clone3[CA_FLAGS];
    rq.stack = rq.clone3[CA_STACK] + rq.clone3[CA_STACK_SIZE];
    rq.args[0] = SYS_clone3;
    rq.args[1] = (u64)rq.clone3;
    rq.args[2] = size;
    fork_any(t, &rq);
}
