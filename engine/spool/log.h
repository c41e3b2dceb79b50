// SPDX-License-Identifier: MIT
// Where the messages of a process go when --log-file names files by %p.
#ifndef QUERN_ENGINE_LOG_H
#define QUERN_ENGINE_LOG_H

#include "engine/base/types.h"

// Whether a name is another one for each process: has %p.
bool log_is_own(const char *name);
// Replaces %p, %q{VAR} and %%, as `quern run` did, which has refused what is malformed. False: too
// long.
bool log_path(char *to, u64 size, const char *name);

// A process that was forked or executed has begun: when --log-file names files by %p, opens its
// own. Messages go on to the inherited one when that fails.
void log_own(void);

#endif
