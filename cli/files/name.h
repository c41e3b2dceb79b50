// SPDX-License-Identifier: MIT
//
// Names of files as --cachegrind-out-file and --log-file take them, with %p and %q{VAR}. The text
// of a name is kept in the spool and expanded late: a forked child has another process id.
#ifndef QUERN_CLI_NAME_H
#define QUERN_CLI_NAME_H

#include <stddef.h>
#include <sys/types.h>

// The text of a name with %p, %q{VAR} and %% replaced, to be freed; NULL when it cannot be, with
// what is wrong in err.
char *name_expand(const char *name, pid_t pid, char *err, size_t err_size);
// The same with pid and environment of the process; `what` ("--log-file") names it in the message
// that ends the process.
char *name_expand_or_die(const char *name, pid_t pid, const char *what);
// s with each % doubled, so that expansion gives s again. To be freed.
char *name_escape(const char *s);

// Where something is known from earlier runs: `given`, an option's FOLDER or "no", or the folder of
// this user; NULL: nowhere. Whoever reads or writes there judges whether it is to be trusted. To be
// freed.
char *name_cache_folder(const char *given, const char *cwd);

#endif
