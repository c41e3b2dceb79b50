// SPDX-License-Identifier: MIT
// The environment of the start: for the finisher, and for the names of log files.
#ifndef QUERN_ENGINE_ENVIRON_H
#define QUERN_ENGINE_ENVIRON_H

// Copies the client's initial environment; launch.c calls it once, with the spool mapped.
void environ_save(char *const *envp);

// That environment, ended by NULL; NULL before environ_save().
char *const *environ_start(void);

// The finisher's environment: the same without variables for the client's loader, with the
// LD_LIBRARY_PATH of `quern run`.
char *const *environ_finisher(void);

#endif
