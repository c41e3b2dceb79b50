// SPDX-License-Identifier: MIT
//
// A line on standard error that says what takes so long: from one second on, only at a terminal and
// without NO_COLOR, and gone when the work is done or a message has to be printed. It is drawn by a
// thread of its own, since the work is in libraries that do not call back.
#ifndef QUERN_CLI_PROGRESS_H
#define QUERN_CLI_PROGRESS_H

#include <stdint.h>

// "reading a.out": what is begun, in the place of what was before. The text is copied.
void progress_begin(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
// So much of it is done; total 0: nobody knows. From any thread; costs two stores.
void progress_step(uint64_t done, uint64_t total);
void progress_end(void);

#endif
