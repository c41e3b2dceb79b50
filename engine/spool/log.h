// SPDX-License-Identifier: MIT
// The log file of each process when --log-file contains %p.
#ifndef QUERN_ENGINE_LOG_H
#define QUERN_ENGINE_LOG_H

#include "engine/base/types.h"

// Whether each process has another log file: the name contains %p.
bool log_is_own(const char *name);
// Replaces %p, %q{VAR} and %%, as `quern run` did, which has refused malformed names. False: too
// long.
bool log_path(char *to, u64 size, const char *name);

// A forked or executed process has started: opens its own log file if --log-file contains %p. If
// that fails, messages still go to the inherited one.
void log_own(void);

#endif
