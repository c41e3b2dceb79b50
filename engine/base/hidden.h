// SPDX-License-Identifier: MIT
// mk/engine.mk includes it before every engine file: all declarations are hidden, not only
// definitions as with -fvisibility. Otherwise the compiler accesses symbols of other files through
// a table of addresses, and at such high addresses the linker cannot shorten every access. It is
// never popped: the engine has no foreign declarations.
#ifndef QUERN_ENGINE_HIDDEN_H
#define QUERN_ENGINE_HIDDEN_H

#pragma GCC visibility push(hidden)

#endif
