// SPDX-License-Identifier: MIT
// Engine C code accesses client memory only by these copies: they return -EFAULT instead of
// faulting. On a synchronous fault in engine text, signal/handler.c asks extable_find(). Works
// after setup_process().
#ifndef QUERN_ENGINE_CLIENTMEM_H
#define QUERN_ENGINE_CLIENTMEM_H

#include "engine/base/types.h"

// 0 or -EFAULT. After -EFAULT the destination may contain a part. n == 0 succeeds for any address.
// @signal-safe
int clientmem_read(void *dst, u64 gaddr, u64 n);
int clientmem_write(u64 gaddr, const void *src, u64 n);

// Number of bytes copied before the first that faults (n when none did). @signal-safe
u64 clientmem_read_some(void *dst, u64 gaddr, u64 n);

// One word by a single access; 0 or -EFAULT. @signal-safe
int clientmem_read_u64(u64 gaddr, u64 *value);
int clientmem_read_u32(u64 gaddr, u32 *value);
int clientmem_write_u64(u64 gaddr, u64 value);
int clientmem_write_u32(u64 gaddr, u32 value);

// Length of the string at gaddr; max when there is no NUL in the first max bytes; -EFAULT when a
// byte before that cannot be read.
s64 clientmem_strnlen(u64 gaddr, u64 max);

// Copies the string at gaddr with its NUL; returns its length, -EFAULT, or -ENAMETOOLONG when it
// does not fit into size bytes.
s64 clientmem_read_str(char *dst, u64 gaddr, u64 size);

#endif
