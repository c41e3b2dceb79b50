// SPDX-License-Identifier: MIT
// Makes and releases the signal state of a process and of its threads.
#ifndef QUERN_ENGINE_SETUP_H
#define QUERN_ENGINE_SETUP_H

#include "engine/signal/state.h"

// Blocks everything, takes the inherited mask from the spool, reads the dispositions, installs the
// engine's handler. Before any other thread or client code exists.
void setup_process(void);

// State for a new thread block: parent NULL for the first thread. The parent's mask, no alternate
// stack, a reference to the parent's table or (!share_table) a copy. The mask of the calling thread
// must be closed (mask_close).
void setup_thread(struct thread *t, struct thread *parent, bool share_table);
void setup_thread_end(struct thread *t);

// Sets the kernel's alternate stack. The thread itself calls it as soon as %gs is valid.
void setup_thread_start(struct thread *t);

#endif
