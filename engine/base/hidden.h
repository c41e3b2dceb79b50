// SPDX-License-Identifier: MIT
// Included before every engine file by mk/engine.mk: all declarations are hidden, not only
// definitions as by -fvisibility. Otherwise the compiler reaches the other files' symbols by a
// table of addresses, and the linker cannot shorten every such access so far up in the address
// space. Nothing pops it: there is nothing in the engine that is not the engine's.
#ifndef QUERN_ENGINE_HIDDEN_H
#define QUERN_ENGINE_HIDDEN_H

#pragma GCC visibility push(hidden)

#endif
