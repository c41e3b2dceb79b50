// SPDX-License-Identifier: MIT
//
// Names of files as --cachegrind-out-file and --log-file take them, with %p and %q{VAR}. The spool
// holds the unexpanded name; it is expanded late, since a forked child has another process id.
#ifndef QUERN_CLI_NAME_H
#define QUERN_CLI_NAME_H

#include <stddef.h>
#include <sys/types.h>

// The name with %p, %q{VAR} and %% expanded, to be freed; NULL on an error, which err describes.
char *name_expand(const char *name, pid_t pid, char *err, size_t err_size);
// The same with pid and environment of the process; `what` ("--log-file") names it in the message
// that ends the process.
char *name_expand_or_die(const char *name, pid_t pid, const char *what);
// s with each % doubled, so that expansion gives s again. To be freed.
char *name_escape(const char *s);

// The folder of a cache of earlier runs: `given`, an option's FOLDER or "no", or the default of
// this user; NULL: none. Whoever reads or writes there checks whether to trust it. To be freed.
char *name_cache_folder(const char *given, const char *cwd);

#endif
