// SPDX-License-Identifier: MIT
// Hands a profiled process that ends over to the finisher, `quern --finish FD`. Cold.
#ifndef QUERN_ENGINE_FINISHER_H
#define QUERN_ENGINE_FINISHER_H

#include "engine/base/types.h"

// The process ends: kind is an enum spool_end, code the exit status or signal. Marks the spool as
// ended and executes the finisher in this process, with the environment of the start. All other
// threads are gone or stopped for good (exec ends them). If the finisher cannot be executed, prints
// a message, leaves the spool, and ends the process as the client would have ended.
_Noreturn void finisher_process(u32 kind, s32 code);

// Writes the profile of the counts so far, as of a process that ended like this. Runs the finisher
// in a child process and waits for it: before the profiled process execs natively, and where the
// process itself must exist until the end. 0, or -errno when the profile was not written; then the
// spool still exists. No other thread counts meanwhile.
int finisher_in_child(u32 kind, s32 code);

// The same for a copy of the spool (copy_for_dump), which is already marked; this process goes on
// afterwards. The world is stopped.
int finisher_dump(int fd);

// Demangles names, each with its NUL, by `quern --demangle FD` in a child: the functions' names in
// the profile, in the same order and form; empty where the name is unchanged. Returns the
// descriptor of a memory file with the names, or -errno.
long finisher_demangle(const char *names, u64 bytes);

#endif
