// SPDX-License-Identifier: MIT
//
// Texts that belong to a profile, and the text of an error.
#ifndef QUERN_PROFILE_TEXT_H
#define QUERN_PROFILE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "quern/profile.h"

// A copy of len bytes and a NUL, to be freed; NULL: no memory.
char *text_dup(const char *s, size_t len);
// Puts a copy of s, up to its NUL, in place of *field: 0, or -ENOMEM and *field as it was.
int text_set(char **field, const char *s);
// Whether both are the same text, or both NULL.
bool text_same(const char *a, const char *b);
// Fills *err (NULL: nothing): an errno value, the file the fault is in (NULL: none; cut at the
// front when too long), and a sentence.
void text_error(struct quern_error *err, int code, const char *file, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

#endif
