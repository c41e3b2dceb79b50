// SPDX-License-Identifier: MIT
// Included before every file of Zydis by mk/engine.mk. Without a libc Zycore sets memory byte by
// byte through a pointer to volatile, which no compiler may shorten: clearing its results was a
// sixth of the time of `quern stat /bin/true`. The engine's memset takes words (mini.h).
#ifndef QUERN_ENGINE_X86_ZYDIS_LIBC_H
#define QUERN_ENGINE_X86_ZYDIS_LIBC_H

#include <Zycore/LibC.h>

// In unit tests it is the C library's, which hidden.h would put out of reach.
void *memset(void *dst, int c, __SIZE_TYPE__ n) __attribute__((visibility("default")));
#define ZYAN_MEMSET __builtin_memset

#endif
