// SPDX-License-Identifier: MIT
// The start of the engine: from the kernel's entry to the client's first instruction. launch.S
// calls launch.c once.
#ifndef QUERN_ENGINE_LAUNCH_H
#define QUERN_ENGINE_LAUNCH_H

#include "engine/base/types.h"

// Exit status when the program cannot be executed, and when it is not found, as of shells.
#define LAUNCH_CANNOT   126
#define LAUNCH_NOTFOUND 127

// sp: the initial stack, at argc. The engine's own arguments are {name for AT_EXECFN or the
// engine's path, "SPOOL" or "SPOOL,PROGRAM" or "SPOOL,PROGRAM,OLD"}: descriptors of the spool, of
// the file to load (an ELF executable), and of a spool that this exec ends, to be removed. The
// client's arguments follow.
_Noreturn void launch_main(u64 *sp);

// Where not even the engine's variables can be mapped: prints a message, removes the spool, exits.
_Noreturn void launch_refused(const u64 *sp);

// launch.S
_Noreturn void launch_native(u64 rsp, u64 rip);

#endif
