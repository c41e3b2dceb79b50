// SPDX-License-Identifier: MIT
//
// Output that appears whole or not at all, as the library writes profiles: written beside its
// target (a link's target), renamed at the end, with the mode that the target had. "-" is standard
// output; a device or a pipe is written to, not replaced.
#ifndef QUERN_CLI_FILE_H
#define QUERN_CLI_FILE_H

#include <stdio.h>

// 0, or -errno, and then the old file is unchanged. `write` leaves errors of writing to this
// function.
int file_write(const char *path, void (*write)(FILE *f, const void *ctx), const void *ctx);

#endif
