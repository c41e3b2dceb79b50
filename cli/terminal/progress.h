// SPDX-License-Identifier: MIT
//
// A progress line on standard error: shown after one second, only on a terminal and without
// NO_COLOR, and erased when the work is done or a message is printed. A separate thread draws it,
// since the work is in libraries that do not call back.
#ifndef QUERN_CLI_PROGRESS_H
#define QUERN_CLI_PROGRESS_H

#include <stdint.h>

// "reading a.out": what begins now; replaces the former text. The text is copied.
void progress_begin(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
// How much is done; total 0: unknown. From any thread; costs two stores.
void progress_step(uint64_t done, uint64_t total);
// "writing FILE", "-" being standard output; no line where that is a terminal, whose text it would
// erase.
void progress_writing(const char *out);
void progress_end(void);

#endif
