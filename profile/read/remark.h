// SPDX-License-Identifier: MIT
//
// Remarks of the reader; diag.def lists every kind.

#ifndef QUERN_PROFILE_REMARK_H
#define QUERN_PROFILE_REMARK_H

#include <stdint.h>

#define REMARK_TEXT 200 // bytes of a line that a remark stores

struct reader;

enum diag_kind {
#define DIAG(name, text, severity) DIAG_##name,
#include "profile/read/diag.def"
#undef DIAG
    DIAG_COUNT
};

// Remarks on the current line, at its byte `at` (NULL: on the line as a whole), or without a
// current line on r->at_line. The first of a kind is stored in the profile; the reader's caller
// gets that one, or all. With opts->strict anything above a note stops the reader.
void remark(struct reader *r, enum diag_kind kind, const char *at, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

#endif
