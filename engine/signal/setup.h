// SPDX-License-Identifier: MIT
// The signal state of a process and of its threads: made, and given back.
#ifndef QUERN_ENGINE_SETUP_H
#define QUERN_ENGINE_SETUP_H

#include "engine/signal/state.h"

// Blocks everything, takes the inherited mask from the spool, reads the dispositions, installs the
// engine's handler. Before any other thread or client code exists.
void setup_process(void);

// State for a new thread block: parent NULL for the first thread. Mask as the parent's, no
// alternate stack, its own reference to the table (table: share, else copy). The calling thread
// must be closed (mask_close).
void setup_thread(struct thread *t, struct thread *parent, bool share_table);
void setup_thread_end(struct thread *t);

// To be called by the thread itself as soon as %gs is right: the alternate stack of the kernel.
void setup_thread_start(struct thread *t);

#endif
