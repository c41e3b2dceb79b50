// SPDX-License-Identifier: MIT
// Closing and opening the kernel's mask, the client's mask, and the signals that are noted or held
// back for a thread.
#ifndef QUERN_ENGINE_MASK_H
#define QUERN_ENGINE_MASK_H

#include "engine/signal/state.h"

// si_code instead of SI_USER, which the kernel lets nobody say to another thread.
#define MASK_GIVEN_AWAY (-0x7175656e)

// Closes the kernel's mask (all but the synchronous set), if it is not closed already. Nothing
// asynchronous arrives after it.
void mask_close(struct thread *t);
// To the client's.
void mask_open(struct thread *t);

// The client's mask changes (the kernel's follows). False: it does not, for something is noted that
// came before; natively it is delivered first. The call is to be made anew after the delivery:
// under the new mask the signal would stay with this thread, and be lost when that ends.
bool mask_set(struct thread *t, u64 mask);

// Before a system call that must see the client's own mask in the kernel (exec). The next thing
// that arrives is noted as always. False: something is noted, and the call must be given up (pc
// still at it) to be made anew after the delivery.
bool mask_restore_for_exec(struct thread *t);

// Before the exec of another engine: everything stays blocked, *mask is what the program is to
// start with. False as above.
bool mask_close_for_exec(struct thread *t, u64 *mask);

// After either of them, when the exec has failed or was given up.
void mask_exec_failed(struct thread *t);

// Something is noted, or it waits in the list of those that only the engine holds back, and the
// mask lets it in.
bool mask_is_due(const struct thread *t);

// The thread ends, and has said so (own->exiting): what it holds back for its process goes to
// another thread. Every signal is blocked when this returns.
void mask_pass_on(struct thread *t);

// The signals that only the engine holds back: for this thread, and for its process.
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
// kernel would have chosen one that does, or kept it for the first that will. False: it was not
// sent so, or there is no room for it, and this thread has to hold it.
bool mask_give_back(struct thread *t, const struct k_siginfo *info);
// Gives a noted signal back to the kernel, which keeps it until the mask lets it through.
void mask_requeue(struct thread *t, struct k_siginfo *info);

#endif
