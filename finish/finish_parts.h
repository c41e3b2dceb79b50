// SPDX-License-Identifier: MIT
//
// Where a profile of several parts goes (dumps).
#ifndef QUERN_CLI_FINISH_PARTS_H
#define QUERN_CLI_FINISH_PARTS_H

#include "finish/finish.h"
#include "quern/profile.h"

// Writes p, one part. With --combine-dumps=yes all but the first part go behind those that the file
// has already. 0, or not, with *e filled in.
int finish_parts_write(const struct finish_spool *s, struct quern_profile *p, const char *output,
                       const struct quern_write_opts *how, struct quern_error *e);

#endif
