// SPDX-License-Identifier: MIT
// The signal state of a thread of the client. The kernel owns mask, queue and routing; the engine
// owns the table of handlers that the client sees (kernel dispositions are a pure function of it,
// action.c), the alternate stack, the frames (frame.c), and the path from an interrupted thread
// (handler.c) to a delivery (deliver.c). A signal is noted when the handler has recorded it for
// delivery, and held when the client blocks it and the kernel does not.
//
// Invariants
// - While client code runs, the kernel's mask is signal_state.mask without SIGNAL_NEVER_BLOCKED,
//   and signal_state.blocked is false.
// - signal_state.blocked: the kernel blocks everything but the synchronous set. It implies
//   STOP_SIGNAL in t->stop, so that the dispatcher calls deliver_pending(), which opens the mask
//   again.
// - At most one asynchronous and one synchronous signal are noted in a thread: noting the first
//   blocks the rest.
// - A client's handler has no state on the engine's stacks: it may be left by longjmp.
// - Of nested handlers of the engine only the outermost changes where the thread continues and with
//   which mask: the others return to a handler.
#ifndef QUERN_ENGINE_SIGNAL_STATE_H
#define QUERN_ENGINE_SIGNAL_STATE_H

#include "engine/base/lock.h"
#include "engine/base/sys.h"
#include "engine/thread/stop.h"

#define SIGNAL_COUNT 65

// Synchronous signals; never blocked in the kernel while engine code runs.
#define SIGNAL_SYNC                                                                         \
    (SIGBIT(SIGSEGV) | SIGBIT(SIGBUS) | SIGBIT(SIGILL) | SIGBIT(SIGTRAP) | SIGBIT(SIGFPE) | \
     SIGBIT(SIGSYS))
// Never blocked in the kernel while client code runs.
#define SIGNAL_NEVER_BLOCKED (SIGNAL_SYNC | SIGBIT(STOP_KICK_SIGNAL))
#define SIGNAL_ALL_BUT_SYNC  (~SIGNAL_SYNC)

struct signal_pending {
    bool full;
    // A call like sigsuspend was interrupted: the handler's mask starts from temp_mask.
    bool use_temp_mask;
    u64 trapno, err, cr2;
    struct k_siginfo info;
};

// The table of handlers of one CLONE_SIGHAND group.
struct signal_table {
    struct lock lock;
    u32 refs;
    struct k_sigaction act[SIGNAL_COUNT]; // as the client set them
};

#define SIGNAL_HELD_MAX   32
#define SIGNAL_NESTED_MAX 6 // the number of signals in SIGNAL_SYNC

struct signal_state {
    u64 mask;     // the client's mask, all 64 bits
    bool blocked; // see above
    // An exec was tried: the kernel's mask is the client's, including SIGNAL_NEVER_BLOCKED.
    bool full_mask;
    u64 temp_mask; // mask argument of the current system call (sigsuspend, ppoll...)
    bool temp_mask_set;
    u64 awaited; // the set of the current sigtimedwait, or 0
    struct signal_pending async, sync;
    struct k_siginfo fatal; // of the last delivery: what the process dies of, if it does
    struct k_stack alt;     // the client's alternate stack
    struct signal_table *table;
    // Of the client's last fault, as the kernel leaves them in later frames.
    u64 last_trapno, last_err, last_cr2;
    // Signals of SIGNAL_NEVER_BLOCKED that were sent (not caused) while the client blocks them:
    // held until it unblocks them.
    u32 held_count;
    struct k_siginfo held[SIGNAL_HELD_MAX];
    // Signals of SIGNAL_SYNC that were sent while a handler of the engine ran: it handles them at
    // its end. Each number once.
    u32 nested_count;
    struct k_siginfo nested[SIGNAL_NESTED_MAX];
};

// A signal is noted for delivery: a system call that has done nothing yet must be abandoned.
static inline bool signal_is_noted(const struct thread *t)
{
    return t->sig->async.full || t->sig->sync.full;
}

#endif
