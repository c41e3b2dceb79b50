// SPDX-License-Identifier: MIT
// The end of a profiled process: handing it over to the finisher, `quern --finish FD`. Cold.
#ifndef QUERN_ENGINE_FINISHER_H
#define QUERN_ENGINE_FINISHER_H

#include "engine/base/types.h"

// The process ends: kind is an enum spool_end, code the exit status or signal. Marks the spool
// ended and execs the finisher in this process, with the environment of the start. All other
// threads are gone or stopped for good (exec ends them). When the finisher cannot be executed: a
// sentence, the spool stays, and the process ends as the client would have.
_Noreturn void finisher_process(u32 kind, s32 code);

// Writes the profile of what was counted so far as that of a process that ended so, by a finisher
// in a child process that is waited for: before the profiled process execs natively, and where the
// process itself must be there to the end. 0, or -errno when the profile was not written; the spool
// is there still then. No other thread counts meanwhile.
int finisher_in_child(u32 kind, s32 code);

// The same of a copy of the spool (copy_for_dump), which is marked already, while this process goes
// on afterwards. The world is stopped.
int finisher_dump(int fd);

// What the functions of these names, each with its NUL, are called in the profile, in the same
// order and form; empty where that is the same. Asked of `quern --demangle FD`, in a child, too.
// The descriptor of a file of memory that has them, or -errno.
long finisher_demangle(const char *names, u64 bytes);

#endif
