// SPDX-License-Identifier: MIT
// Client calls that a signal cuts short without an error: they return a partial result where they
// would have gone on or waited without the signal (a write to a full pipe, io_uring_enter, recv
// with MSG_WAITALL). If the signal is the engine's, the call is made again for the rest, in parts,
// and the results are added. A signal of the client ends the parts as it would have ended the call.
#ifndef QUERN_ENGINE_INTERRUPTED_H
#define QUERN_ENGINE_INTERRUPTED_H

#include "engine/thread/threads.h"

// A part has ended (thread_cut.result, .broken). After the first part, the client's call, t->regs
// are those of the call. True: t->regs become those of the next part. False: there is none.
bool interrupted_next(struct thread *t);

// The call's result: the sum of all parts. t->regs are those of the client's call.
s64 interrupted_result(struct thread *t);

#endif
