// SPDX-License-Identifier: MIT
// mk/engine.mk includes it before every file of Zydis. Without a libc Zycore sets memory byte by
// byte through a pointer to volatile, which no compiler may optimize: clearing its results was a
// sixth of the time of `quern stat /bin/true`. The engine's memset writes words (nolibc.h).
#ifndef QUERN_ENGINE_X86_ZYDIS_LIBC_H
#define QUERN_ENGINE_X86_ZYDIS_LIBC_H

#include <Zycore/LibC.h>

// In unit tests it is the C library's, which hidden.h would make inaccessible.
void *memset(void *dst, int c, __SIZE_TYPE__ n) __attribute__((visibility("default")));
#define ZYAN_MEMSET __builtin_memset

#endif
