// SPDX-License-Identifier: MIT
//
// Texts that belong to a profile, and the text of an error.
#ifndef QUERN_PROFILE_TEXT_H
#define QUERN_PROFILE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "quern/profile.h"

// A copy of len bytes and a NUL, which the caller frees; NULL: no memory.
char *text_dup(const char *s, size_t len);
// Replaces *field by a copy of s, up to its NUL: 0, or -ENOMEM with *field unchanged.
int text_set(char **field, const char *s);
// Whether both are the same text, or both NULL.
bool text_same(const char *a, const char *b);
// Fills *err (NULL: nothing): an errno value, the file with the error (NULL: none; its beginning
// cut off if too long), and a message.
void text_error(struct quern_error *err, int code, const char *file, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

#endif
