// SPDX-License-Identifier: MIT
// Client calls that a signal cuts short without a word: they come back with what they have done, as
// if that had been all, where without the signal they would have gone on or waited (a write to a
// full pipe, io_uring_enter, recv with MSG_WAITALL). When the signal is the engine's, the call is
// made again for the rest, in parts, and what they do is added up. A signal of the client's ends
// that as it would have ended the call.
#ifndef QUERN_ENGINE_INTERRUPTED_H
#define QUERN_ENGINE_INTERRUPTED_H

#include "engine/thread/threads.h"

// A part is over (thread_cut.result, .broken); of the first, the client's call, t->regs are as it
// was made. True: t->regs become those of the next part. False: there is none.
bool interrupted_next(struct thread *t);

// What all parts have done is the call's result; t->regs are as it was made.
s64 interrupted_result(struct thread *t);

#endif
