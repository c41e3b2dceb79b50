// SPDX-License-Identifier: MIT
//
// Remarks of the reader: every kind stands in diag.def.

#ifndef QUERN_PROFILE_REMARK_H
#define QUERN_PROFILE_REMARK_H

#include <stdint.h>

#define REMARK_TEXT 200 // bytes of a line that a remark keeps

struct reader;

enum diag_kind {
#define DIAG(name, text, severity) DIAG_##name,
#include "profile/read/diag.def"
#undef DIAG
    DIAG_COUNT
};

// Remarks on the line being read, at its byte `at` (NULL: on the line as a whole), or where no line
// is being read on r->at_line. The first of a kind is kept in the profile; the caller of the reader
// hears of that, or of all. With opts->strict what is more than a note stops the reader.
void remark(struct reader *r, enum diag_kind kind, const char *at, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

#endif
