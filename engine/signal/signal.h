// SPDX-License-Identifier: MIT
// The client's signals. The kernel owns mask, queue and routing; the engine owns the table of handlers that the client sees
// (kernel dispositions are a pure function of it, signal_table.c), the alternate stack, the frames (frame.c), and the way from
// an interrupted thread to a delivery (signal.c).
//
// Invariants
// - While client code runs, the kernel's mask is signal_state.mask without SIGNAL_NEVER_BLOCKED, and signal_state.blocked is false.
// - signal_state.blocked: the kernel blocks everything but the synchronous set. It implies SIGNAL_STOP in t->stop, so that
//   dispatch_run calls signal_deliver_pending(), which opens the mask again.
// - At most one asynchronous and one synchronous signal are noted in a thread: noting the first blocks the rest.
// - A handler leaves nothing behind on the engine's stacks: it may be left by longjmp.
#ifndef QUERN_ENGINE_SIGNAL_H
#define QUERN_ENGINE_SIGNAL_H

#include "engine/base/lock.h"
#include "engine/base/sys.h"
#include "engine/thread/thread.h"

// Bits of struct thread.stop. Set by atomic or, cleared by atomic and.
#define STOP_SIGNAL 1ul // something is noted or the mask is closed: signal_deliver_pending()
#define STOP_PARK   2ul // the world stops: threads_park()
#define STOP_YIELD \
    4ul // --serialize-threads: another thread waits for the turn: threads_park() sees to it

#define SIGNAL_COUNT      65
#define SIGNAL_POKE       33 // glibc's SIGSETXID: sent to single threads only, and hardly ever blocked
#define SIGNAL_POKE_MAGIC 0x51756e706f6b65ul // si_value of a poke, si_code SI_QUEUE or SI_TIMER

// Synchronous signals; never blocked in the kernel while any of our code runs.
#define SIGNAL_SYNC                                                                         \
    (SIGBIT(SIGSEGV) | SIGBIT(SIGBUS) | SIGBIT(SIGILL) | SIGBIT(SIGTRAP) | SIGBIT(SIGFPE) | \
     SIGBIT(SIGSYS))
// Never blocked in the kernel while client code runs.
#define SIGNAL_NEVER_BLOCKED (SIGNAL_SYNC | SIGBIT(SIGNAL_POKE))
#define SIGNAL_ALL_BUT_SYNC  (~SIGNAL_SYNC)

struct k_siginfo {
    s32 signo, err, code, pad0;
    union {
        struct {
            s32 pid;
            u32 uid;
            u64 value;
        };
        struct { // SIGILL, SIGFPE, SIGSEGV, SIGBUS, SIGTRAP
            u64 addr;
        };
        struct { // SI_TIMER
            s32 timer;
            s32 overrun;
            u64 timer_value;
        };
        u8 raw[112];
    };
};

struct k_stack {
    u64 sp;
    s32 flags;
    s32 pad;
    u64 size;
};

struct signal_pending {
    bool full;
    bool
        use_temp_mask; // a call like sigsuspend was interrupted: the handler's mask starts from temp_mask
    u64 trapno, err, cr2;
    struct k_siginfo info;
};

// The table of handlers of one CLONE_SIGHAND group.
struct signal_table {
    struct lock lock;
    u32 refs;
    struct k_sigaction act[SIGNAL_COUNT]; // as the client set them
};

#define SIGNAL_HELD_MAX 32

struct signal_state {
    u64 mask;     // the client's mask, all 64 bits
    bool blocked; // see above
    bool
        full_mask; // an exec was tried: the kernel's mask is the client's, SIGNAL_NEVER_BLOCKED included
    u64 temp_mask; // mask argument of the system call that is under way (sigsuspend, ppoll...)
    bool temp_mask_set;
    struct signal_pending async, sync;
    struct k_siginfo fatal; // of the last delivery: what the process dies of when it does
    struct k_stack alt;     // the client's alternate stack
    struct signal_table *table;
    u64 last_trapno, last_err,
        last_cr2; // of the client's last fault, as the kernel leaves them in later frames
    // Signals of SIGNAL_NEVER_BLOCKED that the client blocks and that were sent, not caused: held until it unblocks them.
    u32 held_count;
    struct k_siginfo held[SIGNAL_HELD_MAX];
};

// Blocks everything, takes the inherited mask from the spool, reads the dispositions, installs the engine's handler. Before any other thread or client
// code exists.
void signals_init(void);

// State for a new thread block: parent NULL for the first thread. Mask as the parent's, no alternate stack, its own reference
// to the table (table: share, else copy). The calling thread must be closed (signals_block).
void signals_thread_init(struct thread *t, struct thread *parent, bool share_table);
void signals_thread_fini(struct thread *t);

// To be called by the thread itself as soon as %gs is right: the alternate stack of the kernel.
void signals_thread_start(struct thread *t);

// Called by dispatch_run() while t->stop is set, in a loop: parks when the world stops, delivers what is noted and allowed, ends
// the process when the client has no handler, opens the mask. After it t->pc and t->regs are where the client goes on.
void signal_deliver_pending(struct thread *t);

// The client's instruction at t->pc faults (or traps): notes a synchronous signal, which the next dispatch_run delivers.
// SIGSEGV for a fetch: code 1 (unmapped) or 2 (not allowed), addr = first byte that cannot be fetched, trapno 14, err 0x14 or 0x15.
void signal_fault(struct thread *t, int sig, int code, u64 addr, u64 trapno, u64 err);

// Executes the one client instruction at t->pc in place, with the trap flag, and comes back through the handler to
// dispatch_run.
_Noreturn void signal_step(struct thread *t);

// Closes the kernel's mask (all but the synchronous set), if it is not closed already. Nothing asynchronous arrives after it.
void signals_block(struct thread *t);

// Before a system call that must see the client's own mask in the kernel (exec). The next thing that arrives is noted as always.
// False: something is noted, and the call must be given up (pc still at it) to be made anew after the delivery.
bool signals_restore_mask(struct thread *t);

// Before the exec of another engine: everything stays blocked, *mask is what the program is to start with. False as above.
bool signals_close_for_exec(struct thread *t, u64 *mask);

// After either of them, when the exec has failed or was given up.
void signals_exec_failed(struct thread *t);

// A system call may be restarted or must be given up before it has done anything: something is noted for delivery.
static inline bool signal_is_noted(const struct thread *t)
{
    return t->sig->async.full || t->sig->sync.full;
}

// The same, or it waits in the list of those that only the engine holds back, and the mask lets it in.
bool signal_is_due(const struct thread *t);

// The thread ends: what it holds back for its process goes to another thread.
void signals_pass_on(struct thread *t);

// The client's system calls (called by syscalls.c; same results as the kernel's).
long signal_sys_action(struct thread *t, int sig, u64 act, u64 old, u64 size);
long signal_sys_procmask(struct thread *t, int how, u64 set, u64 old, u64 size);
long signal_sys_altstack(struct thread *t, u64 ss, u64 old);
long signal_sys_pending(struct thread *t, u64 set, u64 size);
void signal_sys_return(struct thread *t); // rt_sigreturn: regs, pc, mask; FPU state
// A held signal becomes the noted one; the mask is closed.
void signal_note_held(struct thread *t, const struct k_siginfo *info);
// A held signal that sigtimedwait(set) may take: its number (info stored), or 0.
int signal_take_held(struct thread *t, u64 set, struct k_siginfo *info);

// vfork: the child works on a copy of the table while it borrows the parent's thread block.
struct signal_table *signal_table_copy(struct signal_table *from);
void signal_table_drop(struct signal_table *table);
void signal_table_reset(struct signal_table *table); // CLONE_CLEAR_SIGHAND: handlers become default

// Dies by this signal with its default action, now, without any profile: for processes that only borrow the memory.
_Noreturn void signal_die_natively(int sig);

// Whether dying of this signal leaves a core; dying of it with the client's registers, natively, when the profile is written.
bool signal_leaves_core(int sig);
_Noreturn void signal_die_as_client(struct thread *t, int sig);

// int $0x80: false when it was refused or done otherwise.
bool signal_int80_allowed(struct thread *t);

#endif
