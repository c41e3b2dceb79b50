// SPDX-License-Identifier: MIT
// What the engine has instead of a libc: memory and strings with general registers only, a small
// formatter, and messages to the user. Everything here is reentrant and takes no lock. @signal-safe
#ifndef QUERN_ENGINE_NOLIBC_H
#define QUERN_ENGINE_NOLIBC_H

#include <stdarg.h>

#include "engine/base/types.h"

void *memcpy(void *restrict dst, const void *restrict src, size_t n);
void *memmove(void *dst, const void *src, size_t n);
void *memset(void *dst, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);

// The engine is built without builtins: no calls but those in the source. Still, a copy of eight
// bytes has to be a load and a store.
#define memcpy(dst, src, n) __builtin_memcpy(dst, src, n)
#define memset(dst, c, n)   __builtin_memset(dst, c, n)

size_t strlen(const char *s);
size_t strnlen(const char *s, size_t max);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t n);
char *strchr(const char *s, int c);
char *strrchr(const char *s, int c);

// The part of path after its last slash.
const char *nolibc_basename(const char *path);

// s as a decimal number without sign; -EINVAL when it is not one or does not fit 31 bits.
long nolibc_number(const char *s);

// Whether s matches pattern, where ? is any character and * any sequence.
bool nolibc_glob(const char *pattern, const char *s);

// As snprintf with %s %c %d %u %x, the last three also with l, all with a width and 0 or - (%08lx,
// %-20s), and %%. Returns the length of the whole text; stores at most size - 1 characters, and
// always a NUL.
u64 nolibc_format(char *buf, u64 size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
u64 nolibc_vformat(char *buf, u64 size, const char *fmt, va_list ap)
    __attribute__((format(printf, 3, 0)));

// The descriptor for messages; standard error until launch.c has read the spool.
extern int engine_log_fd;

// Called, when set, before a message is written: fds.c checks that the descriptor is still the same
// file.
extern void (*engine_check_log)(void);

// Writes "==PID== text\n" with one write. At most 4000 characters.
void engine_msg(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

// Exit status of a process whose engine died.
#define ENGINE_DIE_STATUS 125

// engine_die() calls it once, before it exits. launch.c uses it to remove the spool as long as no
// client code has run, and later to print where the counts are.
extern void (*engine_at_die)(void);

// Writes the message and exits with ENGINE_DIE_STATUS. The spool stays unchanged, for `quern
// recover`.
_Noreturn void engine_die(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

// Start of its message about engine data that only the client can have changed.
#define ENGINE_DAMAGED "the program has written into quern's own memory: "

#endif
