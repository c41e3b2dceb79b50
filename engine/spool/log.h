// SPDX-License-Identifier: MIT
// Where the messages of a process go when --log-file names files by %p.
#ifndef QUERN_ENGINE_LOG_H
#define QUERN_ENGINE_LOG_H

// A process that was forked or executed has begun: when --log-file names files by %p, opens its
// own. Messages go on to the inherited one when that fails.
void log_own(void);

#endif
