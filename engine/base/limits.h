// SPDX-License-Identifier: MIT
// The client's resource limits are not meant for the engine's own memory: for the moment of a call
// they are lifted, to the hard value, or, for who may, altogether. Another thread of the client
// sees the lifted value if it asks in that moment, and loses what it sets.
#ifndef QUERN_ENGINE_LIMITS_H
#define QUERN_ENGINE_LIMITS_H

#include "engine/base/types.h"

// As sys_mmap; once more with the limits on memory lifted where these may be why it failed.
long limits_mmap(u64 addr, u64 bytes, int prot, int flags, int fd, u64 offset);

// Ends the process with a sentence: so much for `what` could not be had, and which limits are set.
_Noreturn void limits_die(const char *what, u64 kib, long error);

#endif
