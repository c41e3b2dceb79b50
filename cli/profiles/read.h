// SPDX-License-Identifier: MIT
//
// Profiles as the commands use them: read with remarks on standard error, summed, renamed,
// subtracted. All functions end the process with a message and status 2 on an error.
#ifndef QUERN_CLI_READ_H
#define QUERN_CLI_READ_H

#include <stdbool.h>
#include <stddef.h>

#include "quern/profile.h"

struct quern_profile *read_profile(const char *path);
// Several are summed.
struct quern_profile *read_sum(const char *const *paths, size_t n);
// Appends several: the parts of each are parts of the result, named after their files.
struct quern_profile *read_parts(const char *const *paths, size_t n);
// A profile without events is an error: it has nothing to show, sum or compare.
void read_need_events(const struct quern_profile *p, const char *path);
// The command of the first part; "".
const char *read_command(const struct quern_profile *p);
// The expression of a --mod-* option; NULL when there is none.
struct quern_rewrite *read_rewrite(const char *option, const char *expr);
// The profile with its names rewritten, in place of p; either may be NULL.
struct quern_profile *read_renamed(struct quern_profile *p, const struct quern_rewrite *file,
                                   const struct quern_rewrite *func);
// New minus old, by line or by function, with both files named in its header. They must have the
// same events.
struct quern_profile *read_difference(struct quern_profile *new_, const char *new_path,
                                      struct quern_profile *old, const char *old_path, int by_func);
// A cursor over the records; ends the process where there is no memory for it.
struct quern_cursor *read_cursor(const struct quern_profile *p);
// Does the file look like a profile, and not like a source file?
int read_is_profile(const char *path);

#endif
