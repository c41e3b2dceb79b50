// SPDX-License-Identifier: MIT
// Closes and opens the kernel's mask; the client's mask; the signals that are noted or held for a
// thread.
#ifndef QUERN_ENGINE_MASK_H
#define QUERN_ENGINE_MASK_H

#include "engine/signal/state.h"

// si_code in place of SI_USER, which the kernel refuses for another thread.
#define MASK_GIVEN_AWAY (-0x7175656e)

// Closes the kernel's mask (all but the synchronous set), if it is not closed already. Nothing
// asynchronous arrives after it.
void mask_close(struct thread *t);
// Sets it to the client's.
void mask_open(struct thread *t);

// Changes the client's mask, and the kernel's with it. False: unchanged, because a signal was noted
// before; natively it is delivered first. The system call is restarted after the delivery: under
// the new mask the signal would stay with this thread, and be lost when that exits.
bool mask_set(struct thread *t, u64 mask);

// Before a system call that needs the client's own mask in the kernel (exec). The next signal that
// arrives is noted as always. False: a signal is noted; the call must be abandoned (pc still at it)
// and restarted after the delivery.
bool mask_restore_for_exec(struct thread *t);

// Before the exec of another engine: everything stays blocked, *mask is the mask that the program
// starts with. False as above.
bool mask_close_for_exec(struct thread *t, u64 *mask);

// After either of them, when the exec has failed or was abandoned.
void mask_exec_failed(struct thread *t);

// A signal is noted, or one is held that the mask lets in.
bool mask_is_due(const struct thread *t);

// The thread exits, and own->exiting is set: the signals that it holds for its process go to
// another thread. Every signal is blocked when this returns.
void mask_pass_on(struct thread *t);

// The held signals: of this thread, and of its process.
u64 mask_held(const struct thread *t);
// A held signal that sigtimedwait(set) may take: its number (info stored), or 0.
int mask_take_held(struct thread *t, u64 set, struct k_siginfo *info);
// A held signal becomes the noted one; the mask is closed.
void mask_note_held(struct thread *t, const struct k_siginfo *info);

// Has another thread of t's process taken a signal that it has not delivered yet? An exec would
// lose it.
bool mask_any_noted(struct thread *t);

// For the handler and the delivery. @signal-safe
void mask_note(struct signal_state *s, struct signal_pending *p, const struct k_siginfo *info);
void mask_hold(struct signal_state *s, const struct k_siginfo *info);
// A signal that kill() sent to the process and that this thread does not let in: natively the
// kernel chooses a thread that does, or queues it for the first that will. False: it was sent
// otherwise, or the table is full, and this thread has to hold it.
bool mask_give_back(struct thread *t, const struct k_siginfo *info);
// Returns a noted signal to the kernel, which queues it until the mask lets it through.
void mask_requeue(struct thread *t, struct k_siginfo *info);

#endif
