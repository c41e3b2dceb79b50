// SPDX-License-Identifier: MIT
// The client's resource limits are not meant for the engine's own memory: they are lifted during
// one call, to the hard value or, with the privilege, completely. Another thread of the client that
// reads the limit at that moment sees the lifted value; a value that it sets is lost.
#ifndef QUERN_ENGINE_LIMITS_H
#define QUERN_ENGINE_LIMITS_H

#include "engine/base/types.h"

// As sys_mmap; retries with lifted limits on memory if these may be the reason for a failure.
long limits_mmap(u64 addr, u64 bytes, int prot, int flags, int fd, u64 offset);

// Dies with a message: so much memory for `what` is not available, and which limits are set.
_Noreturn void limits_die(const char *what, u64 kib, long error);

#endif
