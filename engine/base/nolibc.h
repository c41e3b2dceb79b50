// SPDX-License-Identifier: MIT
// What the engine has instead of a libc: memory and strings by general registers only, a small
// formatter, and the two ways of speaking to the user. Everything here is reentrant and takes no
// lock. @signal-safe
#ifndef QUERN_ENGINE_NOLIBC_H
#define QUERN_ENGINE_NOLIBC_H

#include <stdarg.h>

#include "engine/base/types.h"

void *memcpy(void *restrict dst, const void *restrict src, size_t n);
void *memmove(void *dst, const void *src, size_t n);
void *memset(void *dst, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);

// The engine is built without builtins, so that no call appears that nobody wrote; a copy of eight
// bytes is to be a load and a store all the same.
#define memcpy(dst, src, n) __builtin_memcpy(dst, src, n)
#define memset(dst, c, n)   __builtin_memset(dst, c, n)

size_t strlen(const char *s);
size_t strnlen(const char *s, size_t max);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t n);
char *strchr(const char *s, int c);
char *strrchr(const char *s, int c);

// The part of path behind its last slash.
const char *nolibc_basename(const char *path);

// A decimal number without sign, the whole of s; -EINVAL when it is not one or does not fit 31
// bits.
long nolibc_number(const char *s);

// Does s match pattern, in which ? stands for any character and * for any sequence?
bool nolibc_glob(const char *pattern, const char *s);

// As snprintf with %s %c %d %u %x, the last three also with l, all with a width and 0 or - (%08lx,
// %-20s), and %%. Returns the length that the whole text has; what is stored is cut to size - 1
// characters and always ends with a NUL.
u64 nolibc_format(char *buf, u64 size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
u64 nolibc_vformat(char *buf, u64 size, const char *fmt, va_list ap)
    __attribute__((format(printf, 3, 0)));

// Where messages go; standard error until launch.c has read the spool.
extern int engine_log_fd;

// Called, when set, before a message is written: fds.c makes sure that the descriptor still is what
// it was.
extern void (*engine_check_log)(void);

// Writes "==PID== text\n" by one write. At most 4000 characters.
void engine_msg(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

// Exit status of a process whose engine gave up.
#define ENGINE_DIE_STATUS 125

// Called by engine_die before the end, once. launch.c removes the spool by it as long as no client
// code has run, and later has it said where the counts are.
extern void (*engine_at_die)(void);

// Writes the message and ends the process with ENGINE_DIE_STATUS. The spool stays as it is, for
// `quern recover`.
_Noreturn void engine_die(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

// What it says of facts of the engine's that nobody but the client can have changed.
#define ENGINE_DAMAGED "the program has written into quern's own memory: "

#endif
