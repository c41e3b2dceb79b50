// SPDX-License-Identifier: MIT
// The client's %gs: its selector and its base are kept in the thread block, while the processor's
// are the engine's: a null selector, which no change of a descriptor table touches, and the
// thread block as base. Here the two change places for one instruction, and follow the tables.
#ifndef QUERN_ENGINE_SELECTOR_H
#define QUERN_ENGINE_SELECTOR_H

#include "engine/thread/thread.h"

// The client's selector and base into %gs; and back, as they are then. Nothing in between may use
// %gs, no signal may come but those that the handler lets return.
void selector_client(struct thread *t);
void selector_engine(struct thread *t);

// The client loads a selector. False: the processor refuses it, and nothing has changed. What
// becomes of the base is the processor's to say; the number of a null selector, 0 to 3, stays
// readable: natively until the next interrupt, here for good.
bool selector_set(struct thread *t, u16 selector);

// The entry of the global table that the client's selector names has changed: as the kernel does,
// it is loaded anew, and is 0 where that fails. (Of the LDT's the kernel loads %ds and %es alone.)
void selector_again(struct thread *t);

#endif
