// SPDX-License-Identifier: MIT
// Fixed-width types and the few macros that every engine file uses. The engine has no libc: only
// the compiler's own freestanding headers may be included.
//
// Convention: client addresses are integers (u64: gpc, gaddr), host addresses in the code cache are
// hpc (u64 as well, because they appear in signal contexts); pointers are the engine's own memory.
#ifndef QUERN_ENGINE_TYPES_H
#define QUERN_ENGINE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

#define LIKELY(x)     __builtin_expect(!!(x), 1)
#define UNLIKELY(x)   __builtin_expect(!!(x), 0)
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define PAGE_SIZE     4096ul
#define PAGE_DOWN(x)  ((x) & ~(PAGE_SIZE - 1))
#define PAGE_UP(x)    (((x) + PAGE_SIZE - 1) & ~(PAGE_SIZE - 1))

#endif
