// SPDX-License-Identifier: MIT
//
// Profiles as the commands take them: read with remarks on standard error, several summed, names
// rewritten, one subtracted from another. All end the process with a sentence and status 2 when it
// cannot be done.
#ifndef QUERN_CLI_READ_H
#define QUERN_CLI_READ_H

#include <stdbool.h>
#include <stddef.h>

#include "quern/profile.h"

struct quern_profile *read_profile(const char *path);
// Several are summed.
struct quern_profile *read_sum(const char *const *paths, size_t n);
// Several side by side: the parts of each are parts of the result, named after their files.
struct quern_profile *read_parts(const char *const *paths, size_t n);
// A profile without events is none: there is nothing in it to be shown, summed or compared.
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
// A walk over the records, which must be there: without it their costs would be missing.
struct quern_cursor *read_cursor(const struct quern_profile *p);
// Does it look like a profile (and not like a source file)?
int read_is_profile(const char *path);

#endif
