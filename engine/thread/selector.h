// SPDX-License-Identifier: MIT
// The client's %gs. Its selector and base are stored in the thread block; the processor holds the
// engine's: a null selector, which no change of a descriptor table affects, and the thread block as
// base. Here the two are swapped for one instruction, and updated when the tables change.
#ifndef QUERN_ENGINE_SELECTOR_H
#define QUERN_ENGINE_SELECTOR_H

#include "engine/thread/thread.h"

// Loads the client's selector and base into %gs; saves them and restores the engine's. Code in
// between must not use %gs, and no signal may arrive but those that the handler returns from.
void selector_client(struct thread *t);
void selector_engine(struct thread *t);

// The client loads a selector. False: the processor refuses it, and nothing is changed. The
// processor determines the new base. The number of a null selector, 0 to 3, stays readable:
// natively until the next interrupt, here until the next load.
bool selector_set(struct thread *t, u16 selector);

// The GDT entry that the client's selector names has changed: reloads it, as the kernel does; it is
// 0 where that fails. (For the LDT the kernel reloads only %ds and %es.)
void selector_reload(struct thread *t);

#endif
