// SPDX-License-Identifier: MIT
// The only way in which engine C code touches client memory: copies that end with -EFAULT instead
// of a fault. signal.c asks safemem_fixup() when a synchronous fault hits engine text. Works from
// signals_init() on.
#ifndef QUERN_ENGINE_CLIENTMEM_H
#define QUERN_ENGINE_CLIENTMEM_H

#include "engine/base/types.h"

// 0 or -EFAULT. After -EFAULT the destination may hold a part. n == 0 succeeds for any address.
// @signal-safe
int clientmem_read(void *dst, u64 gaddr, u64 n);
int clientmem_write(u64 gaddr, const void *src, u64 n);

// Bytes that could be copied before the first that faults (n when none did). @signal-safe
u64 clientmem_read_some(void *dst, u64 gaddr, u64 n);

// One word by a single access; 0 or -EFAULT. @signal-safe
int clientmem_read_u64(u64 gaddr, u64 *value);
int clientmem_read_u32(u64 gaddr, u32 *value);
int clientmem_write_u64(u64 gaddr, u64 value);
int clientmem_write_u32(u64 gaddr, u32 value);

// Length of the string at gaddr, max when there is no NUL in the first max bytes, -EFAULT when a
// byte before that cannot be read.
s64 clientmem_strnlen(u64 gaddr, u64 max);

// Copies the string at gaddr with its NUL; returns its length, -EFAULT, or -ENAMETOOLONG when size
// bytes do not hold it.
s64 clientmem_read_str(char *dst, u64 gaddr, u64 size);

#endif
